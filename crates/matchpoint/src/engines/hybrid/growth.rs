//! How a table grows, a few buckets with each call, and what it holds at any moment of that.

use super::entry::{Cell, Head, Ref, Slot};
use super::grave::Dropped;
use super::key::Hashing;
use super::key::Key;
use super::pool::{NIL, Place};
use super::slots::{CHUNK, Slots};
use super::table::{NEAR, Table, neighbour};
use crate::engine::Refused;
use crate::envelope::ContextId;

/// Slots of the smallest table, and the most slots that there can be.
pub(super) const SMALLEST: usize = CHUNK;
const LARGEST: usize = 1 << 29;

/// Buckets side by side, none of them a neighbour of another.
pub(super) const ROW: usize = 8;

/// Buckets that are appended together: four rows. What belongs in one of them lies in one of them.
pub(super) const GROUP: usize = ROW * (1 + NEAR.len());

/// Buckets of the first row that are divided with a call, and their neighbours with them, among whom their keys may lie.
/// (The whole group at once was 2 to 4 µs, too long for one call.) In a sparse table, where one is in the caches, it is the
/// group: divided more slowly it would be full again before it were done.
const AT_ONCE: usize = 2;

/// If more keys than these lay in cells, no more buckets are divided with that call: where many are, all four rows are
/// crowded, and the next buckets have as many. (The longest of ten thousand calls at a million entries had moved 20, most
/// of them misses: 2.4 µs where it is 1.6.)
const MOST_CELLS: usize = 3;

/// Slots of a table that is worth making smaller, slots for each entry from which on it is, and those that an entry then has.
/// Where next to nothing is left, who closes a context looks at all slots once, not again and again.
const LARGE: usize = 4096;
const HOLLOW: usize = 32;
const ROOMY: usize = 8;

impl Dropped for Table {
    fn bytes(&self) -> u64 {
        self.slots.bytes() + self.cells.bytes() + self.equals.bytes()
    }

    fn give_back(&mut self, chunks: usize) -> bool {
        (0..chunks).all(|_| self.slots.give_back() || self.cells.give_back() || self.equals.give_back())
    }
}

impl Table {
    /// The first slots, or the beginning of growth.
    #[inline]
    pub(super) fn make_room(&mut self) -> Result<(), Refused> {
        if self.slots.len() == 0 {
            self.slots.grow()?;
            self.slots.extend(SMALLEST);
            self.whole = SMALLEST;
        }
        self.grow_if_full();
        Ok(())
    }

    /// Begins to grow if there are too many keys.
    #[inline]
    pub(super) fn grow_if_full(&mut self) {
        let keys = self.len() - usize::min(self.equals.len(), self.len());
        if keys > self.limit() && !self.is_growing() && self.slots.len() < LARGEST {
            self.mask = 2 * self.mask + 1;
        }
    }

    /// Divides some buckets, if any wait to be divided.
    #[inline]
    pub(super) fn tend(&mut self, hashing: &Hashing) {
        if self.is_growing() {
            self.divide(hashing);
        }
    }

    #[cold]
    fn divide(&mut self, hashing: &Hashing) {
        // Each key may need a cell where it comes to lie; so that no insertion has to add any either, there are two more.
        // Without memory the group waits, and the table gets crowded. It waits for the next call, too, where a chunk is
        // added: that is a page which was perhaps never touched before, and takes as long as dividing does.
        let at_once = if self.slots.len() > self.sparse_until { AT_ONCE } else { ROW };
        if !self.cells.has_room_for(at_once * (1 + NEAR.len()) + 2) {
            _ = self.cells.grow();
            return;
        }
        let from = self.whole - (self.mask as usize).div_ceil(2);
        if self.divided == 0 {
            if !self.slots.has_room() {
                _ = self.slots.grow();
                return;
            }
            if !self.is_looked_at {
                self.look_at(from);
                return;
            }
            self.is_looked_at = false;
            self.slots.extend(GROUP);
        }
        for _ in 0..usize::min(at_once, ROW - self.divided) {
            if self.divide_neighbours(from, hashing) > MOST_CELLS {
                break;
            }
        }
        if self.divided == ROW {
            (self.whole, self.divided) = (self.whole + GROUP, 0);
        }
    }

    /// Divides the next bucket of the group that begins at `from`, and its neighbours. Returns how many keys lay in cells.
    fn divide_neighbours(&mut self, from: usize, hashing: &Hashing) -> usize {
        let mut cells = 0;
        let first = from + self.divided;
        self.divided += 1;
        let slots: [Slot; 1 + NEAR.len()] =
            std::array::from_fn(|nth| std::mem::take(&mut self.slots[first + nth * ROW]));
        for slot in slots.into_iter().filter(|slot| !slot.is_vacant()) {
            cells += self.settle_all_of(&slot, hashing);
        }
        cells
    }

    /// Puts all that lay in a slot where it belongs now. Returns how many keys lay in cells.
    fn settle_all_of(&mut self, slot: &Slot, hashing: &Hashing) -> usize {
        if !slot.is_crowded() {
            self.settle(Cell::new(slot.key(), slot.head()), NIL, hashing);
            return 0;
        }
        let (mut place, mut cells) = (slot.first_cell(), 0);
        while place != NIL {
            let cell = *self.cells.get(place);
            self.settle(cell, place, hashing);
            place = cell.next;
            cells += 1;
        }
        cells
    }

    /// Whether nearly all of it is empty, and it is large.
    pub(super) fn is_hollow(&self) -> bool {
        self.slots.len() >= LARGE && self.len() < self.slots.len() / HOLLOW
    }

