//! A hash table: a key has one entry, or a list of duplicates, in one of the two queues.

use super::duplicates::{Duplicates, Link};
use super::key::{Entry, Hashing, Key};
use super::row::{DISPLACED, Home, MANY, NEXT, QUEUES, Slot};
use super::rows::Rows;
use crate::engine::Refused;

pub(super) use super::rows::At;

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

/// See the [module's documentation](self).
pub(super) struct Table {
    pub(super) rows: Rows,
    pub(super) duplicates: Duplicates,
}

impl Table {
    pub(super) fn new(hashing: Hashing) -> Self {
        Table { rows: Rows::new(hashing), duplicates: Duplicates::default() }
    }

    /// An empty table with room for `keys` keys, if there is memory.
    pub(super) fn with_room(hashing: Hashing, keys: usize) -> Self {
        let mut table = Table::new(hashing);
        _ = table.rows.begin(keys);
        table
    }

    /// The rows alone, without duplicates.
    pub(super) fn into_rows(self) -> Rows {
        self.rows
    }

    /// Number of slots.
    pub(super) fn slots(&self) -> usize {
        self.rows.row.len()
    }

    #[inline(always)]
    pub(super) fn hash(&self, key: Key) -> u64 {
        self.rows.hashing.hash(key)
    }

    /// Where a key with that hash belongs. The table [is ready](Self::is_ready).
    #[inline(always)]
    pub(super) fn home_of(&self, hash: u64) -> Home {
        self.rows.row.home_of(hash)
    }

    /// Whether the slot is free, so that the table has no key that belongs there.
    #[inline(always)]
    pub(super) fn is_free(&self, home: Home) -> bool {
        self.rows.row.home_slot(home).mark == 0
    }

    /// Whether [`exchange`](Self::exchange) may be called.
    #[inline(always)]
    pub(super) fn is_ready(&self) -> bool {
        self.rows.is_single()
    }

    /// Rules 2 and 3 of the contract, if one look at a slot decides: takes the oldest entry of the other queue, or returns the free
    /// slot for the entry. `queue` is the flag of the entry's queue. The table [is ready](Self::is_ready).
    #[inline(always)]
    pub(super) fn exchange(&mut self, key: Key, home: Home, queue: u64) -> Exchange<'_> {
        let slot = self.rows.row.home_slot_mut(home);
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
    pub(super) fn exchange_duplicate(
        &mut self,
        home: Home,
        queue: u64,
        entry: Entry,
    ) -> Option<Option<Entry>> {
        let slot = self.rows.row.home_slot(home);
        let state = slot.mark & (QUEUES | MANY);
        if state == queue | MANY {
            return self.duplicates.push(slot.head(), entry).then_some(None);
        }
        (state & MANY != 0).then(|| self.duplicates[slot.head()].take_unless_last())?.map(Some)
    }

    /// The same if the slot has another key, and the next slot decides, where most displaced keys are.
    #[inline(always)]
    pub(super) fn exchange_displaced(
        &mut self,
        key: Key,
        home: Home,
        queue: u64,
        entry: Entry,
    ) -> Option<Option<Entry>> {
        let row = &mut self.rows.row;
        let home = row.number(row.home_slot(home));
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

    /// The same in all cases: returns the entry that was taken, or none once the entry is queued. The table has at most `entries`
    /// entries.
    #[inline(never)]
    pub(super) fn exchange_slowly(
        &mut self,
        key: Key,
        queue: u64,
        entry: Entry,
        entries: usize,
    ) -> Result<Option<Entry>, Refused> {
        self.rows.move_some();
        match self.find(key).0 {
            Some(at) if self.slot(at).queue() != queue => Ok(Some(self.pop(at))),
            Some(at) => self.push(at, entry).map(|()| None),
            None => self.insert(key, queue, entry, entries).map(|()| None),
        }
    }

    /// Takes the oldest entry of a key in a queue, given by its flag, if the key is in the slot where it belongs.
    #[inline(always)]
    pub(super) fn take_at_home(&mut self, key: Key, queue: u64) -> Option<Entry> {
        if !self.is_ready() {
            return None;
        }
        let home = self.rows.row.home_of(self.rows.hashing.hash(key));
        let slot = self.rows.row.home_slot_mut(home);
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
        self.rows.find(key)
    }

    #[inline]
    pub(super) fn slot(&self, at: At) -> &Slot {
        self.rows.slot(at)
    }

    /// Has slots, and moves some of them if it grows or shrinks.
    pub(super) fn begin(&mut self) {
        self.rows.move_some();
        // Without memory calls that queue are refused.
        _ = self.rows.begin(0);
    }

    /// Adds a key, which the table does not have, with one entry. The table has at most `entries` others.
    pub(super) fn insert(
        &mut self,
        key: Key,
        queue: u64,
        entry: Entry,
        entries: usize,
    ) -> Result<(), Refused> {
        self.rows.insert(key, queue, entry, entries)
    }

    /// Adds an entry, if the slot where its key belongs is free.
    #[inline(always)]
    pub(super) fn add_at_home(&mut self, key: Key, queue: u64, entry: Entry) -> bool {
        if !self.is_ready() {
            return false;
        }
        let home = self.rows.row.home_of(self.rows.hashing.hash(key));
        let slot = self.rows.row.home_slot_mut(home);
        let is_free = slot.mark == 0;
        if is_free {
            slot.fill(key, entry.id, (entry.number * NEXT) | queue);
        }
        is_free
    }

    /// Adds an entry, the youngest of its key, in the queue of the key's other entries.
    #[inline(always)]
    pub(super) fn add(&mut self, key: Key, queue: u64, entry: Entry, entries: usize) -> Result<(), Refused> {
        if self.add_at_home(key, queue, entry) {
            return Ok(());
        }
        let taken = self.exchange_slowly(key, queue, entry, entries)?;
        debug_assert!(taken.is_none(), "the other queue has no entry of this key");
        Ok(())
    }

    /// Appends an entry to those of a key.
    #[inline]
    pub(super) fn push(&mut self, at: At, entry: Entry) -> Result<(), Refused> {
        let slot = self.slot(at);
        if !slot.has_many() {
            let block = self.duplicates.allocate(&[slot.entry(), entry])?;
            self.rows.slot_mut(at).set_head(block);
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
            self.rows.remove(at);
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
            return self.rows.remove(at);
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
                self.rows.remove(at)
            } else if self.slot(at).head() == place.block {
                self.rows.slot_mut(at).set_head(next)
            }
        }
    }

    /// All entries of a queue, in any order.
    pub(super) fn iter(&self, queue: u64) -> impl Iterator<Item = (Key, Entry)> {
        self.rows.slots().filter(move |slot| slot.mark & queue != 0).flat_map(move |slot| {
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

    /// Whether there are far more slots than `keys`.
    pub(super) fn is_sparse(&self, keys: usize) -> bool {
        self.rows.is_sparse(keys)
    }

    /// Frees memory that was not needed since the last call, and begins to shrink if there are far more slots than `keys`.
    pub(super) fn shrink(&mut self, keys: usize) {
        self.duplicates.give_back(keys);
        self.rows.shrink(keys);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.rows.bytes() + self.duplicates.bytes()
    }
}
