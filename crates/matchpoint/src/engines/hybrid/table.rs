//! A hash table from keys to queues of entries, first come first served, that grows without a pause.
//!
//! ```text
//! slots   │ pair tag id mark │ …  │ pair tag id mark │ … │ ▪         │ –            │      32 bytes each, a line two
//!           one entry, plain      its neighbour            │ crowded     empty
//!                                                         ▼
//! cells                                       key A, its first entry ──▶ key B, its first entry        one per key
//!                                               │ first … last
//!                                               ▼
//! equals                                      2nd 3rd 4th ⇄ 5th 6th …  of key A                        a line for three
//! ```
//!
//! Mostly a slot holds the only entry of the only key that belongs there, and nothing else is looked at. A key that
//! finds its slot taken lies with a neighbour, 8, 16 or 24 slots on (other cache lines), if one of these is empty. A key
//! that finds all of them taken, keys with several entries, and those of sources beyond 2^32 are kept in cells instead. A
//! key's [equals](super::equals) are in a queue of their own, so that a thousand of them do not slow a stranger down.
//!
//! **Growth** (linear hashing, Litwin 1980). A bucket is the lower bits of a hash, so that what lies in bucket *b* of *N*
//! belongs in *b* or *b* + *N* of 2*N*. Buckets are appended in that order, a group of neighbours after the other, and
//! within a group those that are neighbours of each other are divided together, a few with every call: how far that has
//! come says where a key belongs.

use super::entry::{At, Cell, Head, Kind, Ref, Slot};
use super::equals::{Equal, Equals};
use super::found::Found;
use super::growth::{ROW, SMALLEST};
use super::key::{Key, Spot};
use super::pool::{NIL, Place, Pool};
use super::slots::{CHUNK, Slots};
use crate::engine::Refused;

/// See the [module's documentation](self).
pub(super) struct Table {
    pub(super) slots: Slots,
    /// Buckets that there are, or will be once it has grown, but one.
    pub(super) mask: u32,
    /// Buckets of the groups that are divided whole: all that there are, unless it grows.
    pub(super) whole: usize,
    /// Buckets of the first row that are divided, with their neighbours, in the group behind those.
    pub(super) divided: usize,
    /// Entries posted in the lower half, unexpected in the upper.
    pub(super) counts: u64,
    pub(super) cells: Pool<Cell>,
    pub(super) equals: Equals,
    /// The cell in whose queue the last call was that met equal entries. It may be another's by now, or vacant.
    pub(super) equal: Place,
    /// Whether the one before was in that queue, too: mostly the next is, then. (Of receives that leave something open: else it is
    /// the [gate](super::Hybrid::gate) that says so.)
    pub(super) is_again: bool,
    /// Whether the group that is divided next is in the caches.
    pub(super) is_looked_at: bool,
    /// Slots up to which speed decides how full it gets, not memory.
    pub(super) sparse_until: usize,
}

/// How far the neighbours of a slot are: in other rows of eight, since the keys of eight tags in a row come and go
/// together. (With one neighbour, a table half full kept 23 % of its keys in cells.)
pub(super) const NEAR: [usize; 3] = [ROW, 2 * ROW, 3 * ROW];

/// A slot where a key may lie whose own is taken.
#[inline]
pub(super) fn neighbour(index: usize, nth: usize) -> usize {
    index ^ NEAR[nth]
}

impl Default for Table {
    fn default() -> Self {
        Table {
            slots: Slots::default(),
            mask: SMALLEST as u32 - 1,
            whole: 0,
            divided: 0,
            counts: 0,
            cells: Pool::default(),
            equals: Equals::default(),
            equal: NIL,
            is_again: false,
            is_looked_at: false,
            sparse_until: 2048,
        }
    }
}

impl Table {
    /// One of which memory decides how full it gets from so many slots on.
    pub(super) fn sparse_until(slots: usize) -> Self {
        Table { sparse_until: slots, ..Table::default() }
    }

