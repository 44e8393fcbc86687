//! Indexes of unexpected messages: one index for each wildcard class with long searches.
//!
//! An index holds all messages up to an age. The key of a message in the index has only the fields that the
//! class does not ignore. A search looks up the index, scans the [log](super::log) from that age on, and then
//! adds a limited number of messages to the index. So repeated searches of a class cost one lookup. Arrivals
//! and exact receives never access an index: a search removes the entries of messages that are no longer
//! queued.
//!
//! The operating system provides the memory of a new table page by page, at the first write. These writes
//! take longer than additions of messages, so the first searches only touch the pages of the table, and add no messages.

use super::growth::Retired;
use super::key::{Class, Entry, Hashing, Key, Pattern};
use super::log::Log;
use super::row::UNEXPECTED;
use super::table::ClassTable;
use crate::effort::Effort;
use crate::engine::{Queue, Refused};

/// Messages that a search scans before the engine creates an index.
const SHORT_SCAN: u64 = 256;
/// Maximum number of classes with an index.
const INDEXES: usize = 4;

/// Messages that a search adds to its index. An addition that makes the table move slots counts as several
/// messages.
const STEP: usize = 1024;
const MOVE: usize = 256;
/// Slots of a new table in the twelve pages to which one search writes.
const TOUCHED: usize = 12 * 128;

/// In an index with fewer messages, the table has twice as many slots per message.
const FEW: usize = 1 << 14;

/// Maximum number of stale entries that a search removes. The message of a stale entry is no longer queued.
const STALE: usize = 512;

pub(super) struct Index {
    /// Entries of the index. The id of an entry is the number of a message, and the number of the entry is
    /// the message's age. Entries of messages that are no longer queued are stale.
    messages: ClassTable,
    /// The table has all queued messages with an age below `end`.
    end: u64,
    /// Slots of the first table in pages that no search has written to.
    untouched: usize,
    /// True if a search used the index since the last call of [`Indexes::shrink`].
    is_used: bool,
}

impl Index {
    /// Returns the first queued message under a key, or the age from which the log must be searched. If
    /// `is_taken`, the entry of this message is removed.
    fn first<E: Effort>(&mut self, key: Key, is_taken: bool, log: &Log, effort: &mut E) -> Result<u64, u64> {
        for _ in 0..STALE {
            let (found, compared) = self.messages.table.find(key);
            effort.examined(Queue::Unexpected, compared);
            let Some(at) = found else { return Err(self.end) };
            let Entry { id: number, number: age } = self.messages.table.first(at).entry;
            let waits = log.is_queued(number, age);
            if !waits || is_taken {
                self.messages.pop(at);
            }
            if waits {
                return Ok(number);
            }
        }
        Err(0)
    }

    /// Adds a bounded number of messages to the index: the oldest of the log that the index lacks.
    #[inline(never)]
    fn extend(&mut self, log: &Log) -> Result<(), Refused> {
        if self.untouched > 0 {
            self.untouched = self.untouched.saturating_sub(TOUCHED);
            self.messages.table.touch(self.untouched, TOUCHED);
            return Ok(());
        }
        let mut cost = 0;
        for (key, number, age) in log.messages_from(self.end) {
            cost += if self.messages.table.is_ready() { 1 } else { MOVE };
            if cost > STEP {
                break;
            }
            self.messages.add(self.messages.class.masked(key), Entry { id: number, number: age })?;
            self.end = age + 1;
        }
        Ok(())
    }
}

/// See the [module's documentation](self).
pub(super) struct Indexes {
    pub(super) all: Vec<Index>,
    hashing: Hashing,
}

impl Indexes {
    pub(super) fn new(hashing: Hashing) -> Self {
        Indexes { all: Vec::new(), hashing }
    }

    /// The number of the first message that a pattern accepts. If `is_taken`, the caller takes this message.
    pub(super) fn find<E: Effort>(
        &mut self,
        pattern: &Pattern,
        is_taken: bool,
        log: &Log,
        effort: &mut E,
    ) -> Option<u64> {
        let nth = self.all.iter().position(|index| index.messages.class == pattern.class);
        let mut from = 0;
        if let Some(nth) = nth {
            self.all[nth].is_used = true;
            match self.all[nth].first(pattern.key, is_taken, log, effort) {
                Ok(number) => return Some(number),
                Err(age) => from = age,
            }
        }
        let (found, compared) = log.search(pattern, from);
        effort.examined(Queue::Unexpected, compared);
        if compared > SHORT_SCAN * (1 + self.all.len() as u64) || nth.is_some() && compared > 0 {
            if let Some(nth) = nth.or_else(|| self.begin(pattern.class, log.len())) {
                // After a failed allocation the index has fewer messages, and searches scan more of the log.
                _ = self.all[nth].extend(log);
            }
        }
        found
    }

    /// Creates an index, unless [`INDEXES`] indexes exist. The table has slots for `messages` messages from
    /// the start: growth would move many slots. A table of few messages has twice as many slots, because
    /// small tables [grow early](super::growth).
    fn begin(&mut self, class: Class, messages: usize) -> Option<usize> {
        if self.all.len() == INDEXES || self.all.try_reserve(1).is_err() {
            return None;
        }
        let mut index = Index {
            messages: ClassTable::new(class, UNEXPECTED, self.hashing),
            end: 0,
            untouched: 0,
            is_used: true,
        };
        _ = index.messages.table.reserve(if messages < FEW { 2 * messages } else { messages });
        index.untouched = index.messages.table.row.len();
        self.all.push(index);
        Some(self.all.len() - 1)
    }

    /// Disables the indexes by source, because a message got another source. No search uses a
    /// disabled index, so a later check removes the index.
    pub(super) fn source_changed(&mut self) {
        for index in self.all.iter_mut().filter(|index| index.messages.class.source == 0) {
            index.messages.class = Class::EXACT;
        }
    }

    /// Removes the indexes that no search has used since the last call, and the indexes with many stale
    /// entries.
    pub(super) fn shrink(&mut self, messages: usize, retired: &mut Retired) {
        for nth in (0..self.all.len()).rev() {
            let index = &mut self.all[nth];
            if !std::mem::take(&mut index.is_used) || index.messages.len > 2 * messages + 1024 {
                retired.add(self.all.swap_remove(nth).messages.table);
            }
        }
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let tables: u64 = self.all.iter().map(|index| index.messages.table.bytes()).sum();
        tables + (self.all.capacity() * size_of::<Index>()) as u64
    }
}
