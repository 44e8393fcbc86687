//! What an endpoint's matching did: counted always, timed now and then.

use crate::clock;

/// One operation in this many is timed: reading the clock twice costs about as much as matching.
const EVERY: u64 = 64;

/// Counts of one endpoint's tagged matching.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    /// Posts and arrivals.
    operations: u64,
    /// Receives posted.
    pub posts: u64,
    /// Of them, those that took a message that had waited.
    pub posts_hit: u64,
    /// Messages arrived.
    pub arrivals: u64,
    /// Of them, those that took a receive that had been posted.
    pub arrivals_hit: u64,
    /// How often the short lines became too long, and the engine took over.
    pub lengthened: u64,
    /// Probes, matched ones included.
    pub probes: u64,
    /// Receives posted now.
    pub posted_now: u64,
    /// Messages unexpected now.
    pub unexpected_now: u64,
    /// The most receives posted at any time.
    pub posted_max: u64,
    /// The most messages unexpected at any time.
    pub unexpected_max: u64,
    /// Receives posted, added up over arrivals: what two plain lists would have searched at most.
    pub posted_sum: u64,
    /// Messages unexpected, added up over posts.
    pub unexpected_sum: u64,
    /// Operations that were timed.
    pub timed: u64,
    /// Ticks that they took.
    pub timed_ticks: u64,
}

impl Tally {
    /// Before an operation of the engine: the time, if this one is timed.
    #[inline]
    pub fn begin(&mut self) -> u64 {
        self.operations += 1;
        if self.operations % EVERY == 0 { clock::ticks() } else { 0 }
    }

    /// After one.
    #[inline]
    fn end(&mut self, started: u64) {
        if started != 0 {
            self.timed += 1;
            self.timed_ticks += clock::ticks().saturating_sub(started);
        }
    }

    /// A receive was posted.
    #[inline]
    pub fn posted(&mut self, started: u64, hit: bool) {
        self.end(started);
        self.posts += 1;
        self.unexpected_sum += self.unexpected_now;
        if hit {
            self.posts_hit += 1;
            self.unexpected_now -= 1;
        } else {
            self.posted_now += 1;
            self.posted_max = self.posted_max.max(self.posted_now);
        }
    }

    /// A message that waited took a receive once its source was known.
    pub fn named(&mut self) {
        self.unexpected_now -= 1;
        self.posted_now -= 1;
    }

    /// A message arrived.
    #[inline]
    pub fn arrived(&mut self, started: u64, hit: bool) {
        self.end(started);
        self.arrivals += 1;
        self.posted_sum += self.posted_now;
        if hit {
            self.arrivals_hit += 1;
            self.posted_now -= 1;
        } else {
            self.unexpected_now += 1;
            self.unexpected_max = self.unexpected_max.max(self.unexpected_now);
        }
    }
}