    /// Entries of a kind.
    #[inline]
    pub(super) fn count(&self, kind: Kind) -> usize {
        (self.counts >> kind.shift()) as u32 as usize
    }

    /// Entries, all together.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count(Kind::Posted) + self.count(Kind::Waiting)
    }

    /// Whether buckets wait to be divided.
    #[inline]
    pub(super) fn is_growing(&self) -> bool {
        self.whole <= self.mask as usize && self.whole > 0
    }

    /// The slot that a key belongs in, if there are any.
    #[inline]
    pub(super) fn home(&self, spot: Spot) -> usize {
        let index = (spot.0 & self.mask) as usize;
        if index < self.whole { index } else { self.home_in_growth(index) }
    }

    /// The same for a bucket that is not there yet, or is being made.
    #[inline(never)]
    fn home_in_growth(&self, index: usize) -> usize {
        let is_there = index < self.slots.len() && index % ROW < self.divided;
        if is_there { index } else { index & (self.mask >> 1) as usize }
    }

    /// Where the queue of a key is, if it has one. Adds the keys looked at to `examined`.
    #[inline]
    pub(super) fn find(&self, key: &Key, spot: Spot, examined: &mut u64) -> Option<At> {
        if self.counts == 0 {
            return None;
        }
        let home = self.home(spot);
        let slot = self.slots[home];
        if slot.is_empty() {
            return None;
        }
        if !slot.is_crowded() && !slot.is_vacant() && slot.key() == *key {
            *examined += 1;
            return Some(At::new(home, NIL));
        }
        self.find_beside(home, key, examined)
    }

    /// The same for a key that does not lie plainly in its slot.
    #[inline(never)]
    fn find_beside(&self, home: usize, key: &Key, examined: &mut u64) -> Option<At> {
        let found = self.find_at(home, key, examined);
        if found.is_some() || !self.slots[home].has_away() {
            return found;
        }
        Slot::aways(self.slots[home].mark).find_map(|nth| {
            let found = self.find_at(neighbour(home, nth), key, examined)?;
            Some(found.away(nth))
        })
    }

    #[inline]
    fn find_at(&self, index: usize, key: &Key, examined: &mut u64) -> Option<At> {
        let slot = &self.slots[index];
        if slot.is_vacant() {
            return None;
        }
        if !slot.is_crowded() {
            *examined += 1;
            return (slot.key() == *key).then_some(At::new(index, NIL));
        }
        let mut at = slot.first_cell();
        while at != NIL {
            *examined += 1;
            let cell = self.cells.get(at);
            if cell.key == *key {
                return Some(At::new(index, at));
            }
            at = cell.next;
        }
        None
    }

    /// The first entry of a queue.
    #[inline]
    pub(super) fn head(&self, at: At) -> Head {
        if at.cell() == NIL {
            return self.slots[at.slot()].head();
        }
        let cell = self.cells.get(at.cell());
        if cell.has_head() { cell.head } else { self.equal(cell, cell.first) }
    }

    /// An equal of a cell, by its place.
    #[inline]
    pub(super) fn equal(&self, cell: &Cell, place: Place) -> Head {
        let Equal { id, seq } = self.equals.get(place);
        Head { id, seq, ..cell.head }
    }

    /// The key of a queue.
    #[inline]
    pub(super) fn key(&self, at: At) -> Key {
        if at.cell() == NIL { self.slots[at.slot()].key() } else { self.cells.get(at.cell()).key }
    }

    /// Queues an entry under a key that has none of the other kind.
    #[inline]
    pub(super) fn put(&mut self, key: &Key, spot: Spot, head: Head) -> Result<Ref, Refused> {
        let home = (spot.0 & self.mask) as usize;
        if home < self.whole && key.high == 0 {
            let slot = &mut self.slots[home];
            // Whether the table is full is seen when two keys meet.
            if slot.is_empty() {
                *slot = Slot::plain(key, head);
                self.counts += head.kind.unit();
                return Ok(Ref::inline(spot));
            }
        }
        match self.find(key, spot, &mut 0) {
            Some(at) => {
                let added = self.append(at, head)?;
                let owner = self.cell_of(at);
                self.note_open(owner);
                Ok(added)
            }
            None => self.insert(key, spot, head),
        }
    }

    /// The same where nothing lies in the slot of the key, nor with a neighbour of it. False, and nothing done: something
    /// does.
    #[inline(always)]
    pub(super) fn put_plainly(&mut self, pair: u64, tag: u64, spot: Spot, head: Head) -> bool {
        let home = (spot.0 & self.mask) as usize;
        if home >= self.whole {
            return false;
        }
        let slot = &mut self.slots[home];
        let is_empty = slot.is_empty();
        if is_empty {
            *slot = Slot { tag, pair, id: head.id, mark: Slot::mark(head.kind, head.seq) };
            self.counts += head.kind.unit();
        }
        is_empty
    }

    /// Begins a queue for a key that has none.
    #[inline]
    pub(super) fn insert(&mut self, key: &Key, spot: Spot, head: Head) -> Result<Ref, Refused> {
        self.make_room()?;
        let home = self.home(spot);
        self.insert_at(home, key, head)?;
        self.counts += head.kind.unit();
        Ok(Ref::inline(spot))
    }

    /// Puts a key in its slot, with a neighbour, or in a cell.
    #[inline]
    fn insert_at(&mut self, home: usize, key: &Key, head: Head) -> Result<(), Refused> {
        if key.high == 0 && self.settle_plainly(home, Slot::plain(key, head)) {
            return Ok(());
        }
        self.cells.reserve(2)?;
        self.crowd(home);
        let place = self.cells.insert(Cell::new(*key, head));
        self.chain(home, place);
        Ok(())
    }

    /// Puts a cell before those of a slot, which is vacant or crowded.
    pub(super) fn chain(&mut self, index: usize, place: Place) {
        let slot = self.slots[index];
        self.cells.get_mut(place).next = if slot.is_vacant() { NIL } else { slot.first_cell() };
        self.slots[index].replace(Slot::crowded(place));
    }

    /// Makes a cell of a plain entry. Takes room for one.
    pub(super) fn crowd(&mut self, index: usize) {
        let slot = self.slots[index];
        if !slot.is_vacant() && !slot.is_crowded() {
            let place = self.cells.insert(Cell::new(slot.key(), slot.head()));
            self.slots[index].replace(Slot::crowded(place));
        }
    }

    /// The cell of a queue, made if it was plain. Takes room for one.
    pub(super) fn cell_of(&mut self, at: At) -> Place {
        if at.cell() != NIL {
            return at.cell();
        }
        self.crowd(at.slot());
        self.slots[at.slot()].first_cell()
    }

    /// Appends an entry to a queue.
    #[inline]
    pub(super) fn append(&mut self, at: At, head: Head) -> Result<Ref, Refused> {
        self.equals.reserve_one()?;
        self.cells.reserve_one()?;
        let owner = self.cell_of(at);
        Ok(self.append_to(owner, head))
    }

    /// Appends an entry to the queue of a cell. Takes room for one equal.
    #[inline(always)]
    pub(super) fn append_to(&mut self, owner: Place, head: Head) -> Ref {
        let place = self.equals.append(self.cells.get_mut(owner), owner, head);
        self.counts += head.kind.unit();
        Ref::equal(place)
    }

    /// Takes the first entry of a key that is called what `admits` says yes to. Its name.
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        key: &Key,
        spot: Spot,
        examined: &mut u64,
        admits: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        if self.counts == 0 {
            return None;
        }
        let home = self.home(spot);
        let slot = &mut self.slots[home];
        if slot.is_empty() {
            return None;
        }
        if slot.tag == key.tag && slot.pair == key.pair && slot.holds_plainly(Kind::Posted) && key.high == 0 {
            *examined += 1;
            if !admits(slot.id) {
                return None;
            }
            slot.vacate();
            self.counts -= Kind::Posted.unit();
            return Some(slot.id);
        }
        let at = self.find_beside(home, key, examined)?;
        let found = self.first_that(Found::first(at), |head| admits(head.id), examined)?;
        self.note_open(at.cell());
        Some(self.remove(found).id)
    }

    /// [`meet`](Self::meet) around a slot that is not crowded: takes what lies with a neighbour, or puts the key where there
    /// is place. Nothing, if it takes more than that.
    #[inline(always)]
    pub(super) fn meet_near(
        &mut self,
        index: usize,
        pair: u64,
        tag: u64,
        spot: Spot,
        head: Head,
    ) -> Option<Met> {
        let chunk = self.slots.chunk_mut(index)?;
        let home = index % CHUNK;
        let Slot { mark, .. } = chunk[home];
        let is_vacant = chunk[home].is_vacant();
        if !is_vacant && chunk[home].tag == tag && chunk[home].pair == pair {
            return None;
        }
        for nth in Slot::aways(mark) {
            let other = &mut chunk[neighbour(home, nth)];
            if other.is_crowded() {
                return None;
            }
            if other.tag == tag && other.pair == pair {
                if !other.holds_plainly(head.kind.other()) {
                    return None;
                }
                other.vacate();
                let id = other.id;
                chunk[home].mark = mark & !Slot::away(nth);
                self.counts -= head.kind.other().unit();
                return Some(Met::Took(id));
            }
        }
        let mut at = home;
        if !is_vacant {
            let nth = (0..NEAR.len()).find(|&nth| chunk[neighbour(home, nth)].is_vacant())?;
            chunk[home].mark = mark | Slot::away(nth);
            at = neighbour(home, nth);
        }
        chunk[at].replace(Slot { tag, pair, id: head.id, mark: Slot::mark(head.kind, head.seq) });
        self.counts += head.kind.unit();
        self.grow_if_full();
        Some(Met::Queued(Ref::inline(spot)))
    }

    /// Takes the first entry of a queue.
    #[inline]
    pub(super) fn pop(&mut self, at: At) -> Head {
        let head = self.head(at);
        self.counts -= head.kind.unit();
        if at.cell() != NIL {
            self.pop_cell(at.slot(), at.cell());
            return head;
        }
        self.slots[at.slot()].vacate();
        if let Some(nth) = at.neighbour() {
            self.slots[neighbour(at.slot(), nth)].set_away(nth, false);
        }
        head
    }

    /// Takes out all that lies in a slot, none of which belongs with a neighbour any more.
    #[inline]
    fn vacate(&mut self, index: usize) {
        self.slots[index].vacate();
        (0..NEAR.len()).for_each(|nth| self.slots[neighbour(index, nth)].set_away(nth, false));
    }

    #[inline(never)]
    fn pop_cell(&mut self, slot: usize, place: Place) {
        let cell = self.cells.get_mut(place);
        if cell.is_single() {
            return self.remove_cell(slot, place);
        }
        self.equals.take_first(cell);
    }

    fn remove_cell(&mut self, slot: usize, place: Place) {
        let (mut before, mut at) = (NIL, self.slots[slot].first_cell());
        while at != place {
            (before, at) = (at, self.cells.get(at).next);
        }
        self.unchain(slot, before, place);
    }

    /// Removes a cell of one entry, with the one before it in its slot.
    #[inline]
    fn unchain(&mut self, slot: usize, before: Place, place: Place) {
        let cell = self.cells.get_mut(place);
        let next = cell.next;
        if cell.first != NIL {
            self.equals.remove(cell, cell.first);
        }
        if before != NIL {
            self.cells.get_mut(before).next = next;
        } else if next == NIL {
            self.vacate(slot);
        } else {
            self.slots[slot].replace(Slot::crowded(next));
        }
        self.cells.remove(place);
    }

    /// Rules 2 and 3 for a key whose slot holds something already: takes the first entry of the other kind, or queues
    /// one of this. The table is not growing.
    #[inline(never)]
    pub(super) fn meet(
        &mut self,
        home: usize,
        key: &Key,
        spot: Spot,
        head: Head,
        examined: &mut u64,
    ) -> Result<Met, Refused> {
        let Some(at) = self.find(key, spot, examined) else {
            self.insert_at(home, key, head)?;
            self.counts += head.kind.unit();
            self.grow_if_full();
            return Ok(Met::Queued(Ref::inline(spot)));
        };
        if self.head(at).kind == head.kind {
            return Ok(Met::Queued(self.append(at, head)?));
        }
        Ok(Met::Took(self.pop(at).id))
    }

    /// [`meet`](Self::meet) in the cells of a crowded slot. Nothing, if it takes more than that.
    ///
    /// The key comes in registers: from memory the compiler copies it as a 16-byte word, which the processor cannot
    /// forward from the two stores that the caller has just made.
    #[inline(always)]
    pub(super) fn meet_cells(
        &mut self,
        index: usize,
        pair: u64,
        tag: u64,
        spot: Spot,
        head: Head,
        examined: &mut u64,
    ) -> Option<Met> {
        let (mut before, mut at) = (NIL, self.slots[index].first_cell());
        while at != NIL {
            *examined += 1;
            let cell = self.cells.get(at);
            if cell.key.tag == tag && cell.key.pair == pair && cell.key.high == 0 {
                break;
            }
            (before, at) = (at, cell.next);
        }
        if at == NIL {
            return self.begin_cell(index, pair, tag, spot, head);
        }
        let cell = self.cells.get_mut(at);
        if cell.head.kind == head.kind {
            return self.equals.has_room(cell).then(|| Met::Queued(self.append_to(at, head)));
        }
        self.counts -= head.kind.other().unit();
        if !cell.is_single() {
            return Some(Met::Took(self.equals.take_first(cell)));
        }
        let taken = self.head(At::new(index, at)).id;
        self.unchain(index, before, at);
        Some(Met::Took(taken))
    }

    /// Whether a key could be with a neighbour of its slot.
    #[inline]
    fn may_lie_near(&self, index: usize, pair: u64, tag: u64) -> bool {
        Slot::aways(self.slots[index].mark).any(|nth| {
            let other = &self.slots[neighbour(index, nth)];
            other.is_crowded() || other.tag == tag && other.pair == pair
        })
    }

    /// [`meet`](Self::meet) in the queue of a cell: takes the first of several entries, or appends one more. Nothing, if
    /// that is of another key, or if it takes more than that.
    #[inline(always)]
    pub(super) fn meet_equal(&mut self, place: Place, pair: u64, tag: u64, head: Head) -> Option<Met> {
        let cell = self.cells.get_mut(place);
        if cell.key.tag != tag || cell.key.pair != pair || cell.key.high != 0 {
            return None;
        }
        if cell.head.kind == head.kind {
            return self.equals.has_room(cell).then(|| Met::Queued(self.append_to(place, head)));
        }
        if cell.is_single() {
            return None;
        }
        let id = self.equals.take_first(cell);
        self.counts -= head.kind.other().unit();
        Some(Met::Took(id))
    }

    /// Begins a queue in the cells of a crowded slot, none of whose keys it is.
    #[inline(always)]
    fn begin_cell(&mut self, index: usize, pair: u64, tag: u64, spot: Spot, head: Head) -> Option<Met> {
        if !self.cells.has_room() || self.may_lie_near(index, pair, tag) {
            return None;
        }
        let slot = &mut self.slots[index];
        let key = Key { pair, tag, high: 0 };
        let place = self.cells.insert(Cell { next: slot.first_cell(), ..Cell::new(key, head) });
        slot.replace(Slot::crowded(place));
        self.counts += head.kind.unit();
        self.grow_if_full();
        Some(Met::Queued(Ref::inline(spot)))
    }
}

/// What became of an entry that met a table.
pub(super) enum Met {
    /// It took the entry of this name.
    Took(u64),
    /// It waits, and this is what it is remembered by.
    Queued(Ref),
}
