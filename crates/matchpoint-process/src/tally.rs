//! Counts of matching operations, and the time of a sample of them.

use crate::clock;

/// Two reads of the clock cost about as much as matching.
const SAMPLE_INTERVAL: u64 = 64;

/// Counts of the matching of one endpoint.
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
    /// Matched probes included.
    pub probes: u64,
    /// Current length of the posted queue.
    pub posted_now: u64,
    /// Current length of the unexpected queue.
    pub unexpected_now: u64,
    /// Largest length.
    pub posted_max: u64,
    /// Largest length.
    pub unexpected_max: u64,
    /// The posted queue's length, over arrivals: an upper bound of a plain list's attempts.
    pub posted_sum: u64,
    /// Sum of the unexpected queue's lengths at all posts.
    pub unexpected_sum: u64,
    /// Timed operations.
    pub timed: u64,
    /// Ticks of the timed operations.
    pub timed_ticks: u64,
}

impl Tally {
    /// Returns the time if the operation is timed, else 0.
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

    /// `is_hit`: the receive matched an unexpected message.
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

    /// A message matched a posted receive when its source became known.
    pub fn readdressed(&mut self) {
        self.unexpected_now -= 1;
        self.posted_now -= 1;
    }

    /// `is_hit`: the message matched a posted receive.
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
