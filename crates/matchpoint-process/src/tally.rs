//! Counts the posts and arrivals of an endpoint, and times every 64th of these operations.

use crate::clock;

/// Two reads of the clock cost about as much as one operation, so only every 64th operation is timed.
const SAMPLE_INTERVAL: u64 = 64;

/// The counts of one endpoint.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    /// Posts and arrivals.
    operations: u64,
    /// Receives posted.
    pub posts: u64,
    /// Posts that matched an unexpected message.
    pub posts_hit: u64,
    /// Messages.
    pub arrivals: u64,
    /// Messages that matched a posted receive.
    pub arrivals_hit: u64,
    /// Moves of all entries from the short queues to the engine.
    pub moved_to_engine: u64,
    /// Probes and matched probes.
    pub probes: u64,
    /// Length of the posted queue now.
    pub posted_now: u64,
    /// Length of the unexpected queue now.
    pub unexpected_now: u64,
    /// Maximum length of the posted queue.
    pub posted_max: u64,
    /// Maximum length of the unexpected queue.
    pub unexpected_max: u64,
    /// Sum of the posted queue's lengths at all arrivals: the maximum number of entries that a list would
    /// compare.
    pub posted_sum: u64,
    /// Sum of the unexpected queue's lengths at all posts.
    pub unexpected_sum: u64,
    /// Number of timed operations.
    pub timed: u64,
    /// Clock ticks of all timed operations.
    pub timed_ticks: u64,
}

impl Tally {
    /// Begins an operation. Returns its start in ticks if the operation is timed, otherwise 0.
    #[inline]
    pub fn begin(&mut self) -> u64 {
        self.operations += 1;
        if self.operations % SAMPLE_INTERVAL == 0 { clock::ticks() } else { 0 }
    }

    #[inline]
    fn end(&mut self, started: u64) {
        if started != 0 {
            self.timed += 1;
            self.timed_ticks += clock::ticks().saturating_sub(started);
        }
    }

    /// Counts a post that began at `started`. `is_hit`: the receive matched an unexpected message.
    #[inline]
    pub fn posted(&mut self, started: u64, is_hit: bool) {
        self.end(started);
        self.posts += 1;
        self.unexpected_sum += self.unexpected_now;
        if is_hit {
            self.posts_hit += 1;
            self.unexpected_now -= 1;
        } else {
            self.posted_now += 1;
            self.posted_max = self.posted_max.max(self.posted_now);
        }
    }

    /// A queued message matched a posted receive when the message's source became known.
    pub fn readdressed(&mut self) {
        self.unexpected_now -= 1;
        self.posted_now -= 1;
    }

    /// Counts an arrival that began at `started`. `is_hit`: the message matched a posted receive.
    #[inline]
    pub fn arrived(&mut self, started: u64, is_hit: bool) {
        self.end(started);
        self.arrivals += 1;
        self.posted_sum += self.posted_now;
        if is_hit {
            self.arrivals_hit += 1;
            self.posted_now -= 1;
        } else {
            self.unexpected_now += 1;
            self.unexpected_max = self.unexpected_max.max(self.unexpected_now);
        }
    }
}
