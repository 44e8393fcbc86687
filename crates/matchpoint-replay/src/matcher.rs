//! The matcher of the simulation.
//!
//! Hash bins with a total order, as in the engine `bins`, link the simulation's records. An engine would copy
//! each record into 64 bytes, and its virtual calls took longer than their work.
//!
//! The key of a bin is the context and the fields that are not wild, so an arrival searches one bin for each
//! wildcard class among the posted receives. Messages are also linked in arrival order.
//!
//! When all processes together have very many unexpected messages, further ones join the compact [`Backlog`].
//! While a process has a backlog, all its new messages join it, so messages outside it are older.

use crate::backlog::{Backlog, IN_BACKLOG};
use crate::entries::{Flight, Linked, NIL, PostedReceive};
use crate::label::{Label, Open};
use crate::slab::Slab;

/// Bins, as powers of two: initial and maximum.
const FIRST_BITS: u32 = 4;

const LAST_BITS: u32 = 24;

/// Entries per bin before the growth, and the growth as a power of two. Bins take at most eight bytes per
/// entry.
const CROWD: usize = 4;
const GROWTH_BITS: u32 = 2;

/// Message records of all processes together: 7 MiB.
const RECORDS: usize = 1 << 17;

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

    /// Returns the first accepted entry and its predecessor.
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

    /// Needs the predecessor.
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

    fn remove<T: Linked>(&mut self, table: &mut Slab<T>, place: u32) -> bool {
        let found = self.find(table, |at, _| at == place);
        found.map(|found| self.unlink(table, found)).is_some()
    }
}

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

    /// Entries with one label are in one bin, so their order survives.
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

pub(crate) struct Matcher {
    posted: Bins,
    /// Posted receives by wildcard class.
    open: [u32; Open::WAYS],
    unexpected: Bins,
    oldest: u32,
    newest: u32,
    /// Newer than the messages in the list.
    backlog: Option<Box<Backlog>>,
    records: usize,
}

impl Matcher {
    pub fn new() -> Self {
        Matcher::with_records(RECORDS)
    }

    fn with_records(records: usize) -> Self {
        Matcher {
            posted: Bins::new(FIRST_BITS),
            open: [0; Open::WAYS],
            unexpected: Bins::new(FIRST_BITS),
            oldest: NIL,
            newest: NIL,
            backlog: None,
            records,
        }
    }

    /// Without a match, the caller [queues](Self::queue_receive) the receive.
    #[inline]
    pub fn post(&mut self, asked: Label, flights: &mut Slab<Flight>) -> Option<u32> {
        if self.unexpected.len == 0 && self.backlog.is_none() {
            return None;
        }
        self.matched_probe(asked, flights)
    }

    #[inline]
    pub fn queue_receive(&mut self, receives: &mut Slab<PostedReceive>, place: u32) {
        self.open[receives[place].asked.open().way()] += 1;
        self.posted.push(receives, place);
    }

    /// Without a match, the caller [queues](Self::queue_message) the message.
    #[inline]
    pub fn arrive(&mut self, message: Label, receives: &mut Slab<PostedReceive>) -> Option<u32> {
        if self.open[0] as usize != self.posted.len {
            return self.arrive_among_wildcards(message, receives);
        }
        let bin = self.posted.of(message);
        let found = bin.find(receives, |_, receive| receive.asked == message)?;
        bin.unlink(receives, found);
        self.posted.len -= 1;
        self.open[0] -= 1;
        Some(found.1)
    }

    /// Searches one bin for each wildcard class in use, and takes the oldest receive.
    fn arrive_among_wildcards(&mut self, message: Label, receives: &mut Slab<PostedReceive>) -> Option<u32> {
        let mut earliest: Option<(u64, Label, (u32, u32))> = None;
        for open in message.open().and_more() {
            if self.open[open.way()] == 0 {
                continue;
            }
            let asked = message.opened(open);
            let found = self.posted.of(asked).find(receives, |_, receive| receive.asked == asked);
            let Some(found) = found else { continue };
            let number = receives[found.1].number;
            if earliest.is_none_or(|earlier| number < earlier.0) {
                earliest = Some((number, asked, found));
            }
        }
        let (_, asked, found) = earliest?;
        self.posted.of(asked).unlink(receives, found);
        self.posted.len -= 1;
        self.open[asked.open().way()] -= 1;
        Some(found.1)
    }

