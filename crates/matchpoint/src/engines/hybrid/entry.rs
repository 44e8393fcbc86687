//! The records that a table is made of.

use std::num::NonZeroU64;

use super::key::{Key, Spot};
use super::pool::{NIL, Place, Record};

/// Which queue an entry belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A receive.
    Posted = 1,
    /// A message.
    Waiting = 2,
}

impl Kind {
    /// The place of its count among [two](super::table::Table::counts).
    #[inline]
    pub(super) fn shift(self) -> u32 {
        if self == Kind::Posted { 0 } else { 32 }
    }

    /// The kind that it takes.
    #[inline]
    pub(super) fn other(self) -> Self {
        if self == Kind::Posted { Kind::Waiting } else { Kind::Posted }
    }

    /// One of them.
    #[inline]
    pub(super) fn unit(self) -> u64 {
        1 << self.shift()
    }
}

/// An entry: its kind, its number among all that were queued, and the caller's name for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) kind: Kind,
    pub(super) seq: u64,
    pub(super) id: u64,
}

/// One bucket. The fields are in another order than a message's: in the same order the compiler compares two of them
/// as one 16-byte word, which the processor cannot forward from the two stores that the caller has just made.
///
/// A key that finds another in its own bucket goes to a [neighbour](super::table::neighbour) of that, if it is empty.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C, align(32))]
pub(super) struct Slot {
    pub(super) tag: u64,
    pub(super) pair: u64,
    pub(super) id: u64,
    /// The lower two bits say what lies here: nothing, a receive, a message (then the number of the entry above), or
    /// more than that (then the place of the first cell); the next three that a key which belongs here lies with the
    /// first neighbour, the second, the third. At a billion entries per second the number lasts for 18 years.
    pub(super) mark: u64,
}

const CROWDED: u64 = 3;
const KIND: u32 = 2;
const AWAY: u64 = 7 << KIND;
const FLAGS: u32 = 5;

impl Slot {
    /// The mark of a slot with one entry.
    #[inline]
    pub(super) fn mark(kind: Kind, seq: u64) -> u64 {
        seq << FLAGS | kind as u64
    }

    #[inline]
    pub(super) fn plain(key: &Key, head: Head) -> Self {
        Slot { tag: key.tag, pair: key.pair, id: head.id, mark: Slot::mark(head.kind, head.seq) }
    }

    /// Nothing lies here, nor with a neighbour for want of place here.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.mark == 0
    }

    /// Nothing lies here.
    #[inline]
    pub(super) fn is_vacant(&self) -> bool {
        self.mark & 3 == 0
    }

    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.mark & 3 == CROWDED
    }

    /// Whether keys that belong here lie with any neighbour.
    #[inline]
    pub(super) fn has_away(&self) -> bool {
        self.mark & AWAY != 0
    }

    /// The neighbours that keys lie with which belong here.
    #[inline]
    pub(super) fn aways(mark: u64) -> impl Iterator<Item = usize> {
        let mut left = mark & AWAY;
        std::iter::from_fn(move || {
            let nth = (left != 0).then(|| left.trailing_zeros() - KIND)?;
            left &= left - 1;
            Some(nth as usize)
        })
    }

    /// The bit that says so.
    #[inline]
    pub(super) fn away(nth: usize) -> u64 {
        1 << nth << KIND
    }

    #[inline]
    pub(super) fn set_away(&mut self, nth: usize, is_away: bool) {
        self.mark = if is_away { self.mark | Slot::away(nth) } else { self.mark & !Slot::away(nth) };
    }

    /// One entry of that kind lies here.
    #[inline]
    pub(super) fn holds_plainly(&self, kind: Kind) -> bool {
        self.mark & 3 == kind as u64
    }

    /// That entry, and nothing else, lies here.
    #[inline]
    pub(super) fn is_entry(&self, kind: Kind, seq: u64) -> bool {
        self.mark & !AWAY == Slot::mark(kind, seq)
    }

    /// Puts something else here. What lies with neighbours stays there.
    #[inline]
    pub(super) fn replace(&mut self, other: Slot) {
        *self = Slot { mark: other.mark | self.mark & AWAY, ..other };
    }

    /// Takes out what lies here.
    #[inline]
    pub(super) fn vacate(&mut self) {
        self.mark &= AWAY;
    }

    /// Keys in cells, from that one on.
    #[inline]
    pub(super) fn crowded(first: Place) -> Self {
        Slot { tag: 0, pair: 0, id: 0, mark: u64::from(first) << FLAGS | CROWDED }
    }

    #[inline]
    pub(super) fn first_cell(&self) -> Place {
        (self.mark >> FLAGS) as Place
    }

    /// The key of a plain one.
    #[inline]
    pub(super) fn key(&self) -> Key {
        Key { pair: self.pair, tag: self.tag, high: 0 }
    }

    /// The entry of a plain one.
    #[inline]
    pub(super) fn head(&self) -> Head {
        let kind = if self.mark & 3 == Kind::Posted as u64 { Kind::Posted } else { Kind::Waiting };
        Head { kind, seq: self.mark >> FLAGS, id: self.id }
    }
}

