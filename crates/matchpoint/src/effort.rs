//! Search effort: entries examined, MPI_T's *match attempts*.
//!
//! The counter is a type parameter of each engine, so engines without counters have no cost.

use crate::entry::Queue;

/// Counts compared entries. `()` discards the counts.
pub trait Effort: Default + Send + 'static {
    /// Counts `entries` compared entries of `queue`.
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

/// Entries examined by posts, arrivals and probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attempts {
    /// MPICH's `posted_recvq_match_attempts`.
    pub posted: u64,
    /// MPICH's `unexpected_recvq_match_attempts`.
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
