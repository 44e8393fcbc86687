//! Entries by what they are remembered by: found, taken from wherever they stand in their queue, put where their age
//! says. None of this is on the way of a message that finds its receive at once.

use super::entry::{At, Head, Kind, NO_SEQ, Ref, Slot};
use super::equals::Touched;
use super::key::{Hashing, Key, Spot};
use super::pool::{NIL, Place};
use super::table::{NEAR, Table, neighbour};
use crate::engine::Refused;

/// An entry: its queue, and where it lies unless it is the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) at: At,
    /// [`NIL`]: it is the first.
    equal: Place,
}

impl Found {
    /// The first entry of a queue.
    #[inline]
    pub(super) fn first(at: At) -> Self {
        Found { at, equal: NIL }
    }

    /// The same entry of a queue that has moved.
    pub(super) fn moved(self, at: At) -> Self {
        Found { at, ..self }
    }
}

impl Table {
    /// Where an entry lies, if it is there still.
    #[inline]
    pub(super) fn resolve(&self, entry: Ref, seq: u64, hashing: &Hashing) -> Option<Found> {
        match entry.place() {
            None => self.first_near(entry.spot(), move |head| head.seq == seq),
            Some(place) => {
                let (owner, _) = self.equals.find(place).filter(|(_, equal)| equal.seq == seq)?;
                let cell = self.cells.get(owner);
                let home = self.home(hashing.spot(&cell.key));
                let at = self.chain_of(owner, home);
                let is_first = cell.first == place && !cell.has_head();
                Some(Found { at, equal: if is_first { NIL } else { place } })
            }
        }
    }

    /// The slot of an entry that lies plainly where it belongs, if that is so.
    #[inline(always)]
    pub(super) fn plain(&self, entry: Ref, kind: Kind, seq: u64) -> Option<(usize, &Slot)> {
        let home = (entry.spot().0 & self.mask) as usize;
        if entry.place().is_some() || home >= self.whole {
            return None;
        }
        let slot = &self.slots[home];
        if slot.is_entry(kind, seq) { Some((home, slot)) } else { None }
    }

    /// Takes out what lies there [plainly](Self::plain).
    #[inline(always)]
    pub(super) fn take_plain(&mut self, home: usize) -> u64 {
        let slot = &mut self.slots[home];
        slot.vacate();
        let id = slot.id;
        self.counts -= Kind::Waiting.unit();
        id
    }

    /// The queue of a cell, which is in the chain of its home, or of a neighbour of that.
    fn chain_of(&self, cell: Place, home: usize) -> At {
        let is_in = |index: usize| {
            let slot = self.slots[index];
            let mut at = if slot.is_crowded() { slot.first_cell() } else { NIL };
            while at != NIL && at != cell {
                at = self.cells.get(at).next;
            }
            at == cell
        };
        if is_in(home) {
            return At::new(home, cell);
        }
        let nth = (0..NEAR.len() - 1).find(|&nth| is_in(neighbour(home, nth))).unwrap_or(NEAR.len() - 1);
        At::new(neighbour(home, nth), cell).away(nth)
    }

    /// The first entry of a queue that belongs there, and of which `is_it` says so.
    #[inline]
    pub(super) fn first_near(&self, spot: Spot, is_it: impl Fn(Head) -> bool) -> Option<Found> {
        if self.counts == 0 {
            return None;
        }
        let home = self.home(spot);
        let slot = self.slots[home];
        if !slot.is_crowded() && !slot.is_vacant() && is_it(slot.head()) {
            return Some(Found::first(At::new(home, NIL)));
        }
        self.first_beside(home, is_it)
    }

    #[inline(never)]
    fn first_beside(&self, home: usize, is_it: impl Fn(Head) -> bool) -> Option<Found> {
        let slot = &self.slots[home];
        let found = self.first_at(home, slot, &is_it);
        if found.is_some() || !slot.has_away() {
            return found;
        }
        Slot::aways(slot.mark).find_map(|nth| {
            let index = neighbour(home, nth);
            let Found { at, equal } = self.first_at(index, &self.slots[index], &is_it)?;
            Some(Found { at: at.away(nth), equal })
        })
    }

