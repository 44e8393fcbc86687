//! Entries by what they are remembered by: found, taken from wherever they stand in their queue, put where their age
//! says. None of this is on the way of a message that finds its receive at once.

use super::entry::{At, Cell, Head, Ref, Twin};
use super::key::{Hashing, Spot};
use super::pool::{NIL, Place};
use super::table::Table;
use crate::engine::Refused;

/// An entry: its queue, and where it lies unless it is the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) at: At,
    pub(super) twin: Option<Place>,
}

impl Table {
    /// Where an entry lies, if it is there still.
    #[inline]
    pub(super) fn resolve(&self, entry: Ref, seq: u64, hashing: &Hashing) -> Option<Found> {
        match entry.place() {
            None => self.resolve_inline(entry.spot(), seq),
            Some(place) => {
                let twin = self.twins.get(place);
                if twin.seq != seq {
                    return None;
                }
                let cell = self.cells.get(twin.owner);
                let at = At { bucket: self.bucket(hashing.spot(&cell.key)), cell: twin.owner };
                Some(Found { at, twin: (cell.own != place).then_some(place) })
            }
        }
    }

    fn resolve_inline(&self, spot: Spot, seq: u64) -> Option<Found> {
        let bucket = self.bucket(spot);
        let slot = self.slot(bucket);
        if slot.is_empty() {
            return None;
        }
        if !slot.is_crowded() {
            return (slot.head().seq == seq).then_some(Found { at: At { bucket, cell: NIL }, twin: None });
        }
        let mut place = slot.first_cell();
        while place != NIL {
            let cell = self.cells.get(place);
            if cell.head.seq == seq {
                return Some(Found { at: At { bucket, cell: place }, twin: None });
            }
            place = cell.next;
        }
        None
    }

    /// The entry that was found.
    pub(super) fn entry(&self, found: Found) -> Head {
        let head = self.head(found.at);
        match found.twin {
            None => head,
            Some(place) => {
                let twin = self.twins.get(place);
                Head { id: twin.id, seq: twin.seq, ..head }
            }
        }
    }

    /// Takes out the entry that was found, wherever it stands in its queue.
    pub(super) fn remove(&mut self, found: Found) -> Head {
        let entry = self.entry(found);
        let Some(place) = found.twin else { return self.pop(found.at) };
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
