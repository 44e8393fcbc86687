//! A hash table: a key has one entry, or a list of duplicates, in one of the two queues.

use super::duplicates::{Duplicates, Link};
use super::key::{Entry, Hashing, Key};
use super::row::{DISPLACED, MANY, NEXT, QUEUES, Row, Slot};
use crate::engine::Refused;

pub(super) use super::row::At;

/// One of the duplicates of a key: its block, and its place there; [`Link::NONE`] if the key has no duplicates.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) block: Link,
    pub(super) at: u64,
}

/// The outcome of [`Table::exchange`].
pub(super) enum Exchange<'a> {
    /// The slot of the key is free, and no other slot has it.
    Vacant(&'a mut Slot),
    /// The only entry of the key, in the other queue, was taken.
    Took(Entry),
    /// The slot has the key, and another case. Nothing was done.
    Same,
    /// The slot has another key. Nothing was done.
    Other,
}

/// A key and its hash.
pub(super) type Hashed = (Key, u64);

/// See the [module's documentation](self). The fields that most calls use come first.
#[repr(C)]
pub(super) struct Table {
    pub(super) row: Row,
    pub(super) hashing: Hashing,
    /// While the table grows or shrinks, the slots that have not moved to `row`, and their number.
    pub(super) old: Row,
    pub(super) left: usize,
    /// Number of entries. The owner of the table counts them.
    pub(super) len: usize,
    /// With more displaced keys the table grows.
    pub(super) most_displaced: usize,
    pub(super) duplicates: Duplicates,
}

impl Table {
    pub(super) fn new(hashing: Hashing) -> Self {
        let duplicates = Duplicates::default();
        Table { row: Row::none(), hashing, old: Row::none(), left: 0, len: 0, most_displaced: 0, duplicates }
    }

    #[inline(always)]
    pub(super) fn hash(&self, key: Key) -> u64 {
        self.hashing.hash(key)
    }

    /// The slot in which a key with that hash belongs. The table [is ready](Self::is_ready).
    #[inline(always)]
    pub(super) fn home(&self, hash: u64) -> At {
        self.row.home(hash)
    }

    /// Whether the table has slots, and in one row only.
    #[inline(always)]
    pub(super) fn is_ready(&self) -> bool {
        !self.row.is_none() && self.old.is_none()
    }

