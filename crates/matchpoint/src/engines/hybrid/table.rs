//! A hash table: each key has one entry, or several duplicates, in one of the two queues.

use super::duplicates::{Block, Duplicates, Link};
use super::key::{Class, Entry, Hashing, Key};
use super::row::{DISPLACED, MANY, NEXT, QUEUES, Row, Slot};
use crate::engine::Refused;

pub(super) use super::row::At;

/// An entry found in a table, and the position of the entry.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// The slot of the entry's key.
    at: At,
    /// The block of duplicates that has the entry, or [`Link::NONE`], and the index in the block.
    block: Link,
    nth: u64,
    pub(super) entry: Entry,
}

/// The outcome of [`Table::exchange`].
pub(super) enum Exchange<'a> {
    /// The home slot of the key is free, and no other slot has the key.
    Vacant(&'a mut Slot),
    /// The call took the key's only entry, which was in the other queue.
    Took(Entry),
    /// The home slot has the key, with these duplicates, in the same queue (true) or in the other queue. The
    /// table is unchanged.
    Duplicates(Link, bool),
    /// The home slot has the key, in the same queue. The table is unchanged.
    Present,
    /// The home slot has another key, or other keys pass the slot. The table is unchanged.
    Other,
}

/// The entry that the call took, or `None` if the call queued its own entry.
pub(super) type Exchanged = Option<Entry>;

/// A key and its hash.
pub(super) type Hashed = (Key, u64);

/// See the [module's documentation](self). The fields that most calls use are first.
#[repr(C)]
pub(super) struct Table {
    pub(super) row: Row,
    pub(super) hashing: Hashing,
    /// The previous array of slots: while the table grows or shrinks, the slots that have not moved to `row` yet. `left` is the
    /// number of these slots.
    pub(super) old: Row,
    pub(super) left: usize,
    /// The maximum number of displaced keys before the table grows.
    pub(super) most_displaced: usize,
    pub(super) duplicates: Duplicates,
}

impl Table {
    pub(super) fn new(hashing: Hashing) -> Self {
        let duplicates = Duplicates::default();
        Table { row: Row::none(), hashing, old: Row::none(), left: 0, most_displaced: 0, duplicates }
    }

    /// True if the table has slots, all in one row.
    pub(super) fn is_ready(&self) -> bool {
        !self.row.is_none() && self.old.is_none()
    }

