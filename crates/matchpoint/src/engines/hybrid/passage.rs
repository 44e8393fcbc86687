//! A table gone through in the order of memory: its slots, then its cells, then its equals. From slot to cells to equals, as
//! queues go, each step would be a cache miss.

use super::entry::{Cell, Head, Kind, NO_SEQ, Ref};
use super::equals::{Equal, STEP};
use super::key::{Hashing, Key};
use super::table::Table;
use crate::engine::Refused;

/// What a table is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Slots,
    Cells,
    Equals,
}

/// How far a table was gone through. While it is among the keys, in slots and cells, these must stay where they are: growth
/// would take some of them past it. An entry that becomes the first of its queue, or the second, stays before it or behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reached {
    part: Part,
    at: usize,
}

impl Reached {
    pub(super) const NOTHING: Reached = Reached { part: Part::Slots, at: 0 };

    pub(super) fn is_among_keys(self) -> bool {
        self.part != Part::Equals
    }
}

impl Table {
    fn places(&self, part: Part) -> usize {
        match part {
            Part::Slots => self.slots.len(),
            Part::Cells => self.cells.places(),
            Part::Equals => self.equals.places(),
        }
    }

    /// Places to go through, all together.
    pub(super) fn all_places(&self) -> usize {
        [Part::Slots, Part::Cells, Part::Equals].into_iter().map(|part| self.places(part)).sum()
    }

    /// Calls `each` with the entries of a kind at some places from one on. How far that came, nothing at the end; and how
    /// many places it was.
    pub(super) fn pass(
        &self,
        from: Reached,
        mut most: usize,
        kind: Kind,
        hashing: &Hashing,
        mut each: impl FnMut(Head, Ref) -> Result<(), Refused>,
    ) -> Result<(Option<Reached>, usize), Refused> {
        let Reached { part, at } = from;
        match part {
            Part::Slots => {
                let mut slots = self.slots.since(at).take(most).filter(|slot| slot.holds_plainly(kind));
                slots.try_for_each(|slot| {
                    each(slot.head(), Ref::inline(hashing.narrow(slot.pair, slot.tag)))
                })?;
            }
            Part::Cells => {
                let cells = self.cells.since(at).take(most).map(|(_, cell)| cell);
                let is_it = |head: Head| head.kind == kind && head.seq != NO_SEQ;
                let mut cells = cells.filter(|cell| is_it(cell.head));
                cells.try_for_each(|cell| each(cell.head, Ref::inline(hashing.spot(&cell.key))))?;
            }
            Part::Equals => {
                // Whole blocks.
                let blocks = most.div_ceil(STEP as usize);
                most = blocks * STEP as usize;
                let equals = self.equals.since(at, blocks);
                let mut equals = equals.filter(|&(_, owner, _)| self.cells.get(owner).head.kind == kind);
                equals.try_for_each(|(place, _, Equal { id, seq })| {
                    each(Head { id, seq, kind }, Ref::equal(place))
                })?;
            }
        }
        let passed = most.min(self.places(part).saturating_sub(at));
        if passed == most {
            return Ok((Some(Reached { part, at: at + most }), passed));
        }
        let next = match part {
            Part::Slots => Some(Part::Cells),
            Part::Cells => Some(Part::Equals),
            Part::Equals => None,
        };
        Ok((next.map(|part| Reached { part, at: 0 }), passed))
    }

    /// Calls `each` with the key and the number of each entry of a kind.
    #[inline(always)]
    pub(super) fn each_of(&self, kind: Kind, mut each: impl FnMut(&Key, u64)) {
        self.slots.for_each_that(|slot| slot.holds_plainly(kind), |slot| each(&slot.key(), slot.head().seq));
        let is_it = |cell: &Cell| cell.head.kind == kind && cell.head.seq != NO_SEQ;
        let cells = self.cells.since(0).map(|(_, cell)| cell);
        cells.filter(|&cell| is_it(cell)).for_each(|cell| each(&cell.key, cell.head.seq));
        for (_, owner, equal) in self.equals.since(0, usize::MAX) {
            let cell = self.cells.get(owner);
            if cell.head.kind == kind {
                each(&cell.key, equal.seq);
            }
        }
    }

    /// The entry of that name here among those that a passage has not come to.
    pub(super) fn called(
        &self,
        id: u64,
        kind: Kind,
        from: Reached,
        hashing: &Hashing,
    ) -> Option<(Head, Ref)> {
        let Reached { part, at } = from;
        if part == Part::Slots {
            if let Some(slot) = self.slots.find_from(at, |slot| slot.id == id && slot.holds_plainly(kind)) {
                return Some((slot.head(), Ref::inline(hashing.narrow(slot.pair, slot.tag))));
            }
        }
        if part != Part::Equals {
            let is_it = |head: &Head| head.id == id && head.kind == kind && head.seq != NO_SEQ;
            let from = if part == Part::Cells { at } else { 0 };
            let cell = self.cells.since(from).map(|(_, cell)| cell).find(|cell| is_it(&cell.head));
            if let Some(cell) = cell {
                return Some((cell.head, Ref::inline(hashing.spot(&cell.key))));
            }
        }
        let from = if part == Part::Equals { at } else { 0 };
        let called = self.equals.since(from, usize::MAX).filter(|(.., equal)| equal.id == id);
        let mut found = called.map(|(place, owner, equal)| {
            let head = self.cells.get(owner).head;
            (Head { id, seq: equal.seq, ..head }, Ref::equal(place))
        });
        found.find(|(head, _)| head.kind == kind)
    }

    /// The entry that is remembered by that, if `is_it` says so of it. It may be another by now.
    pub(super) fn remembered(&self, entry: Ref, is_it: impl Fn(Head) -> bool) -> Option<Head> {
        let Some(place) = entry.place() else {
            let found = self.first_near(entry.spot(), |head| head.seq != NO_SEQ && is_it(head))?;
            return Some(self.entry(found));
        };
        let (owner, Equal { id, seq }) = self.equals.find(place)?;
        let head = Head { id, seq, ..self.cells.get(owner).head };
        is_it(head).then_some(head)
    }
}
