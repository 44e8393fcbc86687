//! The matcher that decides what matches what, so that the simulation knows who may go on.
//!
//! Hash bins with order, as the engine `bins` has them, and nothing that the simulation does not need. What is queued
//! are the simulation's own records of receives and messages, linked to each other where they lie: an engine would
//! keep a copy of each, 64 bytes, and its calls through a table took longer than what they did.
//!
//! A receive that leaves nothing open lies in a bin, any other in a list of their own; a message lies in a bin and in a
//! list of all arrivals. Bins are few at first, since every process has a matcher, and more where queues grow: the
//! simulation must stay fast where the engines that it measures do not.

use crate::label::Label;
use crate::process::PostedReceive;
use crate::simulation::Flight;
use crate::slab::Slab;

/// No entry.
pub(crate) const NIL: u32 = u32::MAX;

/// Bins at first, as a power of two.
const FIRST_BITS: u32 = 4;

/// Bins at most.
const LAST_BITS: u32 = 24;

/// Entries per bin that are put up with, and by which power of two the bins become more then: so that they take no
/// more than eight bytes for each entry.
const CROWD: usize = 4;
const GROWTH_BITS: u32 = 2;

/// What lies in a bin or a list: it knows the next.
pub(crate) trait Linked {
    fn label(&self) -> Label;
    fn next(&self) -> u32;
    fn set_next(&mut self, next: u32);
}

/// Some entries of a table, in their order.
#[derive(Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
}

impl Default for Chain {
    fn default() -> Self {
        Chain { first: NIL, last: NIL }
    }
}

impl Chain {
    #[inline]
    fn push<T: Linked>(&mut self, table: &mut Slab<T>, place: u32) {
        table[place].set_next(NIL);
        if self.last == NIL {
            self.first = place;
        } else {
            table[self.last].set_next(place);
        }
        self.last = place;
    }

    /// The first entry that is accepted, and the one before it.
    #[inline]
    fn find<T: Linked>(&self, table: &Slab<T>, accepted: impl Fn(u32, &T) -> bool) -> Option<(u32, u32)> {
        let (mut before, mut at) = (NIL, self.first);
        while at != NIL {
            let entry = &table[at];
            if accepted(at, entry) {
                return Some((before, at));
            }
            (before, at) = (at, entry.next());
        }
        None
    }

    /// Takes out an entry, given the one before it.
    #[inline]
    fn unlink<T: Linked>(&mut self, table: &mut Slab<T>, (before, at): (u32, u32)) {
        let next = table[at].next();
        if before == NIL {
            self.first = next;
        } else {
            table[before].set_next(next);
        }
        if next == NIL {
            self.last = before;
        }
    }

    /// Takes out an entry that may be in it.
    fn remove<T: Linked>(&mut self, table: &mut Slab<T>, place: u32) -> bool {
        let found = self.find(table, |at, _| at == place);
        found.map(|found| self.unlink(table, found)).is_some()
    }
}

/// Chains by label.
struct Bins {
    chains: Box<[Chain]>,
    bits: u32,
    len: usize,
}

impl Bins {
    fn new(bits: u32) -> Self {
        Bins { chains: vec![Chain::default(); 1 << bits].into(), bits, len: 0 }
    }

    #[inline]
    fn of(&mut self, label: Label) -> &mut Chain {
        &mut self.chains[(label.hash() >> (64 - self.bits)) as usize]
    }

    #[inline]
    fn push<T: Linked>(&mut self, table: &mut Slab<T>, place: u32) {
        if self.len >= CROWD << self.bits && self.bits < LAST_BITS {
            self.grow(table);
        }
        self.len += 1;
        self.of(table[place].label()).push(table, place);
    }

    /// Entries of one label lie in one bin, in order, and so they do after they have moved one by one.
    #[cold]
    fn grow<T: Linked>(&mut self, table: &mut Slab<T>) {
        let mut more = Bins::new(self.bits + GROWTH_BITS);
        for chain in &self.chains {
            let mut at = chain.first;
            while at != NIL {
                let next = table[at].next();
                more.of(table[at].label()).push(table, at);
                at = next;
            }
        }
        more.len = self.len;
        *self = more;
    }
}

