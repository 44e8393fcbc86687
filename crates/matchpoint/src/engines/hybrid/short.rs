//! Short queues, as lists: up to 32 entries of a kind in the order they came, compared one after the other. Most programs
//! have no longer ones, and such a search is over before a hash function, a class and an index have been.
//!
//! ```text
//! entries  [ r1 ][ † ][ r3 ][ r4 ][   ] …
//! alive      1     0    1     1     0         the lowest bit is the oldest entry
//! ```
//!
//! Taking an entry clears its bit and moves nothing. The next goes behind the youngest; only when the last place is taken
//! gaps are closed, and only where half of the places are gaps, so that each entry is moved once.

use crate::engine::{Message, MsgId, Receive, RecvId};
use crate::envelope::{ContextId, Envelope, Rank, Selector, Tag, TagMask, Wild};

/// Entries of a kind that there can be: bits of a word.
pub(super) const PLACES: usize = 32;

/// A receive. The fields are in another order than the caller's, so that none of them are copied as one word of 16 bytes
/// that the caller has just written as two: the processor would wait for that.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Posted {
    tag: u64,
    context: u32,
    any_source: bool,
    source: u64,
    pub(super) id: u64,
    /// Bits of the tag that count.
    counts: u64,
}

/// A message.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Waiting {
    source: u64,
    context: u32,
    tag: u64,
    pub(super) id: u64,
}

impl Posted {
    #[inline(always)]
    pub(super) fn of(receive: &Receive) -> Self {
        let (asked, any_source, ignore) = receive.selector.parts();
        let Envelope { context, source, tag } = asked;
        let (context, source, tag) = (context.0, source.0, tag.0);
        Posted { tag, context, any_source, source, id: receive.id.0, counts: !ignore }
    }

    /// The rule.
    #[inline(always)]
    pub(super) fn matches(&self, envelope: &Envelope) -> bool {
        (self.tag ^ envelope.tag.0) & self.counts == 0
            && (self.source == envelope.source.0 || self.any_source)
            && self.context == envelope.context.0
    }

    pub(super) fn receive(&self) -> Receive {
        let source = if self.any_source { Wild::Any } else { Wild::Is(Rank(self.source)) };
        let tag = Wild::Masked(TagMask { value: Tag(self.tag), ignore: !self.counts });
        Receive::new(RecvId(self.id), Selector::new(ContextId(self.context), source, tag))
    }
}

impl Waiting {
    #[inline(always)]
    pub(super) fn of(message: &Message) -> Self {
        let Envelope { context, source, tag } = message.envelope;
        Waiting { source: source.0, context: context.0, tag: tag.0, id: message.id.0 }
    }

    #[inline]
    pub(super) fn envelope(&self) -> Envelope {
        Envelope::new(ContextId(self.context), Rank(self.source), Tag(self.tag))
    }

    pub(super) fn message(&self) -> Message {
        Message::new(MsgId(self.id), self.envelope())
    }

    pub(super) fn set_source(&mut self, source: Rank) {
        self.source = source.0;
    }
}

/// See the [module's documentation](self).
pub(super) struct Short<T> {
    alive: u32,
    /// The entry at place 0: with no more than that nothing is allocated, and nothing is looked up.
    first: T,
    rest: Option<Box<[T; PLACES]>>,
}

impl<T: Default> Default for Short<T> {
    fn default() -> Self {
        Short { alive: 0, first: T::default(), rest: None }
    }
}

/// The places whose bits are set, the oldest first.
fn places(mut alive: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (alive != 0).then_some(alive.trailing_zeros() as usize)?;
        alive &= alive - 1;
        Some(place)
    })
}

