//! An engine under libfabric's matching rule: 64-bit tags with ignore masks, one source or any source.
//!
//! Short queues are searched without the engine ([`ShortQueues`]).
//!
//! MPI libraries reserve one or two bits of the tag and ignore them in *every* receive. Taken literally, every receive
//! would be a wildcard, and no engine would use its fastest path. [`Matching`] therefore determines the *common mask*:
//! the bits that all receives ignore. It clears these bits in tags before the engine compares them. A plain receive is
//! then exact, and only MPI's wildcards are wildcards.

use matchpoint::engines::{self, NameError};
use matchpoint::{
    ContextId, Drained, Engine, Entry, Envelope, Message, MsgId, Pair, Queue, Rank, Readdressed, Receive,
    RecvId, Refused, Selector, Tag,
};
use matchpoint_process::report::State;
use matchpoint_process::{Observer, Tally};

use crate::abi::{ADDR_UNSPEC, Addr, errno};
use crate::asked::Asked;
use crate::short::{Item, Short};
use crate::sources::Sources;

/// All tagged messages of an endpoint have one context, because libfabric has no contexts.
const CONTEXT: ContextId = ContextId(0);

/// Receives that must agree on a wider common mask before its adoption.
const PATIENCE: u64 = 64;
/// Entries that may move back to the short queues.
const FEW: usize = 8;

/// Data of queued entries, by id.
pub trait Remember {
    /// The criteria of a posted receive.
    fn asked(&self, receive: u64) -> Asked;
    /// The complete tag of an unexpected message.
    fn tag(&self, message: u64) -> u64;
    /// The source of an unexpected message, if known.
    fn source(&self, message: u64) -> Addr;
    /// The source with which the message is queued. An endpoint without directed receives does not update a queued
    /// message when its source becomes known.
    fn queued_source(&self, message: u64) -> Addr {
        self.source(message)
    }
}

/// An engine, and the common mask of its receives.
pub struct Matching {
    /// Both queues while they are short. The engine is then empty.
    short: Short,
    is_short: bool,
    engine: Box<dyn Engine>,
    sources: Sources,
    /// The common mask. Its bits are cleared in all tags of the engine. Every receive in the engine ignores them.
    base: u64,
    /// The bits that all recent receives and probes ignore, and their number.
    lately: (u64, u64),
    observer: Observer,
    /// The engine's table was full, and `hybrid` replaced it.
    fell_back: bool,
    /// Messages with a known source are queued without it, because the engine had no memory. The queues are then not
    /// short and do not become short: only calls of the engine check this.
    owes_names: bool,
}

impl Matching {
    /// Creates the engine with this name.
    ///
    /// # Errors
    /// The name or its parameters are invalid.
    pub fn new(engine: &str) -> Result<Self, NameError> {
        Ok(Matching {
            short: Short::new(),
            is_short: true,
            engine: engines::create(engine)?,
            sources: Sources::default(),
            base: 0,
            lately: (u64::MAX, 0),
            observer: Observer::new(),
            fell_back: false,
            owes_names: false,
        })
    }

    /// Posts a receive. Returns the message that it takes, or `None` if the receive is queued.
    ///
    /// # Errors
    /// There is no memory, or [sources are pending](Matching::has_pending_sources).
    #[inline]
    pub fn post(&mut self, id: u64, asked: Asked, known: &impl Remember) -> Result<Option<u64>, Refused> {
        let started = self.observer.begin();
        if self.is_short {
            self.lately.0 &= asked.ignore;
            if let Ok(outcome) = self.short.post(id, asked) {
                self.observer.posted(started, id, outcome);
                return Ok(outcome);
            }
        }
        self.post_to_engine(id, asked, started, known)
    }

    #[inline(never)]
    fn post_to_engine(
        &mut self,
        id: u64,
        asked: Asked,
        started: u64,
        known: &impl Remember,
    ) -> Result<Option<u64>, Refused> {
        if self.owes_names {
            return Err(Refused::Memory);
        }
        let is_calm = self.need_engine(asked.ignore, known)?;
        let receive = Receive::new(RecvId(id), self.selector(asked)?);
        let outcome = match self.engine.post(receive) {
            Err(Refused::Full) => {
                self.fall_back(known)?;
                self.engine.post(receive)
            }
            outcome => outcome,
        }?;
        let outcome = outcome.map(|message| message.0);
        self.observer.posted(started, id, outcome);
        if is_calm {
            self.shorten(known);
        }
        Ok(outcome)
    }

