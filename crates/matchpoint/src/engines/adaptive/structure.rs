//! What an adaptive engine is at the moment: one of three engines, and the way from one to another.

use crate::effort::Attempts;
use crate::engine::{Engine, Entry, Refused};
use crate::engines::bins::Bins;
use crate::engines::list::List;
use crate::engines::rank_array::{RankArray, Shape};
use crate::hints::{HintTable, Order};
use crate::takeover::each_queued;
use crate::upkeep::Queues;

/// Sources that index the array of ranks: as many as `rank_array` has unless told otherwise.
const DENSE: u64 = 1 << 16;

/// The engine in use. It counts what it examines, whether or not anybody asks: that decides when to move.
pub(super) enum Structure {
    List(List<Attempts>),
    Bins(Bins<Attempts>),
    Ranks(RankArray<Attempts>),
}

impl Structure {
    pub(super) fn list() -> Self {
        Structure::List(List::default())
    }

    pub(super) fn bins(n: u32) -> Self {
        Structure::Bins(Bins::new(n))
    }

    pub(super) fn ranks() -> Self {
        Structure::Ranks(RankArray::new(Shape { order: Order::Total, dense: DENSE }))
    }

    /// 0 list, 1 bins, 2 ranks.
    pub(super) fn level(&self) -> u8 {
        match self {
            Structure::List(_) => 0,
            Structure::Bins(_) => 1,
            Structure::Ranks(_) => 2,
        }
    }

    pub(super) fn engine(&self) -> &dyn Engine {
        match self {
            Structure::List(list) => list,
            Structure::Bins(bins) => bins,
            Structure::Ranks(ranks) => ranks,
        }
    }

    pub(super) fn engine_mut(&mut self) -> &mut dyn Engine {
        match self {
            Structure::List(list) => list,
            Structure::Bins(bins) => bins,
            Structure::Ranks(ranks) => ranks,
        }
    }

    /// Entries examined by it so far, in both queues.
    #[inline]
    pub(super) fn examined(&self) -> u64 {
        let attempts = match self {
            Structure::List(list) => list.attempts(),
            Structure::Bins(bins) => bins.attempts(),
            Structure::Ranks(ranks) => ranks.attempts(),
        };
        attempts.posted + attempts.unexpected
    }

    /// Bytes of the engine value itself, which lies within this one.
    pub(super) fn own_bytes(&self) -> u64 {
        size_of_val(self.engine()) as u64
    }

    fn hints(&mut self) -> &mut HintTable {
        match self {
            Structure::List(list) => &mut list.hints,
            Structure::Bins(bins) => bins.hints(),
            Structure::Ranks(ranks) => ranks.hints(),
        }
    }

    fn queue(&mut self, entry: Entry) -> Result<(), Refused> {
        match (self, entry) {
            (Structure::List(list), Entry::Receive(receive)) => list.queue_receive(receive),
            (Structure::List(list), Entry::Message(message)) => list.queue_message(message),
            (Structure::Bins(bins), Entry::Receive(receive)) => bins.queue_receive(receive),
            (Structure::Bins(bins), Entry::Message(message)) => {
                bins.queue_message(message, bins.bin(&message.envelope))
            }
            (Structure::Ranks(ranks), Entry::Receive(receive)) => ranks.queue_receive(receive),
            (Structure::Ranks(ranks), Entry::Message(message)) => ranks.queue_message(message),
        }
    }

    /// Takes over all that `other` has queued, the oldest first, and then its assertions. No receive there matches a
    /// message there, in any engine, so nothing need be searched, and the order of each queue is all there is to keep.
    ///
    /// # Errors
    /// There is no memory for it: `other` is as it was.
    pub(super) fn take_over(&mut self, other: &mut Structure) -> Result<(), Refused> {
        each_queued(other.engine(), &mut |entry| self.queue(entry))?;
        *self.hints() = std::mem::take(other.hints());
        Ok(())
    }
}