/// See the [module's documentation](self).
pub(crate) struct Matcher {
    posted: Bins,
    /// Receives that leave something open.
    wild: Chain,
    wild_len: usize,
    unexpected: Bins,
    /// The ends of the list of arrivals.
    oldest: u32,
    newest: u32,
}

impl Matcher {
    pub fn new() -> Self {
        Matcher {
            posted: Bins::new(FIRST_BITS),
            wild: Chain::default(),
            wild_len: 0,
            unexpected: Bins::new(FIRST_BITS),
            oldest: NIL,
            newest: NIL,
        }
    }

    /// A receive is posted: the message that it takes. Without one, it is for the caller to
    /// [queue](Self::queue_receive).
    #[inline]
    pub fn post(&mut self, asked: Label, flights: &mut Slab<Flight>) -> Option<u32> {
        if self.unexpected.len == 0 {
            return None;
        }
        self.matched_probe(asked, flights)
    }

    #[inline]
    pub fn queue_receive(&mut self, receives: &mut Slab<PostedReceive>, place: u32) {
        if receives[place].asked.is_exact() {
            self.posted.push(receives, place);
        } else {
            self.wild.push(receives, place);
            self.wild_len += 1;
        }
    }

    /// A message arrives: the receive that it completes. Without one, it is for the caller to
    /// [queue](Self::queue_message).
    #[inline]
    pub fn arrive(&mut self, message: Label, receives: &mut Slab<PostedReceive>) -> Option<u32> {
        let bin = self.posted.of(message);
        let exact = bin.find(receives, |_, receive| receive.asked == message);
        if self.wild_len > 0 {
            let wild = self.wild.find(receives, |_, receive| receive.asked.accepts(message));
            if let Some(wild) = wild {
                if exact.is_none_or(|exact| receives[wild.1].number < receives[exact.1].number) {
                    self.wild.unlink(receives, wild);
                    self.wild_len -= 1;
                    return Some(wild.1);
                }
            }
        }
        let exact = exact?;
        bin.unlink(receives, exact);
        self.posted.len -= 1;
        Some(exact.1)
    }

    #[inline]
    pub fn queue_message(&mut self, flights: &mut Slab<Flight>, place: u32) {
        self.unexpected.push(flights, place);
        let flight = &mut flights[place];
        flight.is_queued = true;
        (flight.older, flight.newer) = (self.newest, NIL);
        match std::mem::replace(&mut self.newest, place) {
            NIL => self.oldest = place,
            before => flights[before].newer = place,
        }
    }

    /// The earliest message that a receive would take.
    #[inline]
    pub fn probe(&mut self, asked: Label, flights: &Slab<Flight>) -> Option<u32> {
        if asked.is_exact() {
            let bin = self.unexpected.of(asked);
            return bin.find(flights, |_, flight| flight.label == asked).map(|(_, at)| at);
        }
        let mut at = self.oldest;
        while at != NIL {
            let flight = &flights[at];
            if asked.accepts(flight.label) {
                return Some(at);
            }
            at = flight.newer;
        }
        None
    }

    /// The same, which takes it.
    #[inline]
    pub fn matched_probe(&mut self, asked: Label, flights: &mut Slab<Flight>) -> Option<u32> {
        let at = self.probe(asked, flights)?;
        self.take(flights, at);
        Some(at)
    }

    /// Takes back a receive; false if it is not queued.
    pub fn cancel(&mut self, receives: &mut Slab<PostedReceive>, place: u32) -> bool {
        let asked = receives[place].asked;
        if asked.is_exact() {
            let was_queued = self.posted.of(asked).remove(receives, place);
            self.posted.len -= usize::from(was_queued);
            was_queued
        } else {
            let was_queued = self.wild.remove(receives, place);
            self.wild_len -= usize::from(was_queued);
            was_queued
        }
    }

    /// Takes back a message; false if it is not queued.
    pub fn retract(&mut self, flights: &mut Slab<Flight>, place: u32) -> bool {
        let is_queued = flights[place].is_queued;
        if is_queued {
            self.take(flights, place);
        }
        is_queued
    }