    /// Adds an arriving message. Returns the receive that it takes, or `None` if the message is queued.
    ///
    /// # Errors
    /// There is no memory.
    #[inline]
    pub fn arrive(
        &mut self,
        id: u64,
        addr: Addr,
        tag: u64,
        known: &impl Remember,
    ) -> Result<Option<u64>, Refused> {
        let started = self.observer.begin();
        if self.is_short {
            if let Ok(outcome) = self.short.arrive(id, addr, tag) {
                self.observer.arrived(started, id, outcome);
                return Ok(outcome);
            }
            self.lengthen()?;
        }
        self.arrive_in_engine(id, addr, tag, started, known)
    }

    #[inline(never)]
    fn arrive_in_engine(
        &mut self,
        id: u64,
        addr: Addr,
        tag: u64,
        started: u64,
        known: &impl Remember,
    ) -> Result<Option<u64>, Refused> {
        // The message must not overtake messages with a pending source.
        let addr = if self.owes_names { ADDR_UNSPEC } else { addr };
        let source = self.sources.number(addr)?;
        let message = self.message(id, source, tag);
        let outcome = match self.engine.arrive_message(message) {
            Err(Refused::Full) => {
                self.fall_back(known)?;
                self.engine.arrive_message(message)
            }
            outcome => outcome,
        }?;
        let outcome = outcome.map(|receive| receive.0);
        self.observer.arrived(started, id, outcome);
        Ok(outcome)
    }

    /// Finds the message that a receive with these criteria would take. `take` removes it.
    ///
    /// # Errors
    /// As for [`post`](Matching::post).
    pub fn probe(&mut self, asked: Asked, take: bool, known: &impl Remember) -> Result<Option<u64>, Refused> {
        if self.owes_names {
            return Err(Refused::Memory);
        }
        let found = match self.is_short.then(|| self.short.probe(asked, take)) {
            Some(Ok(found)) => found,
            _ => {
                let is_calm = self.need_engine(asked.ignore, known)?;
                let selector = self.selector(asked)?;
                let found =
                    if take { self.engine.matched_probe(&selector) } else { self.engine.probe(&selector) };
                if is_calm {
                    self.shorten(known);
                }
                found.map(|message| message.0)
            }
        };
        self.observer.probed(take, found);
        Ok(found)
    }

    /// Cancels a receive. Returns whether it was posted.
    pub fn cancel(&mut self, id: u64, known: &impl Remember) -> bool {
        let was_posted = if self.is_short {
            self.short.cancel(id)
        } else {
            // The source of a posted receive has a number.
            self.selector(known.asked(id))
                .is_ok_and(|selector| self.engine.cancel(&Receive::new(RecvId(id), selector)))
        };
        if was_posted {
            self.observer.cancelled(id);
        }
        was_posted
    }

    /// Removes a message. Returns whether it was unexpected.
    pub fn retract(&mut self, id: u64, known: &impl Remember) -> bool {
        let was_queued = if self.is_short {
            self.short.retract(id)
        } else {
            let message = self.queued_message(id, known);
            self.engine.retract(&message)
        };
        if was_queued {
            self.observer.retracted(id);
        }
        was_queued
    }

    /// Returns the message as the engine stores it.
    fn queued_message(&mut self, id: u64, known: &impl Remember) -> Message {
        let mut source = self.sources.number(known.queued_source(id)).unwrap_or(Rank::UNKNOWN);
        if self.owes_names {
            // The engine stores messages with a pending source without it.
            self.engine.visit(Queue::Unexpected, &mut |entry| match entry {
                Entry::Message(message) if message.id == MsgId(id) => source = message.envelope.source,
                _ => {}
            });
        }
        self.message(id, source, known.tag(id))
    }

    /// Sets the source of an unexpected message that becomes known. Returns the receive that the message takes, or
    /// `None` if the message keeps its place in the queue.
    ///
    /// Without memory the source becomes [pending](Matching::has_pending_sources), and so do all sources set later.
    pub fn readdress(&mut self, id: u64, addr: Addr, known: &impl Remember) -> Option<u64> {
        if self.owes_names {
            return None;
        }
        self.name(id, addr, known).unwrap_or_else(|_| {
            self.owes_names = true;
            None
        })
    }

