//! How a table grows, a few buckets with each call, and what it holds at any moment of that.

use super::entry::{Cell, Head, Ref, Slot};
use super::key::Hashing;
use super::key::Key;
use super::pool::{NIL, Place};
use super::table::Table;
use crate::engine::Refused;

/// Slots of the smallest table, and the most slots that there can be (a [`Spot`](super::key::Spot) tells no more apart).
pub(super) const SMALLEST: usize = 64;
const LARGEST: usize = 1 << 30;

/// Old buckets that are moved together: four tags in a row exchange places within four buckets.
const GROUP: usize = 4;

impl Table {
    /// A table that will not grow before it holds so many keys.
    pub(super) fn for_keys(keys: usize) -> Result<Self, Refused> {
        let mut size = SMALLEST;
        while limit(size) < keys && size < LARGEST {
            size *= 2;
        }
        let mut slots = Vec::new();
        slots.try_reserve_exact(size).map_err(|_| Refused::Memory)?;
        slots.resize(size, Slot::default());
        Ok(Table { slots, shift: u64::BITS - size.ilog2(), ..Table::default() })
    }

    /// The first slots, or the beginning of growth.
    pub(super) fn make_room(&mut self) -> Result<(), Refused> {
        if self.slots.is_empty() && self.old.is_empty() {
            self.slots.try_reserve_exact(SMALLEST).map_err(|_| Refused::Memory)?;
            self.slots.resize(SMALLEST, Slot::default());
        }
        self.grow_if_full();
        Ok(())
    }

    /// Begins to grow if there are too many keys.
    #[inline]
    pub(super) fn grow_if_full(&mut self) {
        let keys = self.len() - usize::min(self.twins.len(), self.len());
        if keys > limit(self.slots.len()) && self.old.is_empty() && self.slots.len() < LARGEST {
            self.begin_growth();
        }
    }

    /// Without memory for a larger table, the one there is gets crowded, and the next insertion tries again.
    #[cold]
    fn begin_growth(&mut self) {
        let mut slots = Vec::new();
        if slots.try_reserve_exact(2 * self.slots.len()).is_ok() {
            self.old = std::mem::replace(&mut self.slots, slots);
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
        if from >= self.old.len() {
            self.old = Vec::new();
            return;
        }
        // Each key may need a cell where it comes to lie. Without memory the group waits.
        if self.cells.reserve(2 * GROUP).is_err() {
            return;
        }
        self.slots.resize(self.slots.len() + 2 * GROUP, Slot::default());
        for index in from..from + GROUP {
            let slot = self.old[index];
            if slot.is_empty() {
                continue;
            }
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

    /// Calls `each` for every entry, in no order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (Key, Head, Ref)> {
        let moved = (self.slots.len() / 2).min(self.old.len());
        let slots = self.slots.iter().chain(&self.old[moved..]).filter(|slot| !slot.is_empty());
        slots
            .flat_map(move |slot| {
                let plain = (!slot.is_crowded()).then(|| (slot.key(), slot.head(), None));
                let mut place = if slot.is_crowded() { slot.first_cell() } else { NIL };
                let cells = std::iter::from_fn(move || {
                    let cell = (place != NIL).then(|| self.cells.get(place))?;
                    place = cell.next;
                    Some(cell)
                });
                plain.into_iter().chain(cells.flat_map(|cell| self.queue(cell)))
            })
            .map(|(key, head, twin)| (key, head, twin.map_or(Ref::UNPLACED, Ref::twin)))
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
}

/// Keys kept before a table of so many slots is doubled. Small tables stay sparse, where it costs nothing that counts:
/// a stranger in the slot costs 3 ns. From 4096 slots (128 KiB) on memory decides.
fn limit(slots: usize) -> usize {
    if slots <= 2048 { slots / 4 } else { slots / 8 * 5 }
}
