//! The records that a [lookup](super::lookup) is made of, in chunks. A message's number takes half of its eight bytes: as
//! far as it is from that of its chunk's first.

use super::pool::{NIL, Place};
use crate::engine::Refused;

/// Records in a chunk, 1.5 KiB: made one chunk after the other, an index that is a little longer than any before would
/// allocate as often if they were small.
const CHUNK: usize = 128;

/// How far the number of a message may be from that of its chunk's first, to either side: two billion messages, that are
/// numbered in twos.
const FAR: u64 = if cfg!(test) { 1 << 13 } else { FARTHEST };
const FARTHEST: u64 = 1 << 32;

/// Vacant places that are tried, one after the other, for a message that is too far from those around them: who queues one
/// message does not wait until a million are tried.
const TRIED: usize = 4;

/// Bit of a link that leads to an equal.
const EQUAL: u32 = 1 << 31;

/// What comes next under a head: nothing, the first of another queue, or one more of the same queue. Of these only the way
/// from the first to the second says that it is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Link(u32);

/// Nothing comes next.
pub(super) const END: Link = Link(NIL & !EQUAL);

impl Link {
    #[inline]
    pub(super) fn to(place: Place) -> Self {
        Link(place)
    }

    /// From the first of a queue to the second.
    #[inline]
    pub(super) fn to_equal(place: Place) -> Self {
        Link(place | EQUAL)
    }

    /// The same from a place behind the first.
    #[inline]
    pub(super) fn behind(link: Link) -> Self {
        Link(link.0 & !EQUAL)
    }

    #[inline]
    pub(super) fn place(self) -> Option<Place> {
        let place = Link::behind(self);
        if place != END { Some(place.0) } else { None }
    }

    /// The second of a queue, from the first.
    #[inline]
    pub(super) fn equal(self) -> Option<Place> {
        if self.0 & EQUAL != 0 { Some(self.0 & !EQUAL) } else { None }
    }
}

/// A message.
#[derive(Clone, Copy)]
pub(super) struct Record {
    /// Messages between the earliest that its chunk could have and this one.
    age: u32,
    /// Of the first of a queue its hash, of the second the place of the last.
    pub(super) other: u32,
    pub(super) next: Link,
}

#[derive(Clone)]
struct Chunk {
    /// The number of the earliest that it could have.
    base: u64,
    records: [Record; CHUNK],
}

/// In one piece: the standard library makes a box of more than one thing without aborting where memory is short.
type Piece = Box<[Chunk; 1]>;

impl Chunk {
    fn piece() -> Result<Piece, Refused> {
        let mut chunks = Vec::new();
        chunks.try_reserve_exact(1).map_err(|_| Refused::Memory)?;
        chunks.push(Chunk { base: 0, records: [Record { age: 0, other: 0, next: END }; CHUNK] });
        chunks.into_boxed_slice().try_into().map_err(|_| Refused::Memory)
    }

    /// How a message of that number would be kept here, if it is near enough.
    #[inline]
    fn age(&self, seq: u64) -> Option<u32> {
        self.age_within(FAR, seq)
    }

    #[inline(always)]
    fn age_within(&self, most: u64, seq: u64) -> Option<u32> {
        let far = seq.wrapping_sub(self.base);
        if far < 2 * most { Some((far / 2) as u32) } else { None }
    }
}

/// See the [module's documentation](self).
pub(super) struct Records {
    chunks: Vec<Piece>,
    vacant: Link,
    /// Places from here on were never used since all were vacant.
    fresh: Place,
    len: u32,
    /// Places that nobody can use until all are vacant: those around them are of messages that are too far.
    lost: u32,
}

impl Default for Records {
    fn default() -> Self {
        Records { chunks: Vec::new(), vacant: END, fresh: 0, len: 0, lost: 0 }
    }
}

impl Records {
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Places that are taken, by records or for nothing.
    #[inline]
    pub(super) fn places(&self) -> usize {
        (self.len + self.lost) as usize
    }

    /// Forgets all records.
    pub(super) fn clear(&mut self) {
        (self.vacant, self.fresh, self.len, self.lost) = (END, 0, 0, 0);
    }

    #[inline]
    fn chunk(&self, place: Place) -> &Chunk {
        &self.chunks[place as usize / CHUNK][0]
    }

    #[inline]
    pub(super) fn get(&self, place: Place) -> &Record {
        &self.chunk(place).records[place as usize % CHUNK]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, place: Place) -> &mut Record {
        &mut self.chunks[place as usize / CHUNK][0].records[place as usize % CHUNK]
    }

    /// The number of the message there.
    #[inline]
    pub(super) fn seq(&self, place: Place) -> u64 {
        let chunk = self.chunk(place);
        chunk.base.wrapping_add(2 * u64::from(chunk.records[place as usize % CHUNK].age))
    }

    /// The last of a queue whose first is that.
    #[inline]
    pub(super) fn last(&self, first: Place) -> Place {
        match self.get(first).next.equal() {
            None => first,
            Some(second) => self.get(second).other,
        }
    }

    /// The first message of a hash, from a link on, and the record before it. Adds the hashes looked at to `examined`.
    #[inline(always)]
    pub(super) fn find(
        &self,
        mut next: Link,
        hash: u32,
        examined: &mut u64,
    ) -> Option<(Option<Place>, Place)> {
        let mut before = None;
        while let Some(first) = next.place() {
            *examined += 1;
            if self.get(first).other == hash {
                return Some((before, first));
            }
            let last = self.last(first);
            (before, next) = (Some(last), self.get(last).next);
        }
        None
    }