impl<T: Copy + Default> Short<T> {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.alive == 0
    }

    /// The place of an entry where there is none, to be written.
    #[inline(always)]
    pub(super) fn begin(&mut self) -> &mut T {
        self.alive = 1;
        &mut self.first
    }

    /// The only entry, if that is at place 0.
    #[inline(always)]
    pub(super) fn only(&self) -> Option<&T> {
        (self.alive == 1).then_some(&self.first)
    }

    pub(super) fn len(&self) -> usize {
        self.alive.count_ones() as usize
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        self.rest.as_ref().map_or(0, |rest| size_of_val(&**rest) as u64)
    }

    pub(super) fn get(&self, place: usize) -> &T {
        match &self.rest {
            Some(rest) if place > 0 => &rest[place],
            _ => &self.first,
        }
    }

    pub(super) fn get_mut(&mut self, place: usize) -> &mut T {
        match &mut self.rest {
            Some(rest) if place > 0 => &mut rest[place],
            _ => &mut self.first,
        }
    }

    /// Those alive, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        places(self.alive).map(|place| (place, self.get(place)))
    }

    /// The place of the oldest of which `is_it` says so. Adds those looked at to `examined`.
    #[inline(always)]
    pub(super) fn oldest(&self, is_it: impl Fn(&T) -> bool, examined: &mut u64) -> Option<(usize, &T)> {
        let mut left = self.alive;
        if left & 1 != 0 {
            *examined += 1;
            if is_it(&self.first) {
                return Some((0, &self.first));
            }
            left -= 1;
        }
        let rest = self.rest.as_deref()?;
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            *examined += 1;
            if is_it(&rest[place]) {
                return Some((place, &rest[place]));
            }
            left &= left - 1;
        }
        None
    }

    /// The entry at a place is no longer queued.
    #[inline]
    pub(super) fn remove(&mut self, place: usize) {
        self.alive &= !(1 << place);
    }

    /// The same, and one that is left alone goes to place 0, where [`only`](Self::only) looks for it: whoever always has one or two
    /// would else come to the last place with every third, and have the gaps closed.
    #[inline]
    pub(super) fn take(&mut self, place: usize) {
        self.remove(place);
        if self.alive.is_power_of_two() && self.alive != 1 {
            self.first = *self.get(self.alive.trailing_zeros() as usize);
            self.alive = 1;
        }
    }

    pub(super) fn clear(&mut self) {
        self.alive = 0;
    }

    /// The places of those alive now, the oldest first: none of them moves while others are removed.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> + use<T> {
        places(self.alive)
    }

    /// A place behind all others for one more entry, of which there may be `most`; what lies there is to be written. None if there are as
    /// many, or no memory for more than one.
    // The entry is no argument: it would be put together elsewhere, and copied in words that were just written in parts.
    #[inline(always)]
    pub(super) fn push(&mut self, most: u32) -> Option<&mut T> {
        let place = u32::BITS - self.alive.leading_zeros();
        if place == 0 && most > 0 {
            self.alive = 1;
            return Some(&mut self.first);
        }
        let place = if place < most && self.rest.is_some() { place } else { self.make_place(most)? };
        self.alive |= 1 << place;
        match &mut self.rest {
            Some(rest) if place > 0 => Some(&mut rest[place as usize % PLACES]),
            _ => Some(&mut self.first),
        }
    }

    /// Whether there is memory for all places now.
    pub(super) fn reserve(&mut self) -> bool {
        if self.rest.is_none() {
            let mut rest = Vec::new();
            if rest.try_reserve_exact(PLACES).is_ok() {
                rest.resize(PLACES, T::default());
                self.rest = rest.into_boxed_slice().try_into().ok();
            }
        }
        self.rest.is_some()
    }

    #[cold]
    #[inline(never)]
    fn make_place(&mut self, most: u32) -> Option<u32> {
        let (place, len) = (u32::BITS - self.alive.leading_zeros(), self.alive.count_ones());
        if place >= most && 2 * len > most || most == 0 || !self.reserve() {
            return None;
        }
        if place < most {
            return Some(place);
        }
        for (to, from) in places(self.alive).enumerate() {
            *self.get_mut(to) = *self.get(from);
        }
        self.alive = (1 << len) - 1;
        Some(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(short: &mut Short<u64>, entry: u64, most: u32) -> bool {
        short.push(most).map(|place| *place = entry).is_some()
    }

    fn alive(short: &Short<u64>) -> Vec<u64> {
        short.iter().map(|(_, &entry)| entry).collect()
    }

    #[test]
    fn entries_stay_in_order_and_gaps_are_closed() {
        let mut short = Short::<u64>::default();
        for entry in 0..8 {
            assert!(push(&mut short, entry, 8));
        }
        assert!(!push(&mut short, 8, 8));
        for gone in [0, 2, 3, 6] {
            let (place, _) = short.oldest(|&entry| entry == gone, &mut 0).unwrap();
            short.remove(place);
        }
        assert!(push(&mut short, 8, 8), "half of the places are gaps");
        assert_eq!(alive(&short), [1, 4, 5, 7, 8]);
        for entry in 9..12 {
            assert!(push(&mut short, entry, 8));
        }
        assert!(!push(&mut short, 12, 8));
        assert_eq!(alive(&short), [1, 4, 5, 7, 8, 9, 10, 11]);
        let mut examined = 0;
        assert_eq!(short.oldest(|&entry| entry > 6, &mut examined), Some((3, &7)));
        assert_eq!((examined, short.len()), (4, 8));
        short.clear();
        assert!(!push(&mut short, 1, 0));
        assert!(push(&mut short, 1, 1) && !push(&mut short, 2, 1));
    }

    /// Who always has one or two never has gaps closed.
    #[test]
    fn one_that_is_left_alone_is_at_the_first_place() {
        let mut short = Short::<u64>::default();
        assert!(push(&mut short, 0, 8));
        for entry in 1..20 {
            assert!(push(&mut short, entry, 8));
            short.take(0);
            assert_eq!((short.only(), alive(&short)), (Some(&entry), vec![entry]));
        }
        (20..22).for_each(|entry| assert!(push(&mut short, entry, 8)));
        short.take(0);
        assert_eq!((short.only(), alive(&short)), (None, vec![20, 21]));
    }

    #[test]
    fn all_places_can_be_taken() {
        let mut short = Short::<u64>::default();
        (0..PLACES as u64).for_each(|entry| assert!(push(&mut short, entry, PLACES as u32)));
        assert!(!push(&mut short, 99, PLACES as u32));
        assert_eq!(alive(&short), (0..PLACES as u64).collect::<Vec<_>>());
        (0..PLACES).step_by(2).for_each(|place| short.remove(place));
        (0..16).for_each(|entry| assert!(push(&mut short, 100 + entry, PLACES as u32)));
        assert_eq!(short.len(), PLACES);
        assert!(!push(&mut short, 99, PLACES as u32));
    }
}
