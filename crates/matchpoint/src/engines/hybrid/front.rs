//! What stands before the tables while queues are short, and when it does.
//!
//! Entries are either all here or all in the tables: what finds both empty begins [here](super::short), and what finds no
//! place here takes all of them to the tables. With nothing else to look at, a search here is the whole search.
//!
//! A list of a few is as fast as a hash table where messages come in the order of their receives, and never pays for tables to
//! begin; one of eight is slower where every call leaves nothing open and no two entries are equal: the last of eight takes 14 ns as
//! in any list, and 9 in the table. So there are four places; 16 where equal entries are usual, for in the tables two such take four
//! times as long as here, eight twice, and only from a hundred on little more; and 32 while receives leave something open, which
//! takes twice as long there, or are cancelled, for which the tables have to know names; and 32 at first: who has but a few hundred
//! receives in all never gets back what it costs to begin tables.
//!
//! Whether places for equal entries are worth it is reckoned in entries that a search here examines: a key that gets its second
//! entry in the tables gains as much as 64 of them cost, and each that is examined beyond the first of a search spends one.
//!
//! Who fills a queue again and again would move its beginning again and again. So after each move some beginnings are
//! left to the tables, twice as many if there were few beginnings since the last.

use super::backoff::Backoff;
use super::short::{Posted, Short, Waiting};
use crate::engine::{Drained, Entry, MsgId, Queue, Readdressed, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Envelope, Rank, Selector, Wild};
use crate::hints::Hints;

/// Receives in a row that leave nothing open, before the places of those that do are given up.
const WILD_FOR: u32 = 256;

/// Places while receives leave nothing open.
const USUAL: u32 = 4;

/// Places where equal entries are usual.
const ALIKE: u32 = 16;

/// What a key that gets its second entry in the tables gains; what has to be gained before there are places for equal entries, and
/// what can be. The first such key is enough; from then on it takes some for each time that they have proved dear.
const GAIN: u32 = 64;
/// What it costs to take an entry from here to the tables.
const MOVED: u64 = 8;
const ENOUGH: u32 = 16 * GAIN;
const MOST_GAINED: u32 = 4 * ENOUGH;

/// So many beginnings since the last move are not few, or so many for each entry that is moved.
const MANY: u32 = 16;
const MANY_EACH: u32 = 2;

/// See the [module's documentation](self).
pub(super) struct Front {
    pub(super) posted: Short<Posted>,
    pub(super) waiting: Short<Waiting>,
    /// The places that a queue has while receives leave something open, and those that it has now.
    pub(super) most: u32,
    pub(super) places: u32,
    /// Receives that may still leave nothing open before the places for those that do are given up.
    wild: u32,
    /// Whether there are places for equal entries, and what is gained but not spent.
    is_alike: bool,
    gained: u32,
    /// Of beginnings, which are left to the tables; and those here since the last move.
    backoff: Backoff,
    begun: u32,
}

impl Front {
    /// With so many places, as if one of the receives before had left something open.
    pub(super) fn of(most: u32) -> Self {
        let (posted, waiting) = (Short::default(), Short::default());
        Front {
            posted,
            waiting,
            most,
            places: most,
            wild: WILD_FOR,
            is_alike: false,
            gained: ENOUGH - GAIN,
            backoff: if most == 0 { Backoff::once() } else { Backoff::default() },
            begun: 0,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.posted.is_empty() && self.waiting.is_empty()
    }

    pub(super) fn posted_len(&self) -> usize {
        self.posted.len()
    }

    pub(super) fn unexpected_len(&self) -> usize {
        self.waiting.len()
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        self.posted.bytes() + self.waiting.bytes()
    }

    /// Gives back what is held for entries, of which there are none.
    pub(super) fn give_back(&mut self) {
        (self.posted, self.waiting) = (Short::default(), Short::default());
    }

    /// Whether entries are to be kept here, now that there are none. Takes note of how many keys got a second entry in the tables.
    #[inline]
    pub(super) fn begins(&mut self, equal: &mut u32) -> bool {
        if self.backoff.is_left() && self.is_left(equal) {
            return false;
        }
        self.begun = self.begun.saturating_add(1);
        true
    }

    fn is_left(&mut self, equal: &mut u32) -> bool {
        if *equal > 0 {
            self.gain(std::mem::take(equal));
        }
        // Without places all are left.
        self.most == 0 || self.backoff.leave()
    }

    pub(super) fn moved(&mut self) {
        let moved = (self.posted.len() + self.waiting.len()) as u32;
        self.spend(MOVED * u64::from(moved));
        self.posted.clear();
        self.waiting.clear();
        if self.most > 1 {
            // Both, now that one was full: else it might be many bursts from now that the other allocates. If that fails, then.
            _ = self.posted.reserve() && self.waiting.reserve();
        }
        if self.begun < MANY.max(MANY_EACH * moved) {
            self.backoff.double();
        } else {
            self.backoff = Backoff::once();
        }
        self.begun = 0;
    }

    /// A receive left something open, or an entry was taken back.
    #[inline]
    pub(super) fn note_open(&mut self) {
        (self.wild, self.places) = (WILD_FOR, self.most);
    }

    /// So many keys got a second entry in the tables. If that makes places for equal entries worth it, the next begin here.
    fn gain(&mut self, keys: u32) {
        self.gained = self.gained.saturating_add(keys.saturating_mul(GAIN)).min(MOST_GAINED);
        if !self.is_alike && self.gained >= ENOUGH && self.most > USUAL {
            self.is_alike = true;
            self.place();
            self.backoff = Backoff::default();
        }
    }

    /// A search here examined so many entries.
    #[inline]
    pub(super) fn spend(&mut self, examined: u64) {
        if self.is_alike && examined > 1 {
            self.gained = self.gained.saturating_sub(examined as u32 - 1);
            if self.gained == 0 {
                self.is_alike = false;
                self.place();
            }
        }
    }

    /// How many places there are.
    fn place(&mut self) {
        self.places = match (self.wild, self.is_alike) {
            (0, false) => self.most.min(USUAL),
            (0, true) => self.most.min(ALIKE),
            _ => self.most,
        };
    }

    /// A receive left nothing open.
    #[inline]
    pub(super) fn note_exact(&mut self) {
        if self.wild > 0 {
            self.wild -= 1;
            if self.wild == 0 {
                self.place();
            }
        }
    }

    pub(super) fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        match queue {
            Queue::Posted => {
                self.posted.iter().for_each(|(_, posted)| each(Entry::Receive(posted.receive())));
            }
            Queue::Unexpected => {
                self.waiting.iter().for_each(|(_, waiting)| each(Entry::Message(waiting.message())));
            }
        }
    }