    #[inline]
    fn first_at(&self, index: usize, slot: &Slot, is_it: impl Fn(Head) -> bool) -> Option<Found> {
        if !slot.is_crowded() {
            let is_there = !slot.is_vacant() && is_it(slot.head());
            return is_there.then_some(Found::first(At::new(index, NIL)));
        }
        let mut place = slot.first_cell();
        while place != NIL {
            let cell = self.cells.get(place);
            if is_it(cell.head) {
                return Some(Found::first(At::new(index, place)));
            }
            place = cell.next;
        }
        None
    }

    /// The entry that was found.
    #[inline]
    pub(super) fn entry(&self, found: Found) -> Head {
        match found.equal {
            NIL => self.head(found.at),
            place => self.equal(self.cells.get(found.at.cell()), place),
        }
    }

    /// The entry behind one in its queue.
    #[inline]
    pub(super) fn next(&self, found: Found) -> Option<Found> {
        if found.at.cell() == NIL {
            return None;
        }
        let cell = self.cells.get(found.at.cell());
        let next = match found.equal {
            NIL if cell.has_head() => cell.first,
            NIL => self.equals.next(cell.first),
            place => self.equals.next(place),
        };
        (next != NIL).then_some(Found { equal: next, ..found })
    }

    /// The first entry of a queue, from one on, of which `is_it` says so. Adds those behind that one to `examined`.
    #[inline]
    pub(super) fn first_that(
        &self,
        mut found: Found,
        is_it: impl Fn(Head) -> bool,
        examined: &mut u64,
    ) -> Option<Found> {
        while !is_it(self.entry(found)) {
            found = self.next(found)?;
            *examined += 1;
        }
        Some(found)
    }

    /// Whether a key has so many entries.
    #[inline]
    pub(super) fn has_crowd(&self, key: &Key, spot: Spot, crowd: usize) -> bool {
        let Some(at) = self.find(key, spot, &mut 0).filter(|at| at.cell() != NIL) else { return false };
        let queue = std::iter::successors(Some(Found::first(at)), |&found| self.next(found));
        queue.take(crowd).count() == crowd
    }

    /// Takes out the entry that was found, wherever it stands in its queue.
    #[inline]
    pub(super) fn remove(&mut self, found: Found) -> Head {
        match found.equal {
            NIL => self.pop(found.at),
            place => self.remove_equal(found, place),
        }
    }

    fn remove_equal(&mut self, found: Found, place: Place) -> Head {
        let entry = self.entry(found);
        self.equals.remove(self.cells.get_mut(found.at.cell()), place);
        self.counts -= entry.kind.unit();
        entry
    }

    /// The entries of a queue that one of that number may move when it is [put among them](Self::insert_by_age).
    pub(super) fn moved_by(&self, at: At, spot: Spot, seq: u64) -> impl Iterator<Item = (u64, u64, Ref)> {
        let inline = |head: Head| (head.id, head.seq, Ref::inline(spot));
        let (head, before) = match at.cell() {
            NIL => (Some(inline(self.slots[at.slot()].head())), NIL),
            place => {
                let cell = self.cells.get(place);
                (cell.has_head().then(|| inline(cell.head)), self.equals.younger(cell, seq))
            }
        };
        head.into_iter().chain(self.equals.block_of(before))
    }

    /// Puts an entry among those of its queue, by age. What it is remembered by, and where entries are that this has moved.
    pub(super) fn insert_by_age(
        &mut self,
        at: At,
        spot: Spot,
        head: Head,
    ) -> Result<(Ref, Touched), Refused> {
        self.equals.reserve_one()?;
        self.cells.reserve_one()?;
        let owner = self.cell_of(at);
        self.counts += head.kind.unit();
        let cell = self.cells.get_mut(owner);
        let eldest = if cell.has_head() { cell.head.seq } else { self.equals.get(cell.first).seq };
        if eldest < head.seq {
            let before = self.equals.younger(cell, head.seq);
            let (place, touched) = self.equals.insert(cell, owner, before, head);
            return Ok((Ref::equal(place), touched));
        }
        let second = std::mem::replace(&mut cell.head, head);
        let mut touched = [NIL; 2];
        if second.seq != NO_SEQ {
            (_, touched) = self.equals.insert(cell, owner, cell.first, second);
        }
        Ok((Ref::inline(spot), touched))
    }
}
