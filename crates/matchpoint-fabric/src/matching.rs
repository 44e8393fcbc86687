//! An engine under libfabric's matching rule: 64-bit tags with ignore masks, one source or any source.
//!
//! [`ShortQueues`] search short queues without the engine.
//!
//! MPI libraries reserve one or two bits of the tag and ignore these bits in *every* receive. Taken
//! literally, every receive would be a wildcard, and no engine would use its fastest path. [`Matching`]
//! therefore clears the *common mask*, the bits that all receives ignore, in all tags. A receive without
//! MPI's wildcards is then exact in the engine.

use matchpoint::engines::{self, NameError};
use matchpoint::{
    ContextId, Drained, Engine, Entry, Envelope, Message, MsgId, Pair, Queue, Rank, Readdressed, Receive,
    RecvId, Refused, Selector, Tag,
};
use matchpoint_process::report::State;
use matchpoint_process::{Observer, Tally};

use crate::abi::{ADDR_UNSPEC, Addr, errno};
use crate::criteria::Criteria;
use crate::short_queues::{ShortEntry, ShortQueues};
use crate::sources::Sources;

/// The context of all entries: libfabric has no contexts.
const CONTEXT: ContextId = ContextId(0);

/// Number of receives that must ignore more bits before the common mask becomes wider.
const AGREEING_POSTS: u64 = 64;
/// Maximum number of entries that move back from the engine to the short queues.
const SHORTEN_MAX: usize = 8;

/// Data of queued entries, by id.
pub trait EntryData {
    fn criteria(&self, receive: u64) -> Criteria;
    /// Complete tag of an unexpected message.
    fn tag(&self, message: u64) -> u64;
    fn source(&self, message: u64) -> Addr;
    /// The source with which the message is queued: an endpoint without directed receives does not update a
    /// source that becomes known.
    fn queued_source(&self, message: u64) -> Addr {
        self.source(message)
    }
}

/// An engine, and the common mask of its receives.
pub struct Matching {
    /// The engine is empty while both queues are short.
    short: ShortQueues,
    is_short: bool,
    engine: Box<dyn Engine>,
    sources: Sources,
    /// Bits that are cleared in all tags of the engine, and that every receive in the engine ignores.
    common_mask: u64,
    /// The bits that all recent receives and probes ignore, and the number of these receives and probes.
    recent: (u64, u64),
    observer: Observer,
    fell_back: bool,
    /// Messages with a known source are queued without source, because the engine had no memory. Meanwhile
    /// the short queues are not used.
    has_pending_sources: bool,
}

impl Matching {
    pub fn new(engine: &str) -> Result<Self, NameError> {
        Ok(Matching {
            short: ShortQueues::new(),
            is_short: true,
            engine: engines::create(engine)?,
            sources: Sources::default(),
            common_mask: 0,
            recent: (u64::MAX, 0),
            observer: Observer::new(),
            fell_back: false,
            has_pending_sources: false,
        })
    }

    /// Returns the message that the receive takes, or `None` if the receive is queued.
    ///
    /// # Errors
    /// There is no memory, or [sources are pending](Matching::has_pending_sources).
    #[inline]
    pub fn post(
        &mut self,
        id: u64,
        criteria: Criteria,
        entries: &impl EntryData,
    ) -> Result<Option<u64>, Refused> {
        let started = self.observer.begin();
        if self.is_short {
            self.recent.0 &= criteria.ignore;
            if let Ok(outcome) = self.short.post(id, criteria) {
                self.observer.posted(started, id, outcome);
                return Ok(outcome);
            }
        }
        self.post_to_engine(id, criteria, started, entries)
    }

    #[inline(never)]
    fn post_to_engine(
        &mut self,
        id: u64,
        criteria: Criteria,
        started: u64,
        entries: &impl EntryData,
    ) -> Result<Option<u64>, Refused> {
        if self.has_pending_sources {
            return Err(Refused::Memory);
        }
        let is_nearly_empty = self.observe_mask(criteria.ignore, entries)?;
        let receive = Receive::new(RecvId(id), self.make_selector(criteria)?);
        let outcome = match self.engine.post(receive) {
            Err(Refused::Full) => {
                self.fall_back(entries)?;
                self.engine.post(receive)
            }
            outcome => outcome,
        }?;
        let outcome = outcome.map(|message| message.0);
        self.observer.posted(started, id, outcome);
        if is_nearly_empty {
            self.move_to_short_queues(entries);
        }
        Ok(outcome)
    }

