//! Indexes of unexpected messages: one for each wildcard class of searches that scan far.
//!
//! An index holds the messages up to a number, under the keys that the class leaves of them. A search looks up its index, then
//! scans the [log](super::log) from that number on, and then adds a limited number of messages to the index. So repeated searches
//! of a class cost one lookup. Arrivals and exact receives never visit an
//! index: messages that no longer wait are removed when a search meets them.

use super::growth::Retired;
use super::key::{Class, Entry, Hashing, Key, Pattern};
use super::log::{Log, Position};
use super::row::UNEXPECTED;
use super::table::Table;
use crate::effort::Effort;
use crate::engine::{Queue, Refused};

/// Messages that a search scans without an index.
const SHORT_SCAN: u64 = 256;
/// Classes with an index.
const INDEXES: usize = 4;

/// Messages that the first search of a class adds to its index, and each later one; and how many more, at most, after a long scan.
const STEPS: [u64; 2] = [256, 512];
const MORE: u64 = 512;
/// A message costs as much as so many more, if the table moves slots to add it, or if its slot is in a page of memory that was not
/// used yet.
const MOVE: u64 = 256;
const PAGE: u64 = 48;
/// Slots in a page.
const PAGE_SLOTS: usize = 128;

/// Entries of messages that no longer wait, which a search removes at most.
const STALE: usize = 512;

struct Index {
    class: Class,
    /// The id of an entry is the number of a message, its number the age. Some of them no longer wait.
    table: Table,
    /// All messages that wait before this position are in the table.
    end: Position,
    /// Whether a search used it since the last call of [`Indexes::give_back`].
    is_used: bool,
}

impl Index {
    /// An index for so many messages. Its table would have to move many slots while it catches up, if it began small.
    fn new(class: Class, hashing: Hashing, messages: usize) -> Self {
        Index { class, table: Table::with_room(hashing, messages), end: Position::START, is_used: true }
    }

    /// The first message under a key that waits, or the position from which the log must be searched. If the message `is_taken`, its
    /// entry is removed.
    #[inline]
    fn first<E: Effort>(
        &mut self,
        key: Key,
        is_taken: bool,
        log: &Log,
        effort: &mut E,
    ) -> Result<u64, Position> {
        if is_taken {
            if let Some(Entry { id: number, number: age }) = self.table.take_at_home(key, UNEXPECTED) {
                self.table.len -= 1;
                effort.examined(Queue::Unexpected, 1);
                if log.waits(number, age) {
                    return Ok(number);
                }
            }
        }
        for _ in 0..STALE {
            let (found, compared) = self.table.find(key);
            effort.examined(Queue::Unexpected, compared);
            let Some(at) = found else { return Err(self.end) };
            let Entry { id: number, number: age } = self.table.first(at);
            let waits = log.waits(number, age);
            if !waits || is_taken {
                self.table.pop(at);
                self.table.len -= 1;
            }
            if waits {
                return Ok(number);
            }
        }
        Err(Position::START)
    }

    /// The cost of another message, more than one. The fewer entries, the more pages were not used yet.
    fn extra_cost(&self) -> u64 {
        if !self.table.is_ready() {
            return MOVE;
        }
        let per_page = self.table.len * PAGE_SLOTS / self.table.slots_len();
        PAGE.checked_shr(per_page as u32).unwrap_or(0)
    }

    /// Adds the next `count` messages, or fewer if they cost more.
    fn extend(&mut self, count: u64, log: &Log) -> Result<(), Refused> {
        let mut left = count;
        for (number, at) in log.messages_from(self.end) {
            if left == 0 {
                break;
            }
            let entry = Entry { id: number, number: at.age };
            self.table.add(self.class.masked(log.key(number)), UNEXPECTED, entry)?;
            self.table.len += 1;
            self.end = Position { age: at.age + 1, ..at };
            left = left.saturating_sub(1 + self.extra_cost());
        }
        Ok(())
    }
}

/// See the [module's documentation](self).
pub(super) struct Indexes {
    all: Vec<Index>,
    retired: Retired,
    hashing: Hashing,
}

impl Indexes {
    pub(super) fn new(hashing: Hashing) -> Self {
        Indexes { all: Vec::new(), retired: Retired::default(), hashing }
    }

    /// The number of the first message that a pattern accepts. If it `is_taken`, the caller takes it.
    #[inline]
    pub(super) fn find<E: Effort>(
        &mut self,
        pattern: &Pattern,
        is_taken: bool,
        log: &Log,
        effort: &mut E,
    ) -> Option<u64> {
        self.retired.free_some();
        let place = self.all.iter().position(|index| index.class == pattern.class);
        let mut from = Position::START;
        if let Some(place) = place {
            let index = &mut self.all[place];
            index.is_used = true;
            match index.first(pattern.key, is_taken, log, effort) {
                Ok(number) => return Some(number),
                Err(position) => from = position,
            }
        }
        let (found, compared) = log.search(pattern, from);
        effort.examined(Queue::Unexpected, compared);
        if compared > SHORT_SCAN * (1 + self.all.len() as u64) || place.is_some() && compared > 0 {
            self.extend(place, pattern.class, compared, log);
        }
        found
    }

    #[inline(never)]
    fn extend(&mut self, place: Option<usize>, class: Class, compared: u64, log: &Log) {
        let Some(place) = place.or_else(|| self.begin(class, log.len())) else { return };
        let index = &mut self.all[place];
        // Without memory the index stays behind.
        _ = index.extend(STEPS[usize::from(index.end.age > 0)] + MORE.min(compared / 2), log);
        if index.table.len > 2 * log.len() + 1024 {
            self.remove(place);
        }
    }

    /// A new index, unless there are many.
    fn begin(&mut self, class: Class, messages: usize) -> Option<usize> {
        if self.all.len() == INDEXES || self.all.try_reserve(1).is_err() {
            return None;
        }
        self.all.push(Index::new(class, self.hashing, messages));
        Some(self.all.len() - 1)
    }

    fn remove(&mut self, place: usize) {
        self.retired.add(self.all.swap_remove(place).table);
    }

    /// A message got another key, at its age. Without memory an index that would have to have it is removed.
    pub(super) fn message_renamed(&mut self, key: Key, number: u64, age: u64) {
        for place in (0..self.all.len()).rev() {
            let index = &mut self.all[place];
            if index.class.source != 0 || age >= index.end.age {
                continue;
            }
            let (key, entry) = (index.class.masked(key), Entry { id: number, number: age });
            let added = index.table.add_in_order(key, UNEXPECTED, entry, |age| age);
            index.table.len += 1;
            if added.is_err() {
                self.remove(place);
            }
        }
    }

    /// All blocks left the log.
    pub(super) fn forget_blocks(&mut self) {
        self.all.iter_mut().for_each(|index| index.end.block = Position::START.block);
    }

    /// A block left the log.
    pub(super) fn block_left(&mut self, block: u32, before: u32) {
        for index in self.all.iter_mut().filter(|index| index.end.block == block) {
            index.end.block = before;
        }
    }

    /// Frees some memory of removed indexes.
    pub(super) fn tidy(&mut self) {
        self.retired.free_some();
    }

    /// Removes the indexes that no search has used since the last call.
    pub(super) fn give_back(&mut self) {
        for place in (0..self.all.len()).rev() {
            if !std::mem::take(&mut self.all[place].is_used) {
                self.remove(place);
            }
        }
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let tables: u64 = self.all.iter().map(|index| index.table.bytes()).sum();
        tables + self.retired.bytes() + (self.all.capacity() * size_of::<Index>()) as u64
    }

    /// Number of indexes.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}
