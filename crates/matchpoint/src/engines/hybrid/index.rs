//! Indexes of unexpected messages: one for each wildcard class of searches that scan far.
//!
//! An index holds the messages up to a number, under the keys that the class leaves of them. A search looks up its index, then
//! scans the [log](super::log) from that number on, and then adds a limited number of messages to the index. So repeated searches
//! of a class cost one lookup. Arrivals and exact receives never visit an
//! index: messages that no longer wait are removed when a search meets them.

use super::key::{Class, Entry, Hashing, Key, Pattern};
use super::log::{Log, Position};
use super::row::UNEXPECTED;
use super::rows::Retired;
use super::table::Table;
use crate::effort::Effort;
use crate::engine::{Queue, Refused};

/// Messages that a search scans without an index.
const SHORT_SCAN: u64 = 256;
/// Classes with an index, and searches after which an unused index is replaced.
const INDEXES: usize = 4;
const IDLE: u64 = 1024;

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

/// An index has more of them.
struct Stale;

struct Index {
    class: Class,
    /// The id of an entry is the number of a message, its number the age. Some of them no longer wait.
    table: Table,
    entries: usize,
    /// All messages that wait before this position are in the table.
    end: Position,
    /// The number of the last search of the class.
    used: u64,
}

impl Index {
    /// An index for so many messages. Its table would have to move many slots while it catches up, if it began small.
    fn new(class: Class, hashing: Hashing, messages: usize) -> Self {
        Index { class, table: Table::with_room(hashing, messages), entries: 0, end: Position::START, used: 0 }
    }

    /// The first message under a key that waits. If it `is_taken`, its entry is removed. An error: many entries before it no longer
    /// wait. Some of them were removed.
    #[inline]
    fn first<E: Effort>(
        &mut self,
        key: Key,
        is_taken: bool,
        log: &Log,
        effort: &mut E,
    ) -> Result<Option<u64>, Stale> {
        if is_taken {
            if let Some(Entry { id: number, number: age }) = self.table.take_at_home(key, UNEXPECTED) {
                self.entries -= 1;
                effort.examined(Queue::Unexpected, 1);
                if log.waits(number, age) {
                    return Ok(Some(number));
                }
            }
        }
        for _ in 0..STALE {
            let (found, compared) = self.table.find(key);
            effort.examined(Queue::Unexpected, compared);
            let Some(at) = found else { return Ok(None) };
            let Entry { id: number, number: age } = self.table.first(at);
            let waits = log.waits(number, age);
            if !waits || is_taken {
                self.table.pop(at);
                self.entries -= 1;
            }
            if waits {
                return Ok(Some(number));
            }
        }
        Err(Stale)
    }

    /// The cost of another message, more than one. The fewer entries, the more pages were not used yet.
    fn extra_cost(&self) -> u64 {
        if !self.table.is_ready() {
            return MOVE;
        }
        let per_page = self.entries * PAGE_SLOTS / self.table.slots();
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
            self.table.add(self.class.masked(log.key(number)), UNEXPECTED, entry, self.entries)?;
            self.entries += 1;
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
    /// Whether a table has grown since the engine last noted its memory.
    pub(super) is_moving: bool,
    hashing: Hashing,
    searches: u64,
    /// Searches up to the last check for unused indexes.
    checked: u64,
}

impl Indexes {
    pub(super) fn new(hashing: Hashing) -> Self {
        Indexes {
            all: Vec::new(),
            retired: Retired::default(),
            is_moving: false,
            hashing,
            searches: 0,
            checked: 0,
        }
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
        self.searches += 1;
        self.retired.free_some();
        let place = self.all.iter().position(|index| index.class == pattern.class);
        let mut from = Position::START;
        if let Some(place) = place {
            let index = &mut self.all[place];
            index.used = self.searches;
            match index.first(pattern.key, is_taken, log, effort) {
                Ok(Some(number)) => return Some(number),
                Ok(None) => from = index.end,
                Err(Stale) => {
                    let (found, compared) = log.search(pattern, Position::START);
                    effort.examined(Queue::Unexpected, compared);
                    return found;
                }
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
        index.used = self.searches;
        // Without memory the index stays behind.
        _ = index.extend(STEPS[usize::from(index.end.age > 0)] + MORE.min(compared / 2), log);
        self.is_moving |= !index.table.is_ready();
        if index.entries > 2 * log.len() + 1024 {
            self.remove(place);
        }
    }

    /// A new index, in the place of an unused one if there are many.
    fn begin(&mut self, class: Class, messages: usize) -> Option<usize> {
        if self.all.len() == INDEXES {
            let oldest = (0..INDEXES).min_by_key(|&place| self.all[place].used)?;
            if self.all[oldest].used + IDLE >= self.searches {
                return None;
            }
            self.remove(oldest);
        }
        self.all.try_reserve(1).ok()?;
        self.all.push(Index::new(class, self.hashing, messages));
        self.is_moving = true;
        Some(self.all.len() - 1)
    }

    fn remove(&mut self, place: usize) {
        self.retired.add(self.all.swap_remove(place).table.into_rows());
    }

    /// A message that waits has another key.
    pub(super) fn rename(&mut self, key: Key, number: u64, age: u64) {
        let mut without_memory = false;
        let entry = Entry { id: number, number: age };
        for index in self.all.iter_mut().filter(|index| age < index.end.age && index.class.source == 0) {
            let key = index.class.masked(key);
            let added = index.table.add_in_order(key, UNEXPECTED, entry, index.entries, |age| age);
            index.entries += usize::from(added.is_ok());
            without_memory |= added.is_err();
        }
        if without_memory {
            self.clear();
        }
    }

    /// A block left the log.
    pub(super) fn block_left(&mut self, block: u32, before: u32) {
        for index in self.all.iter_mut().filter(|index| index.end.block == block) {
            index.end.block = before;
        }
    }

    /// Removes all indexes.
    pub(super) fn clear(&mut self) {
        while !self.all.is_empty() {
            self.remove(0);
        }
    }

    /// Frees some memory of removed indexes.
    pub(super) fn tidy(&mut self) {
        self.retired.free_some();
    }

    /// Removes the indexes that no search has used since the last call.
    pub(super) fn give_back(&mut self) {
        for place in (0..self.all.len()).rev() {
            if self.all[place].used <= self.checked {
                self.remove(place);
            }
        }
        self.checked = self.searches;
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
