//! Calls whose key is that of the last: where several entries of it were met, a note of that queue spares the next call the hash, and the
//! look at a slot. A call for each of many equal entries is what pools of receives and streams of messages of one tag make.

use super::EQUAL;
use super::entry::{Cell, Head, Kind, Ref};
use super::key::Key;
use super::pool::{NIL, Place};
use super::table::Table;

/// What became of an entry that met the equals which the last call met.
pub(super) enum Again {
    /// It took the entry of this name.
    Took(u64),
    /// It waits.
    Queued,
    /// Nothing yet: it takes more than that.
    Elsewhere,
}

impl Table {
    /// [`meet_equal`](Table::meet_equal) in the queue that the last call met that met equals, where one block of them is all that
    /// it takes.
    #[inline(always)]
    pub(super) fn meet_again(&mut self, pair: u64, tag: u64, head: Head) -> Again {
        let cell = self.cells.get_mut(self.equal);
        if cell.key.tag != tag || cell.key.pair != pair || cell.key.high != 0 {
            return Again::Elsewhere;
        }
        if cell.head.kind == head.kind {
            if !self.equals.append_near(cell, head) {
                return Again::Elsewhere;
            }
            self.counts += head.kind.unit();
            return Again::Queued;
        }
        let Some(id) = self.equals.take_near(cell) else { return Again::Elsewhere };
        self.counts -= head.kind.other().unit();
        Again::Took(id)
    }

    /// The number of the first of several receives of a key, if they are those that the last call met which met equal entries.
    #[inline(always)]
    pub(super) fn first_again(&self, key: &Key) -> Option<u64> {
        let cell = self.noted(key).filter(|cell| cell.head.kind == Kind::Posted && !cell.is_single())?;
        Some(if cell.has_head() { cell.head.seq } else { self.equals.get(cell.first).seq })
    }

    /// Takes the [first](Self::first_again) of them. Its name.
    #[inline(always)]
    pub(super) fn take_again(&mut self) -> u64 {
        self.counts -= Kind::Posted.unit();
        self.equals.take_first(self.cells.get_mut(self.equal))
    }

    /// Appends a receive to those of its key, if they are those that the last call met which met equal entries. False, and nothing
    /// done: they are not, or it takes more than that.
    #[inline(always)]
    pub(super) fn append_again(&mut self, key: &Key, head: Head) -> bool {
        let has_room = self.noted(key).is_some_and(|cell| self.equals.has_room(cell));
        if has_room {
            self.append_to(self.equal, head);
        }
        has_room
    }

    /// The cell in whose queue the last call was that met equal entries, if it is of that key.
    #[inline(always)]
    fn noted(&self, key: &Key) -> Option<&Cell> {
        let cell = self.cells.find(self.equal)?;
        let is_it = cell.key.tag == key.tag && cell.key.pair == key.pair && cell.key.high == key.high;
        is_it.then_some(cell)
    }

    /// What [`meet_again`](Self::meet_again) queued.
    #[inline(always)]
    pub(super) fn last_equal(&self) -> Ref {
        Ref::equal(self.cells.get(self.equal).last)
    }

    /// A call met equal entries in the queue of a cell. What the [gate](super::Hybrid::gate) says from now on.
    #[inline(always)]
    pub(super) fn note_equal(&mut self, cell: Place) -> u32 {
        let before = std::mem::replace(&mut self.equal, cell);
        if before == cell { EQUAL } else { 0 }
    }

    /// The same where all leave something open. [`NIL`]: it met but one entry.
    #[inline(always)]
    pub(super) fn note_open(&mut self, cell: Place) {
        self.is_again = self.equal == cell && cell != NIL;
        self.equal = cell;
    }
}
