//! How a table grows, a few buckets with each call, and what it holds at any moment of that.

use super::entry::{Cell, Head, Ref, Slot};
use super::grave::Dropped;
use super::key::Hashing;
use super::key::Key;
use super::pool::{NIL, Place};
use super::slots::CHUNK;
use super::table::{Table, neighbour};
use crate::engine::Refused;

/// Slots of the smallest table, and the most slots that there can be.
pub(super) const SMALLEST: usize = CHUNK;
const LARGEST: usize = 1 << 30;

/// Buckets that are divided together: two groups of neighbours.
pub(super) const GROUP: usize = 8;

impl Dropped for Table {
    fn bytes(&self) -> u64 {
        self.slots.bytes() + self.cells.bytes() + self.twins.bytes()
    }

    fn give_back(&mut self, chunks: usize) -> bool {
        (0..chunks).all(|_| self.slots.give_back() || self.cells.give_back() || self.twins.give_back())
    }
}

impl Table {
    /// The first slots, or the beginning of growth.
    #[inline]
    pub(super) fn make_room(&mut self) -> Result<(), Refused> {
        if self.slots.len() == 0 {
            self.slots.extend(SMALLEST)?;
        }
        self.grow_if_full();
        Ok(())
    }

    /// Begins to grow if there are too many keys.
    #[inline]
    pub(super) fn grow_if_full(&mut self) {
        let keys = self.len() - usize::min(self.twins.len(), self.len());
        if keys > self.limit() && !self.is_growing() && self.slots.len() < LARGEST {
            self.mask = 2 * self.mask + 1;
        }
    }

    /// Divides some buckets, if any wait to be divided.
    #[inline]
    pub(super) fn tend(&mut self, hashing: &Hashing) {
        if self.is_growing() {
            self.divide_group(hashing);
        }
    }

    #[cold]
    fn divide_group(&mut self, hashing: &Hashing) {
        // Each key may need a cell where it comes to lie. Without memory the group waits, and the table gets crowded.
        // It waits for the next call, too, if cells have been added: a chunk of slots as well would be one more page that
        // was never touched before.
        // So that no insertion has to add any either, there are two more.
        if !self.cells.has_room_for(GROUP + 2) {
            _ = self.cells.reserve(GROUP + 2);
            return;
        }
        if self.slots.extend(GROUP).is_err() {
            return;
        }
        let from = self.slots.len() - GROUP - (self.mask as usize).div_ceil(2);
        let slots: [Slot; GROUP] = std::array::from_fn(|at| std::mem::take(&mut self.slots[from + at]));
        for slot in slots.into_iter().filter(|slot| !slot.is_vacant()) {
            if !slot.is_crowded() {
                self.settle(Cell::new(slot.key(), slot.head()), NIL, hashing);
                continue;
            }
            let mut place = slot.first_cell();
            while place != NIL {
                let cell = *self.cells.get(place);
                self.settle(cell, place, hashing);
                place = cell.next;
            }
        }
    }

    /// Puts a key where it belongs now: `place` is that of its cell, if it has one.
    fn settle(&mut self, cell: Cell, place: Place, hashing: &Hashing) {
        let home = self.home(hashing.spot(&cell.key));
        let other = neighbour(home);
        let is_vacant = self.slots[home].is_vacant();
        if cell.is_plain() && (is_vacant || !self.slots[home].is_crowded() && self.slots[other].is_empty()) {
            let plain = Slot::plain(&cell.key, cell.head);
            if is_vacant {
                self.slots[home].replace(plain);
            } else {
                self.slots[other] = plain;
                self.slots[home].set_away(true);
            }
            if place != NIL {
                self.cells.remove(place);
            }
            return;
        }
        self.crowd(home);
        let place = if place == NIL { self.cells.insert(cell) } else { place };
        self.chain(home, place);
    }

    /// The entries from a bucket on. Growth takes none of them to a bucket before it.
    pub(super) fn entries_from(&self, index: usize) -> impl Iterator<Item = (Key, Head, Ref)> {
        self.slots.since(index).flat_map(|slot| self.entries_in(slot))
    }

    /// The entries of some buckets from one on.
    pub(super) fn entries_near(
        &self,
        index: usize,
        buckets: usize,
    ) -> impl Iterator<Item = (Key, Head, Ref)> {
        self.slots.since(index).take(buckets).flat_map(|slot| self.entries_in(slot))
    }

    fn entries_in(&self, slot: &Slot) -> impl Iterator<Item = (Key, Head, Ref)> {
        let plain = (!slot.is_vacant() && !slot.is_crowded()).then(|| (slot.key(), slot.head(), None));
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

    /// Keys kept before the slots are doubled: seen when two keys meet. Small tables stay sparse, where it costs nothing
    /// that counts: a stranger in the slot costs 3 ns. From 4096 slots (128 KiB) on memory decides.
    fn limit(&self) -> usize {
        match self.slots.len() {
            slots if self.is_dense || slots > 2048 => slots / 8 * 5,
            2048 => 820,
            1024 => 256,
            slots => slots / 8,
        }
    }
}