    /// Returns the receive that the message takes, or `None` if the message is queued.
    ///
    /// # Errors
    /// There is no memory.
    #[inline]
    pub fn arrive(
        &mut self,
        id: u64,
        addr: Addr,
        tag: u64,
        entries: &impl EntryData,
    ) -> Result<Option<u64>, Refused> {
        let started = self.observer.begin();
        if self.is_short {
            if let Ok(outcome) = self.short.arrive(id, addr, tag) {
                self.observer.arrived(started, id, outcome);
                return Ok(outcome);
            }
            self.move_to_engine()?;
        }
        self.arrive_in_engine(id, addr, tag, started, entries)
    }

    #[inline(never)]
    fn arrive_in_engine(
        &mut self,
        id: u64,
        addr: Addr,
        tag: u64,
        started: u64,
        entries: &impl EntryData,
    ) -> Result<Option<u64>, Refused> {
        // The message must not overtake messages with a pending source.
        let addr = if self.has_pending_sources { ADDR_UNSPEC } else { addr };
        let source = self.sources.number(addr)?;
        let message = self.make_message(id, source, tag);
        let outcome = match self.engine.arrive_message(message) {
            Err(Refused::Full) => {
                self.fall_back(entries)?;
                self.engine.arrive_message(message)
            }
            outcome => outcome,
        }?;
        let outcome = outcome.map(|receive| receive.0);
        self.observer.arrived(started, id, outcome);
        Ok(outcome)
    }

    /// Finds the message that a receive with these criteria would take. `take` removes the message.
    pub fn probe(
        &mut self,
        criteria: Criteria,
        take: bool,
        entries: &impl EntryData,
    ) -> Result<Option<u64>, Refused> {
        if self.has_pending_sources {
            return Err(Refused::Memory);
        }
        let found = match self.is_short.then(|| self.short.probe(criteria, take)) {
            Some(Ok(found)) => found,
            _ => {
                let is_nearly_empty = self.observe_mask(criteria.ignore, entries)?;
                let selector = self.make_selector(criteria)?;
                let found =
                    if take { self.engine.matched_probe(&selector) } else { self.engine.probe(&selector) };
                if is_nearly_empty {
                    self.move_to_short_queues(entries);
                }
                found.map(|message| message.0)
            }
        };
        self.observer.probed(take, found);
        Ok(found)
    }

    /// Returns false if the receive was not posted.
    pub fn cancel(&mut self, id: u64, entries: &impl EntryData) -> bool {
        let was_posted = if self.is_short {
            self.short.cancel(id)
        } else {
            // A posted receive has a number for its source, so this call cannot fail.
            self.make_selector(entries.criteria(id))
                .is_ok_and(|selector| self.engine.cancel(&Receive::new(RecvId(id), selector)))
        };
        if was_posted {
            self.observer.cancelled(id);
        }
        was_posted
    }

    pub fn retract(&mut self, id: u64, entries: &impl EntryData) -> bool {
        let was_queued = if self.is_short {
            self.short.retract(id)
        } else {
            let message = self.queued_message(id, entries);
            self.engine.retract(&message)
        };
        if was_queued {
            self.observer.retracted(id);
        }
        was_queued
    }

    fn queued_message(&mut self, id: u64, entries: &impl EntryData) -> Message {
        let mut source = self.sources.number(entries.queued_source(id)).unwrap_or(Rank::UNKNOWN);
        if self.has_pending_sources {
            // A message with a pending source is stored without source.
            self.engine.visit(Queue::Unexpected, &mut |entry| match entry {
                Entry::Message(message) if message.id == MsgId(id) => source = message.envelope.source,
                _ => {}
            });
        }
        self.make_message(id, source, entries.tag(id))
    }

    /// Sets the source of an unexpected message. Returns the receive that the message takes, if any.
    ///
    /// If an allocation fails, this source and all later sources become
    /// [pending](Matching::has_pending_sources).
    pub fn readdress(&mut self, id: u64, addr: Addr, entries: &impl EntryData) -> Option<u64> {
        if self.has_pending_sources {
            return None;
        }
        self.set_source(id, addr, entries).unwrap_or_else(|_| {
            self.has_pending_sources = true;
            None
        })
    }

    fn set_source(&mut self, id: u64, addr: Addr, entries: &impl EntryData) -> Result<Option<u64>, Refused> {
        let without_source = self.make_message(id, Rank::UNKNOWN, entries.tag(id));
        let source = self.sources.number(addr)?;
        let receive = match self.is_short {
            true => self.short.readdress(id, addr),
            false => match self.engine.readdress(&without_source, source)? {
                Readdressed::Matched(receive) => Some(receive.0),
                Readdressed::SourceSet | Readdressed::Unchanged => None,
            },
        };
        if let Some(receive) = receive {
            self.observer.readdressed(id, receive);
        }
        Ok(receive)
    }