    fn name(&mut self, id: u64, addr: Addr, known: &impl Remember) -> Result<Option<u64>, Refused> {
        let nameless = self.message(id, Rank::UNKNOWN, known.tag(id));
        let source = self.sources.number(addr)?;
        let receive = match self.is_short {
            true => self.short.readdress(id, addr),
            false => match self.engine.readdress(&nameless, source)? {
                Readdressed::Matched(receive) => Some(receive.0),
                Readdressed::SourceSet | Readdressed::Unchanged => None,
            },
        };
        if let Some(receive) = receive {
            self.observer.named(id, receive);
        }
        Ok(receive)
    }

    /// Returns whether queued messages have a pending source.
    ///
    /// Meanwhile, arriving messages are queued without source, so that they do not overtake. Receives and probes are
    /// refused: they could take a message that an earlier receive selects by its source.
    pub fn owes_names(&self) -> bool {
        self.owes_names
    }

    /// The error code of a refused receive or probe. `-FI_EAGAIN`: the application retries after progress, which sets
    /// pending sources.
    #[cold]
    pub fn refusal(&self) -> isize {
        -((if self.owes_names { errno::EAGAIN } else { errno::ENOMEM }) as isize)
    }

    /// Sets pending sources, oldest message first, until a message takes a receive. Returns that message and that
    /// receive.
    ///
    /// `None`: no source is pending, or there is still no memory. Each step visits all unexpected messages: O(queue
    /// length).
    pub fn name_owed(&mut self, known: &impl Remember) -> Option<(u64, u64)> {
        while self.owes_names {
            let Some((message, addr)) = self.eldest_owed(known) else {
                self.owes_names = false;
                break;
            };
            match self.name(message, addr, known) {
                Ok(None) => {}
                Ok(Some(receive)) => return Some((message, receive)),
                Err(_) => break,
            }
        }
        None
    }

    /// The oldest message with a pending source, and the source.
    fn eldest_owed(&self, known: &impl Remember) -> Option<(u64, Addr)> {
        let mut eldest = None;
        let mut look = |id: u64, is_nameless: bool| {
            if is_nameless && eldest.is_none() {
                eldest = Some((id, known.source(id))).filter(|&(_, source)| source != ADDR_UNSPEC);
            }
        };
        self.short.unexpected().iter().for_each(|item| look(item.id, item.asked.addr == ADDR_UNSPEC));
        self.engine.visit(Queue::Unexpected, &mut |entry| {
            if let Entry::Message(message) = entry {
                look(message.id.0, message.envelope.source == Rank::UNKNOWN);
            }
        });
        eldest
    }

    /// Calls `each` with the id of every queued entry, oldest first.
    pub fn visit(&self, queue: Queue, mut each: impl FnMut(u64)) {
        let short = match queue {
            Queue::Posted => self.short.posted(),
            Queue::Unexpected => self.short.unexpected(),
        };
        short.iter().for_each(|item| each(item.id));
        self.engine.visit(queue, &mut |entry| {
            each(match entry {
                Entry::Receive(receive) => receive.id.0,
                Entry::Message(message) => message.id.0,
            });
        });
    }

    /// The counts.
    pub fn tally(&self) -> &Tally {
        &self.observer.tally
    }