    /// Applies rules 2 and 3 of the contract if one slot decides: takes the oldest entry of the other queue,
    /// or returns the free slot for the new entry. `queue` is the flag of the new entry's queue. The table
    /// must be [ready](Self::is_ready).
    #[inline(always)]
    pub(super) fn exchange(&mut self, key: Key, home: At, queue: u64) -> Exchange<'_> {
        let slot = self.row.slot_mut(home);
        if slot.mark == 0 {
            return Exchange::Vacant(slot);
        }
        if slot.tag != key.tag || slot.pair != key.pair {
            return Exchange::Other;
        }
        if slot.mark & (QUEUES | MANY) == QUEUES ^ queue {
            return Exchange::Took(slot.take());
        }
        if slot.has_many() {
            return Exchange::Duplicates(slot.head(), slot.mark & queue != 0);
        }
        if slot.is_used() { Exchange::Present } else { Exchange::Other }
    }

    /// Does [`exchange`](Self::exchange) if the home slot has another key. Returns `None` if the key has
    /// duplicates or entries in the same queue, or if the row must grow.
    #[inline(always)]
    pub(super) fn exchange_displaced(&mut self, of: Hashed, queue: u64, entry: Entry) -> Option<Exchanged> {
        let (key, hash) = of;
        let Some(at) = self.row.find(key, hash).0 else {
            let is_added = self.row.displaced < self.most_displaced
                && self.row.insert(key, hash, entry.id, (entry.number * NEXT) | queue);
            return is_added.then_some(None);
        };
        let slot = self.row.slot(at);
        let found = (slot.mark & (QUEUES | MANY) == QUEUES ^ queue).then(|| slot.entry())?;
        self.row.remove(at, hash);
        Some(Some(found))
    }

    /// Does [`exchange`](Self::exchange) in all cases, in a table with `len` entries.
    #[inline(never)]
    pub(super) fn exchange_slowly(
        &mut self,
        key: Key,
        queue: u64,
        entry: Entry,
        len: usize,
    ) -> Result<Exchanged, Refused> {
        self.move_some();
        match self.find(key).0 {
            Some(at) => self.exchange_at(at, queue, entry),
            None => self.insert(key, queue, entry, len).map(|()| None),
        }
    }

    /// Returns the slot of a key, and the number of keys compared.
    #[inline]
    pub(super) fn find(&self, key: Key) -> (Option<At>, u64) {
        let hash = self.hashing.hash(key);
        let (found, compared) = self.row.find(key, hash);
        if found.is_some() || self.old.is_none() {
            return (found, compared);
        }
        let (found, more) = self.old.find(key, hash);
        (found, compared + more)
    }

    /// Adds an entry to a table with `len` entries. The entry becomes the youngest of its key; other entries
    /// of the key must be in the same queue.
    #[inline(always)]
    pub(super) fn add(&mut self, key: Key, queue: u64, entry: Entry, len: usize) -> Result<(), Refused> {
        if self.is_ready() {
            let home = self.row.home(self.hashing.hash(key));
            let slot = self.row.slot_mut(home);
            if slot.mark == 0 {
                slot.fill(key, entry.id, (entry.number * NEXT) | queue);
                return Ok(());
            }
        }
        let taken = self.exchange_slowly(key, queue, entry, len)?;
        debug_assert!(taken.is_none(), "the other queue has no entry of this key");
        Ok(())
    }

    /// Does [`exchange`](Self::exchange) for the key in slot `at`.
    pub(super) fn exchange_at(&mut self, at: At, queue: u64, entry: Entry) -> Result<Exchanged, Refused> {
        let slot = self.row.slot(at);
        if slot.queue() != queue {
            return Ok(Some(self.pop(at)));
        }
        if slot.has_many() {
            self.duplicates.append(slot.head(), entry)?;
        } else {
            let head = self.duplicates.allocate(&[slot.entry(), entry])?;
            self.row.slot_mut(at).set_head(head);
        }
        Ok(None)
    }

    /// The oldest entry of the key in slot `at`.
    pub(super) fn first(&self, at: At) -> Found {
        let slot = self.row.slot(at);
        if !slot.has_many() {
            return Found { at, block: Link::NONE, nth: 0, entry: slot.entry() };
        }
        let block = &self.duplicates[slot.head()];
        Found { at, block: slot.head(), nth: block.first, entry: block.entries[block.first as usize] }
    }

    /// Takes the oldest entry of the key in slot `at`.
    #[inline]
    pub(super) fn pop(&mut self, at: At) -> Entry {
        let found = self.first(at);
        let slot = self.row.slot_mut(at);
        if slot.mark & (MANY | DISPLACED) == 0 {
            slot.clear();
        } else {
            self.remove(found);
        }
        found.entry
    }

    /// Removes an entry, and the key if no entry is left.
    pub(super) fn remove(&mut self, Found { at, block: link, nth, .. }: Found) {
        if link != Link::NONE {
            let block = &mut self.duplicates[link];
            if nth == block.first {
                block.first += 1;
            } else {
                block.entries.copy_within(nth as usize + 1..block.end as usize, nth as usize);
                block.end -= 1;
            }
            if block.first < block.end {
                return;
            }
            let next = self.duplicates.remove(link);
            if next != Link::NONE {
                if self.row.slot(at).head() == link {
                    self.row.slot_mut(at).set_head(next);
                }
                return;
            }
        }
        let hash = self.hashing.hash(self.row.slot(at).key());
        let row = if self.old.has(at) { &mut self.old } else { &mut self.row };
        row.remove(at, hash);
    }

    /// Finds the entry of a key that `is_it` accepts. O(duplicates); O(1) near the ends of the ring.
    pub(super) fn search(&self, key: Key, queue: u64, is_it: impl Fn(Entry) -> bool) -> Option<Found> {
        let at = self.find(key).0.filter(|&at| self.row.slot(at).queue() == queue)?;
        let first = self.first(at);
        if is_it(first.entry) || first.block == Link::NONE {
            return is_it(first.entry).then_some(first);
        }
        self.duplicates.ring(first.block).find_map(|block| {
            let Block { first, entries, .. } = &self.duplicates[block];
            let nth = self.duplicates[block].used().iter().position(|&entry| is_it(entry))? as u64 + first;
            Some(Found { at, block, nth, entry: entries[nth as usize] })
        })
    }

    /// Takes the entry of a key that [`search`](Self::search) finds.
    pub(super) fn take(&mut self, key: Key, queue: u64, is_it: impl Fn(Entry) -> bool) -> Option<Entry> {
        let found = self.search(key, queue, is_it)?;
        self.remove(found);
        Some(found.entry)
    }

    /// Adds an entry to its key in order of age. O(younger duplicates).
    pub(super) fn add_in_order(
        &mut self,
        key: Key,
        queue: u64,
        entry: Entry,
        len: usize,
        age: impl Fn(u64) -> u64,
    ) -> Result<(), Refused> {
        self.add(key, queue, entry, len)?;
        let Some(at) = self.find(key).0.filter(|&at| self.row.slot(at).has_many()) else { return Ok(()) };
        let head = self.row.slot(at).head();
        self.duplicates.sort_last(head, |other| age(other.number) > age(entry.number));
        Ok(())
    }

    /// All entries of a queue with their keys, in any order.
    pub(super) fn iter(&self, queue: u64) -> impl Iterator<Item = (Key, Entry)> {
        let slots = self.row.slots().iter().chain(self.old.slots());
        slots.filter(move |slot| slot.mark & queue != 0).flat_map(|slot| {
            let one = (!slot.has_many()).then_some(slot.entry());
            let links = slot.has_many().then(|| self.duplicates.ring(slot.head()));
            let many = links.into_iter().flatten().flat_map(|link| self.duplicates[link].used());
            one.into_iter().chain(many.copied()).map(|entry| (slot.key(), entry))
        })
    }
}