/// The number of no entry.
pub(super) const NO_SEQ: u64 = u64::MAX;

/// A key that does not lie plainly in its slot, with its first entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) key: Key,
    /// The first entry; without a number it was taken, and that at `first` is the first. Its kind is that of all.
    pub(super) head: Head,
    /// The next key of the bucket.
    pub(super) next: Place,
    /// The first of its [equals](super::equals).
    pub(super) first: Place,
    /// The last of them, if there are some.
    pub(super) last: Place,
}

impl Cell {
    #[inline]
    pub(super) fn new(key: Key, head: Head) -> Self {
        Cell { key, head, next: NIL, first: NIL, last: NIL }
    }

    /// Whether the first entry lies here.
    #[inline]
    pub(super) fn has_head(&self) -> bool {
        self.head.seq != NO_SEQ
    }

    /// Whether there is but one entry.
    #[inline]
    pub(super) fn is_single(&self) -> bool {
        if self.has_head() { self.first == NIL } else { self.first == self.last }
    }

    /// Whether a slot could hold all of it.
    pub(super) fn is_plain(&self) -> bool {
        self.key.high == 0 && self.first == NIL
    }
}

impl Record for Cell {
    #[inline]
    fn vacant(next: Place) -> Self {
        let head = Head { kind: Kind::Posted, seq: NO_SEQ, id: 0 };
        // No key: who remembers the cell does not take it for that of one.
        Cell { next, ..Cell::new(Key { pair: 0, tag: 0, high: u32::MAX }, head) }
    }

    #[inline]
    fn next_vacant(&self) -> Place {
        self.next
    }
}

/// Where the queue of a key is: in a slot, or in a cell of it. In one word, and with what finds an entry of it in two,
/// "none" included: more than a function can return in registers comes back through memory, where it is written in small
/// parts and read in large ones, which takes longer than the search (12 ns of 60 in `unexpected_any`).
///
/// From the lowest bit on: 1, which neighbour of the slot where it belongs that is (two bits), the slot, the cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct At(NonZeroU64);

impl At {
    /// A slot, and a cell of it or [`NIL`].
    #[inline]
    pub(super) fn new(slot: usize, cell: Place) -> Self {
        At(NonZeroU64::MIN | u64::from(cell) << 32 | (slot as u64) << 3)
    }

    #[inline]
    pub(super) fn slot(self) -> usize {
        (self.0.get() as u32 >> 3) as usize
    }

    /// [`NIL`]: in the slot.
    #[inline]
    pub(super) fn cell(self) -> Place {
        (self.0.get() >> 32) as Place
    }

    /// Which neighbour of the slot where it belongs that is, if it is one.
    #[inline]
    pub(super) fn neighbour(self) -> Option<usize> {
        ((self.0.get() >> 1) as usize & 3).checked_sub(1)
    }

    /// The same with the nth neighbour.
    #[inline]
    pub(super) fn away(self, nth: usize) -> Self {
        At(self.0 | (nth as u64 + 1) << 1)
    }
}

/// What an entry is remembered by, beside its number: it finds the entry wherever growth moves it. An entry that came
/// first is sought in its bucket, by its number; one that came later is an [equal](super::equals), and stays in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ref(pub(super) u64);

const OF_EQUAL: u64 = 1 << 32;

impl Ref {
    /// Not known: to be had from the key.
    pub(super) const UNPLACED: Ref = Ref(u64::MAX);

    #[inline]
    pub(super) fn inline(spot: Spot) -> Self {
        Ref(u64::from(spot.0))
    }

    #[inline]
    pub(super) fn equal(place: Place) -> Self {
        Ref(OF_EQUAL | u64::from(place))
    }

    /// The place of the equal.
    #[inline]
    pub(super) fn place(self) -> Option<Place> {
        (self.0 & OF_EQUAL != 0).then_some(self.0 as Place)
    }

    /// The bucket, of one that has no equal.
    #[inline]
    pub(super) fn spot(self) -> Spot {
        Spot(self.0 as u32)
    }
}
