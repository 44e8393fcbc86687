//! Entries by what they are remembered by: found, taken from wherever they stand in their queue, put where their age
//! says. None of this is on the way of a message that finds its receive at once.

use super::entry::{At, Cell, Head, Kind, Ref, Slot, Twin};
use super::key::{Hashing, Key, Spot};
use super::pool::{NIL, Place};
use super::table::{NEAR, Table, neighbour};
use crate::engine::Refused;

/// An entry: its queue, and where it lies unless it is the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) at: At,
    /// [`NIL`]: it is the first.
    twin: Place,
}

impl Found {
    /// The first entry of a queue.
    #[inline]
    pub(super) fn first(at: At) -> Self {
        Found { at, twin: NIL }
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
                let twin = self.twins.get(place);
                if twin.seq != seq {
                    return None;
                }
                let cell = self.cells.get(twin.owner);
                let home = self.home(hashing.spot(&cell.key));
                let at = self.chain_of(twin.owner, home);
                Some(Found { at, twin: if cell.own == place { NIL } else { place } })
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
            let Found { at, twin } = self.first_at(index, &self.slots[index], &is_it)?;
            Some(Found { at: at.away(nth), twin })
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
        let head = self.head(found.at);
        match found.twin {
            NIL => head,
            place => {
                let twin = self.twins.get(place);
                Head { id: twin.id, seq: twin.seq, ..head }
            }
        }
    }

    /// The entry behind one in its queue.
    #[inline]
    pub(super) fn next(&self, found: Found) -> Option<Found> {
        if found.at.cell() == NIL {
            return None;
        }
        let next = match found.twin {
            NIL => self.cells.get(found.at.cell()).first,
            place => self.twins.get(place).next,
        };
        (next != NIL).then_some(Found { twin: next, ..found })
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
        match found.twin {
            NIL => self.pop(found.at),
            place => self.remove_twin(found, place),
        }
    }

    fn remove_twin(&mut self, found: Found, place: Place) -> Head {
        let entry = self.entry(found);
        let Twin { owner, prev, next, .. } = *self.twins.get(place);
        let cell = self.cells.get_mut(owner);
        let prev = if cell.first == place { NIL } else { prev };
        if next == NIL {
            cell.last = prev;
        }
        match prev {
            NIL => cell.first = next,
            prev => self.twins.get_mut(prev).next = next,
        }
        if next != NIL {
            self.twins.get_mut(next).prev = prev;
        }
        self.twins.remove(place);
        self.counts -= entry.kind.unit();
        entry
    }

    /// Puts an entry among those of its queue, by age. If the first of them now is the second, what it was and what
    /// it is now called by is returned too.
    pub(super) fn insert_by_age(&mut self, at: At, head: Head) -> Result<(Ref, Option<(u64, Ref)>), Refused> {
        self.twins.reserve(2)?;
        self.cells.reserve_one()?;
        let owner = self.cell_of(at);
        self.counts += head.kind.unit();
        let Cell { head: eldest, own, last, first, .. } = *self.cells.get(owner);
        if head.seq < eldest.seq {
            // The first becomes the second; the new one lies among the twins, though it comes first.
            let twin = Twin { id: eldest.id, seq: eldest.seq, owner, prev: NIL, next: first };
            let second = if own == NIL { self.twins.insert(twin) } else { own };
            *self.twins.get_mut(second) = twin;
            match first {
                NIL => self.cells.get_mut(owner).last = second,
                first => self.twins.get_mut(first).prev = second,
            }
            let new = self.twins.insert(Twin { id: head.id, seq: head.seq, owner, prev: NIL, next: NIL });
            let cell = self.cells.get_mut(owner);
            (cell.head, cell.own, cell.first) = (head, new, second);
            return Ok((Ref::twin(new), (own == NIL).then_some((eldest.seq, Ref::twin(second)))));
        }
        let mut prev = last;
        while prev != NIL && self.twins.get(prev).seq > head.seq {
            prev = if prev == first { NIL } else { self.twins.get(prev).prev };
        }
        let next = if prev == NIL { first } else { self.twins.get(prev).next };
        let new = self.twins.insert(Twin { id: head.id, seq: head.seq, owner, prev, next });
        match prev {
            NIL => self.cells.get_mut(owner).first = new,
            prev => self.twins.get_mut(prev).next = new,
        }
        match next {
            NIL => self.cells.get_mut(owner).last = new,
            next => self.twins.get_mut(next).prev = new,
        }
        Ok((Ref::twin(new), None))
    }
}
