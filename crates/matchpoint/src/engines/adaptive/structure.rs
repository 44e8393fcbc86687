//! The inner engine of `adaptive`, and the migration of entries to another inner engine.

use crate::effort::Attempts;
use crate::engine::{Engine, Entry, Refused};
use crate::engines::bins::Bins;
use crate::engines::list::List;
use crate::engines::rank_array::{RankArray, SourceTableParameters};
use crate::hints::{HintTable, Order};
use crate::maintenance::Queues;
use crate::migration::visit_entries;

/// Sources in the array: the default of `rank_array`.
const DENSE: u64 = 1 << 16;

/// Counts trigger moves, so counters are always active.
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
        Structure::Ranks(RankArray::new(SourceTableParameters { order: Order::Total, dense: DENSE }))
    }

    /// 0 list, 1 bins, 2 rank array.
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

    #[inline]
    pub(super) fn examined(&self) -> u64 {
        let attempts = match self {
            Structure::List(list) => list.attempts(),
            Structure::Bins(bins) => bins.attempts(),
            Structure::Ranks(ranks) => ranks.attempts(),
        };
        attempts.posted + attempts.unexpected
    }

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

    /// Copies all entries, oldest first, then moves the assertions.
    pub(super) fn copy_entries(&mut self, other: &mut Structure) -> Result<(), Refused> {
        visit_entries(other.engine(), &mut |entry| self.queue(entry))?;
        *self.hints() = std::mem::take(other.hints());
        Ok(())
    }
}