    pub(super) fn count_in(&self, context: ContextId) -> (usize, usize) {
        let posted = self.posted.iter().filter(|(_, posted)| posted.receive().selector.context() == context);
        let waiting = self.waiting.iter().filter(|(_, waiting)| waiting.envelope().context == context);
        (posted.count(), waiting.count())
    }

    /// The message that a selector takes: its place, and its name.
    #[inline]
    pub(super) fn find_message(&self, selector: &Selector, examined: &mut u64) -> Option<(usize, MsgId)> {
        let found = self.waiting.oldest(|waiting| selector.matches(&waiting.envelope()), examined);
        found.map(|(place, waiting)| (place, MsgId(waiting.id)))
    }

    pub(super) fn take_message(&mut self, place: usize) {
        self.waiting.take(place);
    }

    pub(super) fn cancel(&mut self, receive: RecvId) -> bool {
        let found = self.posted.oldest(|posted| posted.id == receive.0, &mut 0).map(|(place, _)| place);
        found.map(|place| self.posted.remove(place)).map(|()| self.note_open()).is_some()
    }

    pub(super) fn retract(&mut self, message: MsgId) -> bool {
        let found = self.waiting.oldest(|waiting| waiting.id == message.0, &mut 0).map(|(place, _)| place);
        found.map(|place| self.waiting.remove(place)).map(|()| self.note_open()).is_some()
    }

    pub(super) fn readdress(&mut self, message: MsgId, source: Rank) -> Result<Readdressed, Refused> {
        let found = self.waiting.oldest(|waiting| waiting.id == message.0, &mut 0);
        let Some((place, nameless)) = found.map(|(place, waiting)| (place, waiting.envelope())) else {
            return Ok(Readdressed::NotNameless);
        };
        if nameless.source != Rank::UNKNOWN || source == Rank::UNKNOWN {
            return Ok(Readdressed::NotNameless);
        }
        let named = Envelope { source, ..nameless };
        let earliest = self.posted.oldest(|posted| posted.matches(&named), &mut 0);
        if let Some((posted, id)) = earliest.map(|(posted, receive)| (posted, RecvId(receive.id))) {
            self.posted.remove(posted);
            self.waiting.remove(place);
            return Ok(Readdressed::Matched(id));
        }
        self.waiting.get_mut(place).set_source(source);
        Ok(Readdressed::Named)
    }

    /// Whether what is queued keeps the assertions.
    pub(super) fn admits(&self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        let selectors = self.posted.iter().map(|(_, posted)| posted.receive().selector);
        selectors
            .filter(|selector| selector.context() == context)
            .try_for_each(|ref asks| hints.admit(asks))?;
        let is_waited = self.waiting.iter().any(|(_, waiting)| waiting.envelope().context == context);
        if hints.no_unexpected && is_waited { Err(Refused::Hint) } else { Ok(()) }
    }

    pub(super) fn drain(&mut self, context: ContextId, drained: &mut Drained) {
        for place in self.posted.places() {
            let posted = self.posted.get(place);
            if posted.receive().selector.context() == context {
                drained.receives.push(RecvId(posted.id));
                self.posted.remove(place);
            }
        }
        for place in self.waiting.places() {
            let waiting = self.waiting.get(place);
            if waiting.envelope().context == context {
                drained.messages.push(MsgId(waiting.id));
                self.waiting.remove(place);
            }
        }
    }

    pub(super) fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        for place in self.posted.places() {
            let Receive { id, selector } = self.posted.get(place).receive();
            match selector.source() {
                _ if selector.context() != context => {}
                Wild::Is(named) if named == source => {
                    drained.receives.push(id);
                    self.posted.remove(place);
                }
                Wild::Any => drained.pending.push(id),
                _ => {}
            }
        }
    }
}
