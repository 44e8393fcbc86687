//! An engine, asked libfabric's questions: 64-bit tags under ignore masks, from a peer or from any.
//!
//! MPI libraries keep a bit or two of the tag for themselves and ignore them in *every* receive. Taken literally, each
//! of their receives is a wildcard, and no engine's fastest path would ever be used. So what all receives ignore, the
//! *base*, is learned as they come, and cleared from tags before the engine sees them: what remains of a plain receive
//! is then exact, and only MPI's own wildcards are wildcards.

use matchpoint::engines::{self, NameError};
use matchpoint::{
    ContextId, Engine, Entry, Envelope, Message, MsgId, Queue, Rank, Receive, RecvId, Refused, Selector, Tag,
    TagMask, Wild,
};

use crate::abi::{ADDR_UNSPEC, Addr};
use crate::tally::Tally;

/// All of an endpoint's tagged messages are of one context: libfabric knows no other.
const CONTEXT: ContextId = ContextId(0);

/// Posts that must have agreed on a wider base before it is adopted.
const PATIENCE: u64 = 64;

/// What a receive or a probe asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// From whom, or [`ADDR_UNSPEC`].
    pub addr: Addr,
    /// Which tag.
    pub tag: u64,
    /// Bits of it that do not count.
    pub ignore: u64,
}

/// What the front end remembers of what is queued, by the number that it gave.
pub trait Remember {
    /// What a posted receive asks for.
    fn asked(&self, receive: u64) -> Asked;
    /// The tag of an unexpected message, all of it.
    fn tag(&self, message: u64) -> u64;
}

/// An engine, and what is learned about the masks it is asked with.
pub struct Matching {
    engine: Box<dyn Engine>,
    /// Cleared from all tags: what every receive that is posted ignores, and every one lately.
    base: u64,
    /// What all since the last look at it ignore, and how many there were.
    lately: (u64, u64),
    /// Counts.
    pub tally: Tally,
    /// Its table was full, and `hybrid` has taken over.
    pub fell_back: bool,
}

impl Matching {
    /// With the engine of that name.
    ///
    /// # Errors
    /// There is none of that name, or it does not take such parameters.
    pub fn new(engine: &str) -> Result<Self, NameError> {
        Ok(Matching {
            engine: engines::create(engine)?,
            base: 0,
            lately: (u64::MAX, 0),
            tally: Tally::default(),
            fell_back: false,
        })
    }

    /// Posts a receive. The message that it takes, or `None` once it is queued.
    ///
    /// # Errors
    /// There is no memory.
    #[inline]
    pub fn post(&mut self, id: u64, asked: Asked, known: &impl Remember) -> Result<Option<u64>, Refused> {
        self.learn(asked.ignore, known)?;
        let started = self.tally.begin();
        let receive = Receive::new(RecvId(id), self.selector(asked));
        let outcome = match self.engine.post(receive) {
            Err(Refused::Full) => {
                self.fall_back(known)?;
                self.engine.post(receive)
            }
            outcome => outcome,
        }?;
        self.tally.posted(started, outcome.is_some());
        Ok(outcome.map(|message| message.0))
    }

    /// A message arrives. The receive that it takes, or `None` once it is queued.
    ///
    /// # Errors
    /// There is no memory.
    #[inline]
    pub fn arrive(&mut self, id: u64, addr: Addr, tag: u64, known: &impl Remember) -> Result<Option<u64>, Refused> {
        let started = self.tally.begin();
        let message = self.message(id, addr, tag);
        let outcome = match self.engine.arrive(message) {
            Err(Refused::Full) => {
                self.fall_back(known)?;
                self.engine.arrive(message)
            }
            outcome => outcome,
        }?;
        self.tally.arrived(started, outcome.is_some());
        Ok(outcome.map(|receive| receive.0))
    }

    /// The message that such a receive would take now, left in place.
    ///
    /// # Errors
    /// There is no memory.
    pub fn probe(&mut self, asked: Asked, known: &impl Remember) -> Result<Option<u64>, Refused> {
        self.learn(asked.ignore, known)?;
        self.tally.probes += 1;
        Ok(self.engine.probe(&self.selector(asked)).map(|message| message.0))
    }

    /// The message that such a receive would take now, taken.
    ///
    /// # Errors
    /// There is no memory.
    pub fn take(&mut self, asked: Asked, known: &impl Remember) -> Result<Option<u64>, Refused> {
        self.learn(asked.ignore, known)?;
        self.tally.probes += 1;
        let taken = self.engine.matched_probe(&self.selector(asked));
        self.tally.unexpected_now -= u64::from(taken.is_some());
        Ok(taken.map(|message| message.0))
    }