    #[inline]
    fn take(&mut self, flights: &mut Slab<Flight>, place: u32) {
        let flight = &mut flights[place];
        flight.is_queued = false;
        let Flight { label, older, newer, .. } = *flight;
        self.unexpected.of(label).remove(flights, place);
        self.unexpected.len -= 1;
        match older {
            NIL => self.oldest = newer,
            older => flights[older].newer = newer,
        }
        match newer {
            NIL => self.newest = older,
            newer => flights[newer].older = older,
        }
    }

    pub fn posted_len(&self) -> usize {
        self.posted.len + self.wild_len
    }

    pub fn unexpected_len(&self) -> usize {
        self.unexpected.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use matchpoint::{Message, MsgId, Receive, RecvId};

    #[test]
    fn growing_keeps_what_is_queued_in_order() {
        let (mut matcher, mut flights) = (Matcher::new(), Slab::default());
        for at in 0..5000 {
            let place = flights.insert(Flight::of(Label::exact(0, at % 7, at % 500), at));
            matcher.queue_message(&mut flights, place);
        }
        assert!(matcher.unexpected.bits > FIRST_BITS);
        for at in 0..5000 {
            let asked = if at % 2 == 0 { Label::any(0) } else { flights[at].label };
            assert_eq!(matcher.post(asked, &mut flights), Some(at));
        }
        assert_eq!((matcher.unexpected_len(), matcher.oldest, matcher.newest), (0, NIL, NIL));
    }

    /// Whatever is done in whatever order, the engine `list` gives the same answers.
    #[test]
    fn the_answers_are_those_of_a_list() {
        let mut list = matchpoint::engines::create("list").unwrap();
        let (mut matcher, mut flights, mut receives) = (Matcher::new(), Slab::default(), Slab::default());
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % below) as u32
        };
        let mut matched = 0;
        for number in 0..200_000u32 {
            let exact = Label::exact(draw(2), draw(40), draw(40));
            let asked = match draw(16) {
                0 => exact.open_source(),
                1 => exact.open_tag(),
                2 => exact.open_source().open_tag(),
                _ => exact,
            };
            match draw(if number % 20_000 < 10_000 { 11 } else { 18 }) {
                0..5 => {
                    let took = matcher.post(asked, &mut flights);
                    let id = RecvId::new(receives.next_place(), number);
                    let expected = list.post(Receive::new(id, asked.selector())).unwrap();
                    assert_eq!(took.map(|place| flights[place].id(place)), expected);
                    matched += u64::from(took.is_some());
                    match took {
                        Some(place) => drop(flights.remove(place)),
                        None => {
                            let place = receives.insert(PostedReceive::of(asked, number.into()));
                            matcher.queue_receive(&mut receives, place);
                        }
                    }
                }
                5..10 => {
                    let message = if draw(50) == 0 { asked } else { exact };
                    let id = MsgId::new(flights.next_place(), number);
                    let expected = list.arrive(Message::new(id, message.envelope())).unwrap();
                    let took = matcher.arrive(message, &mut receives);
                    assert_eq!(took.map(|place| receives[place].id(place)), expected);
                    matched += u64::from(took.is_some());
                    match took {
                        Some(place) => drop(receives.remove(place)),
                        None => {
                            let place = flights.insert(Flight::of(message, number));
                            matcher.queue_message(&mut flights, place);
                        }
                    }
                }
                10 => {
                    let found = matcher.probe(asked, &flights);
                    assert_eq!(found.map(|place| flights[place].id(place)), list.probe(&asked.selector()));
                }
                11..15 => {
                    let place = draw(300);
                    if receives.get(place).is_some() {
                        assert!(list.cancel(receives[place].id(place)));
                        assert!(matcher.cancel(&mut receives, place));
                        receives.remove(place);
                    }
                }
                _ => {
                    let place = draw(300);
                    if flights.get(place).is_some() {
                        assert!(list.retract(flights[place].id(place)));
                        assert!(matcher.retract(&mut flights, place));
                        flights.remove(place);
                    }
                }
            }
            assert_eq!(matcher.posted_len(), list.posted_len());
            assert_eq!(matcher.unexpected_len(), list.unexpected_len());
        }
        assert!(matched > 1000, "{matched}");
    }
}