    /// Keeps a message of that number.
    #[inline(always)]
    pub(super) fn insert(&mut self, seq: u64, next: Link, other: u32) -> Result<Place, Refused> {
        if self.vacant == END {
            if let Some(place) = self.insert_fresh(seq, next, other) {
                return Ok(place);
            }
        }
        self.insert_elsewhere(seq, next, other)
    }

    /// The same in a place that was never used, if there is one and it is not among messages that are too far.
    #[inline(always)]
    fn insert_fresh(&mut self, seq: u64, next: Link, other: u32) -> Option<Place> {
        let (place, number) = (self.fresh, self.fresh as usize / CHUNK);
        let piece = self.chunks.get_mut(number)?;
        let (chunk, at) = (&mut piece[0], place as usize % CHUNK);
        if at == 0 {
            chunk.base = seq.wrapping_sub(FAR);
        }
        let age = chunk.age(seq)?;
        chunk.records[at] = Record { age, other, next };
        self.fresh += 1;
        self.len += 1;
        Some(place)
    }

    /// The same where it takes a place that was used before, or another chunk. A place among messages that are too far is
    /// lost until all are vacant.
    #[inline(never)]
    fn insert_elsewhere(&mut self, seq: u64, next: Link, other: u32) -> Result<Place, Refused> {
        for _ in 0..TRIED {
            let Some(place) = self.vacant.place() else { break };
            self.vacant = self.get(place).next;
            if let Some(age) = self.chunk(place).age(seq) {
                *self.get_mut(place) = Record { age, other, next };
                self.len += 1;
                return Ok(place);
            }
            self.lost += 1;
        }
        let has_begun = self.fresh as usize % CHUNK != 0;
        if has_begun && self.chunk(self.fresh).age(seq).is_none() {
            let begun = self.fresh;
            self.fresh = begun.next_multiple_of(CHUNK as Place);
            self.lost += self.fresh - begun;
        }
        if self.fresh as usize / CHUNK == self.chunks.len() {
            self.grow()?;
        }
        self.insert_fresh(seq, next, other).ok_or(Refused::Full)
    }

    #[cold]
    fn grow(&mut self) -> Result<(), Refused> {
        if (self.chunks.len() + 1) * CHUNK > END.0 as usize {
            return Err(Refused::Full);
        }
        self.chunks.try_reserve(1).map_err(|_| Refused::Memory)?;
        self.chunks.push(Chunk::piece()?);
        Ok(())
    }

    /// Gives a place back.
    #[inline(always)]
    pub(super) fn remove(&mut self, place: Place) {
        let vacant = self.vacant;
        self.get_mut(place).next = vacant;
        self.vacant = Link::to(place);
        self.len -= 1;
        if self.len == 0 {
            self.clear();
        }
    }

    /// Gives a chunk back, of records that nobody uses any more. False: there is none.
    pub(super) fn give_back(&mut self) -> bool {
        self.chunks.pop().is_some()
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        (self.chunks.len() * size_of::<Chunk>() + self.chunks.capacity() * size_of::<Piece>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As far as the numbers of a chunk may be from one another where this is no test: 2^33, to the last bit.
    #[test]
    fn numbers_are_kept_as_far_from_one_another_as_32_bits_allow() {
        let mut records = Records::default();
        let place = records.insert(1 << 40, END, 0).unwrap();
        for base in [0, 3, (1 << 33) - 1, 1 << 40] {
            records.chunks[0][0].base = base;
            for far in [0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1] {
                let age = records.chunks[0][0].age_within(FARTHEST, base + 2 * far);
                records.get_mut(place).age = age.unwrap();
                assert_eq!(records.seq(place), base + 2 * far);
                let chunk = &records.chunks[0][0];
                assert_eq!(chunk.age_within(FARTHEST, base + 2 * ((1 << 32) + far)), None, "{base}, {far}");
                let before = base.wrapping_sub(2 + 2 * far);
                assert_eq!(chunk.age_within(FARTHEST, before), None, "{base}, {far} before");
            }
        }
    }

    /// Places among messages of long ago are given up a few at a time, and counted, so that what has many of them is made anew.
    #[test]
    fn places_among_old_messages_are_given_up_a_few_at_a_time() {
        let mut records = Records::default();
        let places: Vec<Place> = (0..1000).map(|at| records.insert(2 * at, END, 0).unwrap()).collect();
        places[1..].iter().for_each(|&place| records.remove(place));
        assert_eq!((records.len(), records.places()), (1, 1));
        for nth in 1..=50 {
            let seq = 100 * FAR + 2 * nth as u64;
            let place = records.insert(seq, END, 0).unwrap();
            assert_eq!(records.seq(place), seq);
            let begun = 1000_usize.next_multiple_of(CHUNK) - 1000;
            assert_eq!((records.len(), records.places()), (1 + nth, 1 + nth + begun + nth * TRIED));
        }
        assert_eq!(records.seq(places[0]), 0);
        (1..=50).for_each(|nth| records.remove(1000_u32.next_multiple_of(CHUNK as u32) + nth - 1));
        records.remove(places[0]);
        assert_eq!((records.len(), records.places()), (0, 0), "none is lost any more");
    }
}