    /// True if queued messages have a pending source.
    ///
    /// Then arriving messages are queued without source, so that no message overtakes. Receives and probes
    /// are refused: a receive could take a message that an earlier receive selects by source.
    pub fn has_pending_sources(&self) -> bool {
        self.has_pending_sources
    }

    /// The error code of a refused receive or probe. After `-FI_EAGAIN` the application retries, and progress
    /// sets pending sources.
    #[cold]
    pub fn refusal_code(&self) -> isize {
        -((if self.has_pending_sources { errno::EAGAIN } else { errno::ENOMEM }) as isize)
    }

    /// Sets pending sources, oldest message first, until a message takes a receive. Returns both.
    ///
    /// Returns `None` if no source is pending, or if an allocation still fails. Each step is O(queue length).
    pub fn set_next_pending_source(&mut self, entries: &impl EntryData) -> Option<(u64, u64)> {
        while self.has_pending_sources {
            let Some((message, addr)) = self.oldest_pending(entries) else {
                self.has_pending_sources = false;
                break;
            };
            match self.set_source(message, addr, entries) {
                Ok(None) => {}
                Ok(Some(receive)) => return Some((message, receive)),
                Err(_) => break,
            }
        }
        None
    }

    fn oldest_pending(&self, entries: &impl EntryData) -> Option<(u64, Addr)> {
        let mut oldest = None;
        let mut check = |id: u64, is_without_source: bool| {
            if is_without_source && oldest.is_none() {
                oldest = Some((id, entries.source(id))).filter(|&(_, source)| source != ADDR_UNSPEC);
            }
        };
        self.short.unexpected().iter().for_each(|entry| check(entry.id, entry.criteria.addr == ADDR_UNSPEC));
        self.engine.visit(Queue::Unexpected, &mut |entry| {
            if let Entry::Message(message) = entry {
                check(message.id.0, message.envelope.source == Rank::UNKNOWN);
            }
        });
        oldest
    }

    pub fn visit(&self, queue: Queue, mut each: impl FnMut(u64)) {
        let short = match queue {
            Queue::Posted => self.short.posted(),
            Queue::Unexpected => self.short.unexpected(),
        };
        short.iter().for_each(|entry| each(entry.id));
        self.engine.visit(queue, &mut |entry| {
            each(match entry {
                Entry::Receive(receive) => receive.id.0,
                Entry::Message(message) => message.id.0,
            });
        });
    }

    pub fn tally(&self) -> &Tally {
        &self.observer.tally
    }

