//! An engine, asked libfabric's questions: 64-bit tags under ignore masks, from a peer or from any.
//!
//! While queues are short they are searched in place, and the engine is not asked at all ([`Short`]).
//!
//! MPI libraries keep a bit or two of the tag for themselves and ignore them in *every* receive. Taken literally, each
//! of their receives is a wildcard, and no engine's fastest path would ever be used. So what all receives ignore, the
//! *base*, is learned as they come, and cleared from tags before the engine sees them: what remains of a plain receive
//! is then exact, and only MPI's own wildcards are wildcards.

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

/// All of an endpoint's tagged messages are of one context: libfabric knows no other.
const CONTEXT: ContextId = ContextId(0);

/// Posts that must have agreed on a wider base before it is adopted.
const PATIENCE: u64 = 64;
/// Entries that may go back into short lines.
const FEW: usize = 8;

/// Facts about queued entries, by id.
pub trait Remember {
    /// What a posted receive asks for.
    fn asked(&self, receive: u64) -> Asked;
    /// The tag of an unexpected message, all of it.
    fn tag(&self, message: u64) -> u64;
    /// Who it is from, as far as that is known.
    fn source(&self, message: u64) -> Addr;
    /// The source that it is queued with. An endpoint without directed receives does not name it when its source becomes known.
    fn queued_source(&self, message: u64) -> Addr {
        self.source(message)
    }
}

/// An engine, and what is learned about the masks it is asked with.
pub struct Matching {
    /// Both queues, while they are short; then the engine is empty.
    short: Short,
    is_short: bool,
    engine: Box<dyn Engine>,
    sources: Sources,
    /// Cleared from all tags that the engine sees: what every receive in it ignores, and every one lately.
    base: u64,
    /// What all since the last look at it ignore, and how many there were.
    lately: (u64, u64),
    observer: Observer,
    /// Its table was full, and `hybrid` has taken over.
    fell_back: bool,
    /// Messages wait nameless whose source is known: the engine had no memory to name them. Queues are not short then, nor become
    /// so: that is asked in calls of the engine alone.
    owes_names: bool,
}

impl Matching {
    /// With the engine of that name.
    ///
    /// # Errors
    /// There is none of that name, or it does not take such parameters.
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

    /// Posts a receive. The message that it takes, or `None` once it is queued.
    ///
    /// # Errors
    /// There is no memory; or there was none, and [names are owed](Matching::owes_names).
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

    /// A message arrives. The receive that it takes, or `None` once it is queued.
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
        // Nothing overtakes those that are to be named.
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

    /// The message that such a receive would take now: left in place, or taken.
    ///
    /// # Errors
    /// As [`post`](Matching::post).
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

    /// Withdraws a receive. True: it was still posted.
    pub fn cancel(&mut self, id: u64, known: &impl Remember) -> bool {
        let was_posted = if self.is_short {
            self.short.cancel(id)
        } else {
            // Its source has a number.
            self.selector(known.asked(id))
                .is_ok_and(|selector| self.engine.cancel(&Receive::new(RecvId(id), selector)))
        };
        if was_posted {
            self.observer.cancelled(id);
        }
        was_posted
    }

    /// Withdraws a message. True: it was still unexpected.
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

    /// A message as the engine has it.
    fn queued_message(&mut self, id: u64, known: &impl Remember) -> Message {
        let mut source = self.sources.number(known.queued_source(id)).unwrap_or(Rank::UNKNOWN);
        if self.owes_names {
            // The engine has some messages without the source that is known.
            self.engine.visit(Queue::Unexpected, &mut |entry| match entry {
                Entry::Message(message) if message.id == MsgId(id) => source = message.envelope.source,
                _ => {}
            });
        }
        self.message(id, source, known.tag(id))
    }

    /// The source of an unexpected message is known now: the receive that it takes, or `None` if it waits on, at its age.
    /// Without memory it is [owed](Matching::owes_names) its name, and so are all that are named after it.
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

    /// Messages wait nameless whose source is known. What arrives meanwhile is nameless, too, so that it does not overtake them;
    /// and receives and probes are refused, so that they take nothing that one posted before asks for by name.
    pub fn owes_names(&self) -> bool {
        self.owes_names
    }

    /// What an application is told whose receive or probe was refused: to try again after progress, which may pay what is owed.
    #[cold]
    pub fn refusal(&self) -> isize {
        -((if self.owes_names { errno::EAGAIN } else { errno::ENOMEM }) as isize)
    }

    /// Gives messages the names that they are owed, oldest first, up to one that takes a receive: it, and the receive. `None`: none
    /// is owed any more, or there still is no memory. Every call looks at all that waits.
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

    /// The oldest message that waits nameless, and whose source is known.
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

    /// Calls `each` for what is queued, oldest first.
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

    /// The base is zero in the tags that the engine has, so it may as well be ignored: a receive that leaves the whole
    /// tag open is then recognised as such.
    #[inline]
    fn selector(&mut self, asked: Asked) -> Result<Selector, Refused> {
        let source = self.sources.number(asked.addr)?;
        let ignore = if asked.ignore & !self.base == 0 { 0 } else { asked.ignore | self.base };
        Ok(Selector::of(Pair::new(CONTEXT, source), asked.tag & !self.base, ignore))
    }

    /// A receive or probe with that mask is for the engine. True: the engine has little left to do, and this may be the
    /// last of it.
    ///
    /// One that heeds a bit of the base narrows it at once. That costs a pass over the queues, so it becomes wide again
    /// only after four times as many posts have agreed on it: O(1) a post, whatever the order. (Open MPI ignores one bit
    /// everywhere but in the acknowledgement of a synchronous send.)
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

    /// The short lines have become too long: into the engine with all that is in them.
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

    /// It was a burst: the few that are left go back into short lines.
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

    /// All that is queued, once more, oldest first: into the engine given, or into this one after it has been emptied.
    /// Nothing matches on the way: it did not before, and a wider base than that of all receives is never asked for.
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
