//! Search effort: entries examined, MPI_T's *match attempts*. A generic parameter of every engine, so that not
//! counting costs nothing.

use crate::entry::Queue;

/// Told by an engine what it examines. `()` does not listen; [`Attempts`] adds up.
pub trait Effort: Default + Send + 'static {
    /// `entries` of `queue` were compared with what is searched for.
    fn examined(&mut self, queue: Queue, entries: u64);

    /// The sum so far.
    fn attempts(&self) -> Attempts {
        Attempts::default()
    }
}

impl Effort for () {
    #[inline(always)]
    fn examined(&mut self, _: Queue, _: u64) {}
}

/// Entries examined in each queue, by posts, arrivals and probes alike.
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