/// Entries of one queue under masked keys: a masked key has only the fields that a wildcard class does not
/// ignore.
pub(super) struct ClassTable {
    pub(super) class: Class,
    pub(super) table: Table,
    /// The flag of the queue that the entries are in.
    queue: u64,
    /// Number of entries.
    pub(super) len: usize,
}

impl ClassTable {
    pub(super) fn new(class: Class, queue: u64, hashing: Hashing) -> Self {
        ClassTable { class, table: Table::new(hashing), queue, len: 0 }
    }

    /// Adds an entry under a masked key. The entry becomes the youngest of its key.
    pub(super) fn add(&mut self, key: Key, entry: Entry) -> Result<(), Refused> {
        self.table.add(key, self.queue, entry, self.len)?;
        self.len += 1;
        Ok(())
    }

    /// Takes the only entry of a key, if the home slot of the key decides.
    pub(super) fn take_at_home(&mut self, key: Key) -> Option<Entry> {
        let key = self.class.masked(key);
        let home = self.table.is_ready().then(|| self.table.row.home(self.table.hashing.hash(key)))?;
        let slot = self.table.row.slot_mut(home);
        let entry = slot.has_one(key, self.queue).then(|| slot.take())?;
        self.len -= 1;
        Some(entry)
    }

    /// Takes the oldest entry of the key in slot `at`.
    pub(super) fn pop(&mut self, at: At) -> Entry {
        self.len -= 1;
        self.table.pop(at)
    }

    /// Removes the entry of a key that `is_it` accepts.
    pub(super) fn take(&mut self, key: Key, is_it: impl Fn(Entry) -> bool) -> bool {
        let was_there = self.table.take(key, self.queue, is_it).is_some();
        self.len -= usize::from(was_there);
        was_there
    }
}