    /// Moves all entries to as few slots as they take; what they are remembered by stays. Returns the slots that they lay
    /// in. O(slots).
    pub(super) fn shrink(&mut self, hashing: &Hashing) -> Result<Table, Refused> {
        let slots = (ROOMY * self.len()).next_power_of_two().max(SMALLEST);
        let small = Slots::of(slots)?;
        // Each key takes a cell at most.
        self.cells.reserve(self.len())?;
        let old = std::mem::replace(&mut self.slots, small);
        (self.mask, self.whole, self.divided, self.is_looked_at) = (slots as u32 - 1, slots, 0, false);
        old.all().filter(|slot| !slot.is_vacant()).for_each(|slot| _ = self.settle_all_of(slot, hashing));
        Ok(Table { slots: old, ..Table::default() })
    }

    /// Brings what is to be divided into the caches, by a call of its own: of a million entries, keys in cells are a miss
    /// each, and here they do not wait for one another.
    fn look_at(&mut self, from: usize) {
        let crowded = self.slots.since(from).take(GROUP).filter(|slot| slot.is_crowded());
        let behind = crowded.map(|slot| self.cells.get(slot.first_cell()).next);
        std::hint::black_box(behind.filter(|&next| next != NIL).count());
        self.is_looked_at = true;
    }

    /// Puts a key where it belongs now: `place` is that of its cell, if it has one.
    fn settle(&mut self, cell: Cell, place: Place, hashing: &Hashing) {
        let home = self.home(hashing.spot(&cell.key));
        if cell.is_plain() && self.settle_plainly(home, Slot::plain(&cell.key, cell.head)) {
            if place != NIL {
                self.cells.remove(place);
            }
            return;
        }
        self.crowd(home);
        let place = if place == NIL { self.cells.insert(cell) } else { place };
        self.chain(home, place);
    }

    /// Puts the only entry of a key in the slot where it belongs, or with a neighbour. False: there is no place.
    pub(super) fn settle_plainly(&mut self, home: usize, plain: Slot) -> bool {
        if self.slots[home].is_vacant() {
            self.slots[home].replace(plain);
            return true;
        }
        if self.slots[home].is_crowded() {
            return false;
        }
        let nth = (0..NEAR.len()).find(|&nth| self.slots[neighbour(home, nth)].is_vacant());
        if let Some(nth) = nth {
            self.slots[neighbour(home, nth)].replace(plain);
            self.slots[home].set_away(nth, true);
        }
        nth.is_some()
    }

    /// All entries, of one context or of all.
    pub(super) fn entries(&self, context: Option<ContextId>) -> impl Iterator<Item = (Key, Head, Ref)> {
        let is_here = move |pair: u64| context.is_none_or(|context| pair >> 32 == u64::from(context.0));
        // Most slots are passed here.
        let is_it = move |slot: &&Slot| slot.is_crowded() || !slot.is_vacant() && is_here(slot.pair);
        self.slots.all().filter(is_it).flat_map(move |slot| self.entries_in(slot, is_here))
    }

    fn entries_in(
        &self,
        slot: &Slot,
        is_here: impl Fn(u64) -> bool,
    ) -> impl Iterator<Item = (Key, Head, Ref)> {
        let plain = (!slot.is_vacant() && !slot.is_crowded()).then(|| (slot.key(), slot.head(), None));
        let mut place = if slot.is_crowded() { slot.first_cell() } else { NIL };
        let cells = std::iter::from_fn(move || {
            let cell = (place != NIL).then(|| self.cells.get(place))?;
            place = cell.next;
            Some(cell)
        });
        let cells = cells.filter(move |cell| is_here(cell.key.pair));
        let entries = plain.into_iter().chain(cells.flat_map(|cell| self.queue(cell)));
        entries.map(|(key, head, equal)| (key, head, equal.map_or(Ref::UNPLACED, Ref::equal)))
    }

    fn queue(&self, cell: &Cell) -> impl Iterator<Item = (Key, Head, Option<Place>)> {
        let Cell { key, head, .. } = *cell;
        let first = cell.has_head().then_some((key, head, None));
        let equals = self.equals.queue(cell);
        first.into_iter().chain(
            equals.map(move |(at, equal)| (key, Head { id: equal.id, seq: equal.seq, ..head }, Some(at))),
        )
    }

    /// Keys kept before the slots are doubled: seen when two keys meet. Small tables stay sparse, where it costs nothing
    /// that counts: a stranger in the slot costs 3 ns. From 4096 slots (128 KiB) on memory decides.
    fn limit(&self) -> usize {
        match self.slots.len() {
            slots if slots > self.sparse_until => slots / 8 * 5,
            2048 => 820,
            1024 => 256,
            slots => slots / 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::Kind;
    use super::*;
    use crate::envelope::{Rank, Tag};

    /// The buckets divided with the first call that divides any, of 60 keys whose buckets `is_it` chooses.
    fn divided_at_first(is_it: impl Fn(usize) -> bool) -> usize {
        let hashing = Hashing::of_seed(1);
        let mut table = Table::sparse_until(0);
        let keys = (0..).map(|source| Key::new(ContextId(0), Rank(source), Tag(0)));
        let chosen = keys.filter(|key| is_it(hashing.spot(key).0 as usize % SMALLEST));
        for (key, id) in chosen.zip(0..60) {
            table.insert(&key, hashing.spot(&key), Head { kind: Kind::Waiting, seq: id, id }).unwrap();
        }
        while table.divided == 0 && table.is_growing() {
            table.tend(&hashing);
        }
        table.divided
    }

    #[test]
    fn crowded_buckets_are_divided_four_with_a_call() {
        assert_eq!(divided_at_first(|bucket| bucket < GROUP && bucket % ROW == 0), 1);
        assert_eq!(divided_at_first(|bucket| bucket >= GROUP), AT_ONCE);
    }
}