    /// May remove the record from `flights`.
    #[inline]
    pub fn queue_message(&mut self, flights: &mut Slab<Flight>, place: u32) {
        if self.backlog.is_some() || flights.len() > self.records {
            self.backlog.get_or_insert_with(|| Box::new(Backlog::new())).push(flights, place);
            return;
        }
        self.unexpected.push(flights, place);
        let flight = &mut flights[place];
        flight.is_queued = true;
        (flight.older, flight.newer) = (self.newest, NIL);
        match std::mem::replace(&mut self.newest, place) {
            NIL => self.oldest = place,
            before => flights[before].newer = place,
        }
    }

    #[inline]
    pub fn probe(&mut self, asked: Label, flights: &mut Slab<Flight>) -> Option<u32> {
        let found = self.find(asked, flights);
        if found.is_some() {
            return found;
        }
        let backlog = self.backlog.as_mut()?;
        let found = backlog.find(asked, flights)?;
        Some(backlog.keep(found, flights))
    }

    #[inline]
    fn find(&mut self, asked: Label, flights: &Slab<Flight>) -> Option<u32> {
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

    #[inline]
    pub fn matched_probe(&mut self, asked: Label, flights: &mut Slab<Flight>) -> Option<u32> {
        let Some(at) = self.find(asked, flights) else { return self.take_from_backlog(asked, flights) };
        self.take(flights, at);
        Some(at)
    }

    fn take_from_backlog(&mut self, asked: Label, flights: &mut Slab<Flight>) -> Option<u32> {
        let backlog = self.backlog.as_mut()?;
        let found = backlog.find(asked, flights)?;
        let place = backlog.take(found, flights);
        if backlog.len() == 0 {
            self.backlog = None;
        }
        Some(place)
    }

    /// Restores the record of a message in the backlog, by linear search.
    pub fn recall(&mut self, number: u32, flights: &mut Slab<Flight>) -> Option<u32> {
        let backlog = self.backlog.as_mut()?;
        let found = backlog.numbered(number)?;
        Some(backlog.keep(found, flights))
    }

    pub fn cancel(&mut self, receives: &mut Slab<PostedReceive>, place: u32) -> bool {
        let asked = receives[place].asked;
        let was_queued = self.posted.of(asked).remove(receives, place);
        self.posted.len -= usize::from(was_queued);
        self.open[asked.open().way()] -= u32::from(was_queued);
        was_queued
    }

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
        if older == IN_BACKLOG {
            return self.take_kept(flights, newer);
        }
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

    #[cold]
    fn take_kept(&mut self, flights: &mut Slab<Flight>, at: u32) {
        let backlog = self.backlog.as_mut().expect("a record says that it waits there");
        backlog.take(Backlog::at(at), flights);
        if backlog.len() == 0 {
            self.backlog = None;
        }
    }

    pub fn posted_len(&self) -> usize {
        self.posted.len
    }

    pub fn unexpected_len(&self) -> usize {
        self.unexpected.len + self.backlog.as_ref().map_or(0, |backlog| backlog.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entries::Protocol;
    use matchpoint::{Message, Receive, RecvId};

    #[test]
    fn growing_keeps_what_is_queued_in_order() {
        for records in [usize::MAX, 1000, 0] {
            let (mut matcher, mut flights) = (Matcher::with_records(records), Slab::default());
            let label = |at| Label::exact(0, at % 7, at % 500);
            for at in 0..5000 {
                let place = flights.insert(Flight::of(label(at), at));
                matcher.queue_message(&mut flights, place);
            }
            assert_eq!(matcher.unexpected.bits > FIRST_BITS, records > 0);
            for at in 0..5000 {
                let asked = if at % 2 == 0 { Label::any(0) } else { label(at) };
                let took = matcher.post(asked, &mut flights).unwrap();
                assert_eq!(flights.remove(took).unwrap().number, at);
            }
            assert_eq!((matcher.unexpected_len(), matcher.oldest, matcher.newest), (0, NIL, NIL));
            assert!(matcher.backlog.is_none() && flights.len() == 0);
        }
    }

    #[test]
    fn gaps_are_closed() {
        let (mut matcher, mut flights) = (Matcher::with_records(0), Slab::default());
        for at in 0..200_000u32 {
            let place = flights.insert(Flight::of(Label::exact(at % 3, 0, at), at));
            matcher.queue_message(&mut flights, place);
            if at >= 1000 && at % 100 != 0 {
                let took = matcher.post(Label::exact((at - 1000) % 3, 0, at - 1000), &mut flights).unwrap();
                assert_eq!(flights.remove(took).unwrap().number, at - 1000);
            }
        }
        let backlog = matcher.backlog.as_ref().unwrap();
        let (places, least) = (backlog.places(), backlog.len());
        assert!(places <= least + least / 4 + 1024, "{places} places for {least}");
        assert_eq!(flights.len(), 0);
    }

    /// An arrival compares few of the receives with different tags.
    #[test]
    fn many_wildcards_are_no_list() {
        let (mut matcher, mut receives) = (Matcher::new(), Slab::default());
        for tag in 0..20_000 {
            let asked = Label::exact(0, 0, tag).open_source();
            let place = receives.insert(PostedReceive::of(asked, tag.into()));
            matcher.queue_receive(&mut receives, place);
        }
        let longest = (0..1 << matcher.posted.bits).map(|bin| {
            let mut at = matcher.posted.chains[bin].first;
            std::iter::from_fn(|| (at != NIL).then(|| at = receives[at].next)).count()
        });
        assert!(longest.max().unwrap() < 40);
        for tag in (0..20_000).rev() {
            assert_eq!(matcher.arrive(Label::exact(0, tag % 7, tag), &mut receives), Some(tag));
        }
    }

    /// Compares with the engine `list`, with records for all messages, some and none.
    #[test]
    fn the_answers_are_those_of_a_list() {
        for records in [usize::MAX, 200, 0] {
            compare_with_a_list(records);
        }
    }

    fn compare_with_a_list(records: usize) {
        let mut list = matchpoint::engines::create("list").unwrap();
        let (mut matcher, mut flights) = (Matcher::with_records(records), Slab::default());
        let mut receives = Slab::default();
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % below) as u32
        };
        let (mut matched, mut retracted, mut deepest) = (0, 0, 0);
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
                    assert_eq!(took.map(|place| flights[place].id()), expected);
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
                    let protocol = if draw(10) == 0 { Protocol::Synchronous } else { Protocol::Eager };
                    let flight = Flight { protocol, ..Flight::of(message, number) };
                    let expected =
                        list.arrive_message(Message::new(flight.id(), message.envelope())).unwrap();
                    let took = matcher.arrive(message, &mut receives);
                    assert_eq!(took.map(|place| receives[place].id(place)), expected);
                    matched += u64::from(took.is_some());
                    match took {
                        Some(place) => drop(receives.remove(place)),
                        None => {
                            let place = flights.insert(flight);
                            matcher.queue_message(&mut flights, place);
                        }
                    }
                }
                10 => {
                    let found = matcher.probe(asked, &mut flights);
                    assert_eq!(found.map(|place| flights[place].id()), list.probe(&asked.selector()));
                }
                11..15 => {
                    let place = draw(300);
                    if receives.get(place).is_some() {
                        let PostedReceive { asked, .. } = receives[place];
                        let receive = Receive::new(receives[place].id(place), asked.selector());
                        assert!(list.cancel(&receive));
                        assert!(matcher.cancel(&mut receives, place));
                        receives.remove(place);
                    }
                }
                _ => {
                    // A message with a record, or a recent one.
                    let (place, latest) = (draw(300), number.saturating_sub(draw(100)));
                    let place = match flights.get(place) {
                        Some(_) => Some(place),
                        None => matcher.recall(latest, &mut flights),
                    };
                    if let Some(place) = place {
                        let flight = &flights[place];
                        assert!(list.retract(&Message::new(flight.id(), flight.label.envelope())));
                        assert!(matcher.retract(&mut flights, place));
                        flights.remove(place);
                        retracted += 1;
                    }
                }
            }
            assert_eq!(matcher.posted_len(), list.posted_len());
            assert_eq!(matcher.unexpected_len(), list.unexpected_len());
            deepest = deepest.max(matcher.backlog.as_ref().map_or(0, |backlog| backlog.len()));
        }
        assert!(matched > 1000 && retracted > 100, "{matched} {retracted}");
        assert_eq!(deepest > 300, records < usize::MAX, "{deepest}");
    }
}