    /// Withdraws a receive. True: it was still posted.
    pub fn cancel(&mut self, id: u64) -> bool {
        let was_posted = self.engine.cancel(RecvId(id));
        self.tally.posted_now -= u64::from(was_posted);
        was_posted
    }

    /// Withdraws a message. True: it was still unexpected.
    pub fn retract(&mut self, id: u64) -> bool {
        let was_queued = self.engine.retract(MsgId(id));
        self.tally.unexpected_now -= u64::from(was_queued);
        was_queued
    }

    /// The source of an unexpected message is known now. True: the engine has taken note.
    pub fn readdress(&mut self, id: u64, addr: Addr) -> bool {
        self.engine.readdress(MsgId(id), Rank(addr))
    }

    /// Calls `each` for what is queued, oldest first.
    pub fn visit(&self, queue: Queue, mut each: impl FnMut(u64)) {
        self.engine.visit(queue, &mut |entry| {
            each(match entry {
                Entry::Receive(receive) => receive.id.0,
                Entry::Message(message) => message.id.0,
            });
        });
    }

    /// The engine, for what it has to tell.
    pub fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    fn message(&self, id: u64, addr: Addr, tag: u64) -> Message {
        Message::new(MsgId(id), Envelope::new(CONTEXT, Rank(addr), Tag(tag & !self.base)))
    }

    /// The base is zero in the tags that the engine has, so it may as well be ignored: a receive that leaves the whole
    /// tag open is then recognised as such.
    #[inline]
    fn selector(&self, asked: Asked) -> Selector {
        let source = if asked.addr == ADDR_UNSPEC { Wild::Any } else { Wild::Is(Rank(asked.addr)) };
        let value = Tag(asked.tag & !self.base);
        let tag = if asked.ignore & !self.base == 0 {
            Wild::Is(value)
        } else {
            Wild::Masked(TagMask { value, ignore: asked.ignore | self.base })
        };
        Selector::new(CONTEXT, source, tag)
    }

    /// A receive or probe with that mask is coming.
    ///
    /// One that heeds a bit of the base narrows it at once. That costs a pass over the queues, so it becomes wide again
    /// only after four times as many posts have agreed on it: O(1) a post, whatever the order. (Open MPI ignores one bit
    /// everywhere but in the acknowledgement of a synchronous send.)
    #[inline]
    fn learn(&mut self, ignore: u64, known: &impl Remember) -> Result<(), Refused> {
        let (all, posts) = &mut self.lately;
        *all &= ignore;
        *posts += 1;
        let narrower = self.base & !ignore != 0;
        let is_due = *posts >= PATIENCE && *posts >= 4 * (self.tally.posted_now + self.tally.unexpected_now);
        if narrower || is_due || (self.base == 0 && ignore != 0 && self.tally.posts == 0) {
            self.look_again(ignore, narrower, known)?;
        }
        Ok(())
    }

    #[cold]
    fn look_again(&mut self, ignore: u64, narrower: bool, known: &impl Remember) -> Result<(), Refused> {
        let agreed = std::mem::replace(&mut self.lately, (u64::MAX, 0)).0;
        let base = if narrower {
            self.base & ignore
        } else if agreed & !self.base == 0 {
            return Ok(());
        } else {
            let mut all = agreed;
            self.visit(Queue::Posted, |receive| all &= known.asked(receive).ignore);
            all
        };
        if base != self.base {
            self.move_to(None, base, known)?;
        }
        Ok(())
    }

    #[cold]
    fn fall_back(&mut self, known: &impl Remember) -> Result<(), Refused> {
        self.fell_back = true;
        let hybrid = engines::create("hybrid").expect("the registry has it");
        self.move_to(Some(hybrid), self.base, known)
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
                messages.push((message.id.0, message.envelope.source.0));
            }
        });
        match engine {
            Some(engine) => self.engine = engine,
            None => self.engine.close(CONTEXT, &mut matchpoint::Drained::default()),
        }
        self.base = base;
        for id in receives {
            let receive = Receive::new(RecvId(id), self.selector(known.asked(id)));
            let taken = self.engine.post(receive)?;
            debug_assert!(taken.is_none(), "nothing matched before");
        }
        for (id, addr) in messages {
            let taken = self.engine.arrive(self.message(id, addr, known.tag(id)))?;
            debug_assert!(taken.is_none(), "nothing matched before");
        }
        Ok(())
    }
}
