//! Search effort: entries examined, MPI_T's *match attempts*.
//!
//! The counter type is a generic parameter of every engine, so counting costs nothing in engines without
//! counters.

use crate::entry::Queue;

/// Counts the entries that an engine examines. `()` discards the counts; [`Attempts`] sums the counts.
pub trait Effort: Default + Send + 'static {
    /// Adds `entries`, a number of compared entries of `queue`.
    fn examined(&mut self, queue: Queue, entries: u64);

    /// The counts so far.
    fn attempts(&self) -> Attempts {
        Attempts::default()
    }
}

impl Effort for () {
    #[inline(always)]
    fn examined(&mut self, _: Queue, _: u64) {}
}

/// Entries examined in each queue by posts, arrivals and probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attempts {
    /// Entries of the posted queue: MPICH's `posted_recvq_match_attempts`.
    pub posted: u64,
    /// Entries of the unexpected queue: MPICH's `unexpected_recvq_match_attempts`.
    pub unexpected: u64,
}

impl Effort for Attempts {
    #[inline]
    fn examined(&mut self, queue: Queue, entries: u64) {
        match queue {
            Queue::Posted => self.posted += entries,
            Queue::Unexpected => self.unexpected += entries,
        }
    }

    fn attempts(&self) -> Attempts {
        *self
    }
}