    /// The state for the report.
    pub fn state(&self) -> State<'_> {
        State { engine: &*self.engine, tally: self.observer.tally, fell_back: self.fell_back }
    }

    fn message(&self, id: u64, source: Rank, tag: u64) -> Message {
        Message::new(MsgId(id), Envelope::new(CONTEXT, source, Tag(tag & !self.base)))
    }

    /// The common mask is zero in the engine's tags, so the selector may ignore it. The engine then recognizes a
    /// receive of any tag.
    #[inline]
    fn selector(&mut self, asked: Asked) -> Result<Selector, Refused> {
        let source = self.sources.number(asked.addr)?;
        let ignore = if asked.ignore & !self.base == 0 { 0 } else { asked.ignore | self.base };
        Ok(Selector::of(Pair::new(CONTEXT, source), asked.tag & !self.base, ignore))
    }

    /// Updates the statistics of ignore masks before a receive or probe in the engine. Returns true if the engine is
    /// nearly empty.
    ///
    /// A receive that compares a bit of the common mask narrows it at once. That costs a pass over the queues. The mask
    /// widens again only after four times as many posts agree: amortized O(1) per post. (Open MPI ignores one bit
    /// everywhere except in the acknowledgement of a synchronous send.)
    #[inline]
    fn need_engine(&mut self, ignore: u64, known: &impl Remember) -> Result<bool, Refused> {
        if self.is_short {
            self.lengthen()?;
        }
        let (all, posts) = &mut self.lately;
        *all &= ignore;
        *posts += 1;
        let narrower = self.base & !ignore != 0;
        let queued = self.observer.tally.posted_now + self.observer.tally.unexpected_now;
        if narrower || *posts >= PATIENCE && *posts >= 4 * queued {
            return self.look_again(ignore, narrower, known);
        }
        Ok(false)
    }

    #[cold]
    fn look_again(&mut self, ignore: u64, narrower: bool, known: &impl Remember) -> Result<bool, Refused> {
        let agreed = std::mem::replace(&mut self.lately, (u64::MAX, 0)).0;
        if !narrower && self.engine.posted_len() + self.engine.unexpected_len() <= FEW {
            return Ok(true);
        }
        let base = if narrower {
            self.base & ignore
        } else if agreed & !self.base == 0 {
            return Ok(false);
        } else {
            let mut all = agreed;
            self.visit(Queue::Posted, |receive| all &= known.asked(receive).ignore);
            all
        };
        if base != self.base {
            self.move_to(None, base, known)?;
        }
        Ok(false)
    }

    #[cold]
    fn fall_back(&mut self, known: &impl Remember) -> Result<(), Refused> {
        self.fell_back = true;
        let hybrid = engines::create("hybrid").expect("the registry has it");
        self.move_to(Some(hybrid), self.base, known)
    }

    /// Moves all entries from the short queues to the engine.
    #[cold]
    fn lengthen(&mut self) -> Result<(), Refused> {
        let agreed = self.short.posted().iter().fold(self.lately.0, |all, item| all & item.asked.ignore);
        self.base = if agreed == u64::MAX { 0 } else { agreed };
        self.lately = (u64::MAX, 0);
        loop {
            let filled = self.fill();
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
        self.observer.tally.lengthened += 1;
        Ok(())
    }

    fn fill(&mut self) -> Result<(), Refused> {
        for at in 0..self.short.posted().len() {
            let Item { id, asked } = self.short.posted()[at];
            let selector = self.selector(asked)?;
            self.engine.post(Receive::new(RecvId(id), selector))?;
        }
        for at in 0..self.short.unexpected().len() {
            let Item { id, asked } = self.short.unexpected()[at];
            let source = self.sources.number(asked.addr)?;
            self.engine.arrive_message(self.message(id, source, asked.tag))?;
        }
        Ok(())
    }

    /// Moves the few entries left after a burst back to the short queues.
    #[cold]
    fn shorten(&mut self, known: &impl Remember) {
        let (short, sources) = (&mut self.short, &self.sources);
        self.engine.visit(Queue::Posted, &mut |entry| {
            if let Entry::Receive(receive) = entry {
                short.put_posted(Item { id: receive.id.0, asked: known.asked(receive.id.0) });
            }
        });
        self.engine.visit(Queue::Unexpected, &mut |entry| {
            if let Entry::Message(message) = entry {
                let addr = sources.source(message.envelope.source);
                let asked = Asked { addr, tag: known.tag(message.id.0), ignore: 0 };
                short.put_unexpected(Item { id: message.id.0, asked });
            }
        });
        self.engine.close(CONTEXT, &mut Drained::default());
        self.lately = (self.base, 0);
        self.is_short = true;
    }

    /// Inserts all entries again, oldest first: into `engine`, or into the emptied current engine.
    ///
    /// No entries match meanwhile: none matched before, and all receives ignore the bits of a wider mask.
    fn move_to(
        &mut self,
        engine: Option<Box<dyn Engine>>,
        base: u64,
        known: &impl Remember,
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
        self.base = base;
        for id in receives {
            let receive = Receive::new(RecvId(id), self.selector(known.asked(id))?);
            let taken = self.engine.post(receive)?;
            debug_assert!(taken.is_none(), "nothing matched before");
        }
        for (id, source) in messages {
            let taken = self.engine.arrive_message(self.message(id, source, known.tag(id)))?;
            debug_assert!(taken.is_none(), "nothing matched before");
        }
        Ok(())
    }
}

#[cfg(test)]
mod denied;
#[cfg(test)]
mod tests;
