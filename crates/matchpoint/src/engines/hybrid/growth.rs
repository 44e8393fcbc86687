//! How a table grows, a few buckets with each call, and what it holds at any moment of that.

use super::entry::{Cell, Head, Ref, Slot};
use super::key::Hashing;
use super::key::Key;
use super::pool::{NIL, Place};
use super::slots::CHUNK;
use super::table::Table;
use crate::engine::Refused;

/// Slots of the smallest table, and the most slots that there can be (a [`Spot`](super::key::Spot) tells no more apart).
pub(super) const SMALLEST: usize = CHUNK;
const LARGEST: usize = 1 << 30;

/// The place behind all entries of a table.
pub(super) const ALL: u64 = 1 << 30;

/// Old buckets that are moved together: four tags in a row exchange places within four buckets.
const GROUP: usize = 4;

impl Table {
    /// The first slots, or the beginning of growth.
    pub(super) fn make_room(&mut self) -> Result<(), Refused> {
        if self.slots.len() == 0 && self.old.is_empty() {
            self.slots.extend(SMALLEST, &mut self.old)?;
        }
        self.grow_if_full();
        Ok(())
    }

    /// Begins to grow if there are too many keys.
    #[inline]
    pub(super) fn grow_if_full(&mut self) {
        let keys = self.len() - usize::min(self.twins.len(), self.len());
        if keys > self.limit() && self.old.is_empty() && self.slots.len() < LARGEST {
            self.begin_growth();
        }
    }

    /// Without memory for a larger table, the one there is gets crowded, and the next insertion tries again.
    #[cold]
    fn begin_growth(&mut self) {
        if let Ok(left) = self.slots.leave() {
            self.old = left;
            self.shift -= 1;
        }
    }

    /// Moves some buckets, if any wait to be moved.
    #[inline]
    pub(super) fn tend(&mut self, hashing: &Hashing) {
        if self.is_growing() {
            self.move_group(hashing);
        }
    }

    #[cold]
    fn move_group(&mut self, hashing: &Hashing) {
        let from = self.slots.len() / 2;
        // Each key may need a cell where it comes to lie. Without memory the group waits.
        if self.cells.reserve(2 * GROUP).is_err() || self.slots.extend(2 * GROUP, &mut self.old).is_err() {
            return;
        }
        for index in from..from + GROUP {
            let Some(slot) = self.old.get(index).copied().filter(|slot| !slot.is_empty()) else { continue };
            if !slot.is_crowded() {
                self.move_key(Cell::new(slot.key(), slot.head()), NIL, hashing);
                continue;
            }
            let mut place = slot.first_cell();
            while place != NIL {
                let cell = *self.cells.get(place);
                self.move_key(cell, place, hashing);
                place = cell.next;
            }
        }
        self.old.done(from + GROUP);
    }

    /// Puts a key into its new bucket: `place` is that of its cell, if it has one.
    fn move_key(&mut self, mut cell: Cell, place: Place, hashing: &Hashing) {
        let bucket = self.bucket(hashing.spot(&cell.key));
        let slot = self.slot(bucket);
        if slot.is_empty() && cell.is_plain() {
            *self.slot_mut(bucket) = Slot::plain(&cell.key, cell.head);
            if place != NIL {
                self.cells.remove(place);
            }
        } else if place == NIL {
            self.add_cell(bucket, cell);
        } else {
            self.crowd(bucket);
            let slot = self.slot(bucket);
            cell.next = if slot.is_empty() { NIL } else { slot.first_cell() };
            *self.cells.get_mut(place) = cell;
            *self.slot_mut(bucket) = Slot::crowded(place);
        }
    }

    /// The slots from a place on, in the order of the hashes of what belongs there. Growth changes neither that nor
    /// the meaning of a place, which is a fraction of [`ALL`].
    fn slots_from(&self, place: u64) -> impl Iterator<Item = &Slot> {
        let index = self.index_at(place);
        let moved = if self.is_growing() { self.slots.len() / 2 } else { 0 };
        self.slots.since(index).chain(self.old.since(usize::max(moved, index / 2)))
    }

    fn index_at(&self, place: u64) -> usize {
        (place >> (self.shift - (u64::BITS - ALL.ilog2()))) as usize
    }

    /// The place that so many groups of buckets after another begin at.
    pub(super) fn next_place(&self, mut place: u64, groups: usize) -> u64 {
        for _ in 0..groups {
            let buckets = if self.index_at(place) < self.slots.len() { GROUP } else { 2 * GROUP };
            place += (buckets as u64) << (self.shift - (u64::BITS - ALL.ilog2()));
        }
        place.min(ALL)
    }

    /// Groups of buckets from a place on.
    pub(super) fn groups_from(&self, place: u64) -> usize {
        (self.buckets() - self.index_at(place)) / GROUP
    }

    /// The entries from a place on.
    pub(super) fn entries_from(&self, place: u64) -> impl Iterator<Item = (Key, Head, Ref)> {
        self.slots_from(place).flat_map(|slot| self.entries_in(slot))
    }

    /// The entries of some groups of buckets from a place on.
    pub(super) fn entries_near(&self, place: u64, groups: usize) -> impl Iterator<Item = (Key, Head, Ref)> {
        self.slots_from(place).take(groups * GROUP).flat_map(|slot| self.entries_in(slot))
    }

    fn entries_in(&self, slot: &Slot) -> impl Iterator<Item = (Key, Head, Ref)> {
        let plain = (!slot.is_empty() && !slot.is_crowded()).then(|| (slot.key(), slot.head(), None));
        let mut place = if slot.is_crowded() { slot.first_cell() } else { NIL };
        let cells = std::iter::from_fn(move || {
            let cell = (place != NIL).then(|| self.cells.get(place))?;
            place = cell.next;
            Some(cell)
        });
        let entries = plain.into_iter().chain(cells.flat_map(|cell| self.queue(cell)));
        entries.map(|(key, head, twin)| (key, head, twin.map_or(Ref::UNPLACED, Ref::twin)))
    }

    fn queue(&self, cell: &Cell) -> impl Iterator<Item = (Key, Head, Option<Place>)> {
        let (key, head) = (cell.key, cell.head);
        let mut place = cell.first;
        let twins = std::iter::from_fn(move || {
            let at = (place != NIL).then_some(place)?;
            let twin = self.twins.get(at);
            place = twin.next;
            Some((key, Head { id: twin.id, seq: twin.seq, ..head }, Some(at)))
        });
        std::iter::once((key, head, (cell.own != NIL).then_some(cell.own))).chain(twins)
    }

    /// Keys kept before the slots are doubled. Small tables stay sparse, where it costs nothing that counts: a stranger
    /// in the slot costs 3 ns. From 4096 slots (128 KiB) on memory decides.
    fn limit(&self) -> usize {
        let slots = self.slots.len();
        if slots <= 2048 && !self.is_dense { slots / 4 } else { slots / 8 * 5 }
    }
}