    /// Rules 2 and 3 of the contract, if one look at a slot decides: takes the oldest entry of the other queue, or returns the free
    /// slot for the entry. `queue` is the flag of the entry's queue. The table [is ready](Self::is_ready).
    #[inline(always)]
    pub(super) fn exchange(&mut self, key: Key, home: At, queue: u64) -> Exchange<'_> {
        let slot = self.row.slot_mut(home);
        if slot.mark == 0 {
            return Exchange::Vacant(slot);
        }
        if slot.tag == key.tag && slot.pair == key.pair {
            if slot.mark & (QUEUES | MANY) != QUEUES ^ queue {
                return Exchange::Same;
            }
            let entry = slot.entry();
            slot.clear();
            return Exchange::Took(entry);
        }
        Exchange::Other
    }

    /// The same if the slot has the key and duplicates, unless a block begins or ends: returns the entry that was taken, or none once
    /// the entry is queued.
    #[inline(always)]
    pub(super) fn exchange_duplicate(&mut self, home: At, queue: u64, entry: Entry) -> Option<Option<Entry>> {
        let slot = self.slot(home);
        let state = slot.mark & (QUEUES | MANY);
        if state == queue | MANY {
            return self.duplicates.push(slot.head(), entry).then_some(None);
        }
        let head = (state & MANY != 0).then(|| slot.head())?;
        self.duplicates[head].take_unless_last().map(Some)
    }

    /// The same if the slot has another key, and the next slot decides, where most displaced keys are.
    #[inline(always)]
    pub(super) fn exchange_displaced(
        &mut self,
        key: Key,
        home: At,
        queue: u64,
        entry: Entry,
    ) -> Option<Option<Entry>> {
        let row = &mut self.row;
        let [first, next] = row.two_slots(home);
        if first.is_passed() {
            if next.tag == key.tag && next.pair == key.pair && next.mark & (QUEUES | MANY) == QUEUES ^ queue {
                let found = next.entry();
                next.clear();
                first.remove_passing();
                row.displaced -= 1;
                return Some(Some(found));
            }
        } else if !next.is_used() {
            next.fill(key, entry.id, (entry.number * NEXT) | queue | DISPLACED | next.mark);
            first.add_passing();
            row.displaced += 1;
            return Some(None);
        }
        None
    }

    /// The same in all cases: returns the entry that was taken, or none once the entry is queued.
    #[inline(never)]
    pub(super) fn exchange_slowly(
        &mut self,
        key: Key,
        queue: u64,
        entry: Entry,
    ) -> Result<Option<Entry>, Refused> {
        self.move_some();
        match self.find(key).0 {
            Some(at) if self.slot(at).queue() != queue => Ok(Some(self.pop(at))),
            Some(at) => self.push(at, entry).map(|()| None),
            None => self.insert(key, queue, entry).map(|()| None),
        }
    }

    /// Takes the oldest entry of a key in a queue, given by its flag, if the key is in the slot where it belongs.
    #[inline(always)]
    pub(super) fn take_at_home(&mut self, key: Key, queue: u64) -> Option<Entry> {
        if !self.is_ready() {
            return None;
        }
        let home = self.row.home(self.hash(key));
        let slot = self.row.slot_mut(home);
        if slot.mark & QUEUES != queue || slot.tag != key.tag || slot.pair != key.pair {
            return None;
        }
        if slot.has_many() {
            return self.duplicates[slot.head()].take_unless_last();
        }
        let entry = slot.entry();
        slot.clear();
        Some(entry)
    }

    /// Where a key is, and how many keys were compared.
    #[inline(always)]
    pub(super) fn find(&self, key: Key) -> (Option<At>, u64) {
        let hash = self.hash(key);
        if self.is_ready() {
            let at = self.home(hash);
            let slot = self.slot(at);
            if slot.mark == 0 || slot.has(key) {
                return if slot.mark == 0 { (None, 0) } else { (Some(at), 1) };
            }
        }
        self.find_slowly(key, hash)
    }

    #[inline(never)]
    fn find_slowly(&self, key: Key, hash: u64) -> (Option<At>, u64) {
        let mut compared = 0;
        for row in [&self.row, &self.old].into_iter().filter(|row| !row.is_none()) {
            let (found, more) = row.find(key, hash);
            compared += more;
            if found.is_some() {
                return (found, compared);
            }
        }
        (None, compared)
    }

    #[inline(always)]
    pub(super) fn slot(&self, at: At) -> &Slot {
        self.row.slot(at)
    }

    /// Adds an entry, if the slot where its key belongs is free.
    #[inline(always)]
    pub(super) fn add_at_home(&mut self, key: Key, queue: u64, entry: Entry) -> bool {
        if !self.is_ready() {
            return false;
        }
        let home = self.row.home(self.hash(key));
        let slot = self.row.slot_mut(home);
        let is_free = slot.mark == 0;
        if is_free {
            slot.fill(key, entry.id, (entry.number * NEXT) | queue);
        }
        is_free
    }

    /// Adds an entry, the youngest of its key, in the queue of the key's other entries.
    #[inline(always)]
    pub(super) fn add(&mut self, key: Key, queue: u64, entry: Entry) -> Result<(), Refused> {
        if self.add_at_home(key, queue, entry) {
            return Ok(());
        }
        let taken = self.exchange_slowly(key, queue, entry)?;
        debug_assert!(taken.is_none(), "the other queue has no entry of this key");
        Ok(())
    }

    /// Appends an entry to those of a key.
    #[inline]
    pub(super) fn push(&mut self, at: At, entry: Entry) -> Result<(), Refused> {
        let slot = self.slot(at);
        if !slot.has_many() {
            let block = self.duplicates.allocate(&[slot.entry(), entry])?;
            self.row.slot_mut(at).set_head(block);
            return Ok(());
        }
        let head = slot.head();
        if !self.duplicates.push(head, entry) {
            let block = self.duplicates.allocate(&[entry])?;
            self.duplicates.append(head, block);
        }
        Ok(())
    }

    /// The oldest entry of a key.
    #[inline]
    pub(super) fn first(&self, at: At) -> Entry {
        let slot = self.slot(at);
        if slot.has_many() { self.duplicates[slot.head()].used()[0] } else { slot.entry() }
    }

    /// Takes the oldest entry of a key.
    #[inline]
    pub(super) fn pop(&mut self, at: At) -> Entry {
        let slot = self.slot(at);
        if !slot.has_many() {
            let entry = slot.entry();
            self.remove_key(at);
            return entry;
        }
        let block = slot.head();
        let first = self.duplicates[block].first;
        let entry = self.duplicates[block].entries[first as usize];
        self.remove(at, Place { block, at: first });
        entry
    }

    /// Takes one of the entries of a key.
    pub(super) fn remove(&mut self, at: At, place: Place) {
        if place.block == Link::NONE {
            return self.remove_key(at);
        }
        let block = &mut self.duplicates[place.block];
        if place.at == block.first {
            block.first += 1;
        } else {
            block.entries.copy_within(place.at as usize + 1..block.end as usize, place.at as usize);
            block.end -= 1;
        }
        if block.first == block.end {
            let next = self.duplicates.remove(place.block);
            if next == Link::NONE {
                self.remove_key(at)
            } else if self.slot(at).head() == place.block {
                self.row.slot_mut(at).set_head(next)
            }
        }
    }

    /// Removes the key in a slot.
    fn remove_key(&mut self, at: At) {
        let hash = self.hash(self.slot(at).key());
        let row = if self.old.has(at) { &mut self.old } else { &mut self.row };
        row.remove(at, hash);
    }

    /// All entries of a queue, in any order.
    pub(super) fn iter(&self, queue: u64) -> impl Iterator<Item = (Key, Entry)> {
        self.slots().filter(move |slot| slot.mark & queue != 0).flat_map(move |slot| {
            let head = if slot.has_many() { slot.head() } else { Link::NONE };
            let mut next = head;
            let many = std::iter::from_fn(move || {
                let block = (next != Link::NONE).then(|| &self.duplicates[next])?;
                next = if block.next == head { Link::NONE } else { block.next };
                Some(block.used())
            });
            let one = (!slot.has_many()).then_some(slot.entry());
            one.into_iter().chain(many.flatten().copied()).map(|entry| (slot.key(), entry))
        })
    }
}