    pub fn state(&self) -> State<'_> {
        State { engine: &*self.engine, tally: self.observer.tally, fell_back: self.fell_back }
    }

    fn make_message(&self, id: u64, source: Rank, tag: u64) -> Message {
        Message::new(MsgId(id), Envelope::new(CONTEXT, source, Tag(tag & !self.common_mask)))
    }

    /// The engine's tags have zeros in the common mask, so the selector may ignore these bits. A mask of all
    /// bits lets the engine recognize any tag.
    #[inline]
    fn make_selector(&mut self, criteria: Criteria) -> Result<Selector, Refused> {
        let source = self.sources.number(criteria.addr)?;
        let ignore =
            if criteria.ignore & !self.common_mask == 0 { 0 } else { criteria.ignore | self.common_mask };
        Ok(Selector::of(Pair::new(CONTEXT, source), criteria.tag & !self.common_mask, ignore))
    }

    /// Updates the statistics of ignore masks before a receive or probe. Returns true if the engine is nearly
    /// empty.
    ///
    /// A receive that compares a bit of the common mask narrows the mask at once, in one pass over the
    /// queues. Only four times as many posts that agree widen the mask again: amortized O(1) per post. (Open
    /// MPI ignores one bit everywhere except in the acknowledgement of a synchronous send.)
    #[inline]
    fn observe_mask(&mut self, ignore: u64, entries: &impl EntryData) -> Result<bool, Refused> {
        if self.is_short {
            self.move_to_engine()?;
        }
        let (all, posts) = &mut self.recent;
        *all &= ignore;
        *posts += 1;
        let is_narrower = self.common_mask & !ignore != 0;
        let queued = self.observer.tally.posted_now + self.observer.tally.unexpected_now;
        if is_narrower || *posts >= AGREEING_POSTS && *posts >= 4 * queued {
            return self.update_common_mask(ignore, is_narrower, entries);
        }
        Ok(false)
    }

    #[cold]
    fn update_common_mask(
        &mut self,
        ignore: u64,
        is_narrower: bool,
        entries: &impl EntryData,
    ) -> Result<bool, Refused> {
        let agreed = std::mem::replace(&mut self.recent, (u64::MAX, 0)).0;
        if !is_narrower && self.engine.posted_len() + self.engine.unexpected_len() <= SHORTEN_MAX {
            return Ok(true);
        }
        let common_mask = if is_narrower {
            self.common_mask & ignore
        } else if agreed & !self.common_mask == 0 {
            return Ok(false);
        } else {
            let mut all = agreed;
            self.visit(Queue::Posted, |receive| all &= entries.criteria(receive).ignore);
            all
        };
        if common_mask != self.common_mask {
            self.reinsert_entries(None, common_mask, entries)?;
        }
        Ok(false)
    }

    #[cold]
    fn fall_back(&mut self, entries: &impl EntryData) -> Result<(), Refused> {
        self.fell_back = true;
        let hybrid = engines::create("hybrid").expect("the registry has it");
        self.reinsert_entries(Some(hybrid), self.common_mask, entries)
    }

    #[cold]
    fn move_to_engine(&mut self) -> Result<(), Refused> {
        let agreed = self.short.posted().iter().fold(self.recent.0, |all, entry| all & entry.criteria.ignore);
        self.common_mask = if agreed == u64::MAX { 0 } else { agreed };
        self.recent = (u64::MAX, 0);
        loop {
            let filled = self.fill_engine();
            match filled {
                Ok(()) => break,
                Err(refused) => {
                    self.engine.close(CONTEXT, &mut Drained::default());
                    if refused != Refused::Full {
                        return Err(refused);
                    }
                }
            }
            self.fell_back = true;
            self.engine = engines::create("hybrid").expect("the registry has it");
        }
        self.short.clear();
        self.is_short = false;
        self.observer.tally.moved_to_engine += 1;
        Ok(())
    }

    fn fill_engine(&mut self) -> Result<(), Refused> {
        for at in 0..self.short.posted().len() {
            let ShortEntry { id, criteria } = self.short.posted()[at];
            let selector = self.make_selector(criteria)?;
            self.engine.post(Receive::new(RecvId(id), selector))?;
        }
        for at in 0..self.short.unexpected().len() {
            let ShortEntry { id, criteria } = self.short.unexpected()[at];
            let source = self.sources.number(criteria.addr)?;
            self.engine.arrive_message(self.make_message(id, source, criteria.tag))?;
        }
        Ok(())
    }

    /// Moves the few entries left after a burst back to the short queues.
    #[cold]
    fn move_to_short_queues(&mut self, entries: &impl EntryData) {
        let (short, sources) = (&mut self.short, &self.sources);
        let mut push = |entry| match entry {
            Entry::Receive(Receive { id: RecvId(id), .. }) => {
                short.push_posted(ShortEntry { id, criteria: entries.criteria(id) });
            }
            Entry::Message(Message { id: MsgId(id), envelope, .. }) => {
                let addr = sources.source(envelope.source);
                let criteria = Criteria { addr, tag: entries.tag(id), ignore: 0 };
                short.push_unexpected(ShortEntry { id, criteria });
            }
        };
        self.engine.visit(Queue::Posted, &mut push);
        self.engine.visit(Queue::Unexpected, &mut push);
        self.engine.close(CONTEXT, &mut Drained::default());
        self.recent = (self.common_mask, 0);
        self.is_short = true;
    }

    /// Inserts all entries again, oldest first: into `engine`, or into the emptied current engine.
    ///
    /// No entries match during the call: no queued entries matched before, and all receives ignore the bits
    /// of a wider mask.
    fn reinsert_entries(
        &mut self,
        engine: Option<Box<dyn Engine>>,
        common_mask: u64,
        entries: &impl EntryData,
    ) -> Result<(), Refused> {
        let mut receives = Vec::new();
        let mut messages = Vec::new();
        let (posted, unexpected) = (self.engine.posted_len(), self.engine.unexpected_len());
        receives.try_reserve(posted).map_err(|_| Refused::Memory)?;
        messages.try_reserve(unexpected).map_err(|_| Refused::Memory)?;
        self.visit(Queue::Posted, |id| receives.push(id));
        self.engine.visit(Queue::Unexpected, &mut |entry| {
            if let Entry::Message(message) = entry {
                messages.push((message.id.0, message.envelope.source));
            }
        });
        match engine {
            Some(engine) => self.engine = engine,
            None => self.engine.close(CONTEXT, &mut Drained::default()),
        }
        self.common_mask = common_mask;
        for id in receives {
            let receive = Receive::new(RecvId(id), self.make_selector(entries.criteria(id))?);
            let taken = self.engine.post(receive)?;
            debug_assert!(taken.is_none(), "nothing matched before");
        }
        for (id, source) in messages {
            let taken = self.engine.arrive_message(self.make_message(id, source, entries.tag(id)))?;
            debug_assert!(taken.is_none(), "nothing matched before");
        }
        Ok(())
    }
}

#[cfg(test)]
mod pending_sources;
#[cfg(test)]
mod tests;
