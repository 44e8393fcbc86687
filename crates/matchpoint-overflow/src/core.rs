//! The core of one process: an engine, its measurements and the report.

use matchpoint::engines::{self, NameError};
use matchpoint::{
    ContextId, Drained, Engine, Entry, Envelope, Message, MsgId, Queue, Rank, Receive, RecvId, Refused,
    Selector, Tag, Wild, migrate_entries,
};
use matchpoint_process::report::{self, Endpoint, State};
use matchpoint_process::settings::variable;
use matchpoint_process::{Observer, Tally};

use crate::interface::{CoreCounts, CoreEnvelope};
use crate::members;

/// `MPI_ANY_SOURCE` and `MPI_ANY_TAG` in a [`CoreEnvelope`].
const ANY: i32 = -1;

/// The queues are unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfMemory;

/// The matching of one process.
pub struct Core {
    engine: Box<dyn Engine>,
    /// The table was full, and `hybrid` replaced the engine.
    fell_back: bool,
    observer: Observer,
    endpoint: Endpoint,
    /// The first report is written.
    is_reported: bool,
}

impl Core {
    /// Creates a core with the engine `name`.
    ///
    /// # Errors
    /// No engine has this name, or its parameters are invalid.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let engine = engines::create(name)?;
        let endpoint = Endpoint::new("overflow");
        Ok(Core {
            engine,
            fell_back: false,
            observer: Observer::without_times(),
            endpoint,
            is_reported: false,
        })
    }

    /// Writes a report. `is_open`: more reports follow.
    ///
    /// The shim measures costs before the first report. If no entry is queued then, counts and arrival times
    /// restart.
    pub fn write_report(&mut self, counts: &CoreCounts, is_open: bool) {
        if !self.is_reported {
            self.is_reported = true;
            if self.engine.posted_len() + self.engine.unexpected_len() == 0 {
                self.observer = Observer::new();
            }
            let state =
                State { engine: &*self.engine, tally: self.observer.tally, fell_back: self.fell_back };
            self.endpoint.open(&state);
        }
        self.endpoint.update(&self.state(), is_open);
        write(counts);
    }

    fn state(&self) -> State<'_> {
        State { engine: &*self.engine, tally: self.observer.tally, fell_back: self.fell_back }
    }

    /// The counts.
    pub fn tally(&self) -> &Tally {
        &self.observer.tally
    }

    /// `hybrid` replaced an engine with a full table.
    pub fn fell_back(&self) -> bool {
        self.fell_back
    }

    /// Posts a receive. Returns the message that it matches, or `None` if the receive is queued.
    ///
    /// # Errors
    /// There is no memory.
    pub fn post(&mut self, id: u64, envelope: &CoreEnvelope) -> Result<Option<u64>, OutOfMemory> {
        let started = self.observer.begin();
        let receive = Receive::new(RecvId(id), selector(envelope));
        let message = self.call(|engine| engine.post(receive))?.map(|message| message.0);
        self.observer.posted(started, id, message);
        Ok(message)
    }

    /// Adds an arriving message. Returns the receive that it matches, or `None` if the message is queued.
    ///
    /// # Errors
    /// There is no memory.
    pub fn arrive(&mut self, id: u64, envelope: &CoreEnvelope) -> Result<Option<u64>, OutOfMemory> {
        let started = self.observer.begin();
        let source = Rank(envelope.source as u32);
        let tag = Tag(bits(envelope.tag));
        let message = Message::new(MsgId(id), Envelope::new(ContextId(envelope.context), source, tag));
        let receive = self.call(|engine| engine.arrive_message(message))?.map(|receive| receive.0);
        self.observer.arrived(started, id, receive);
        Ok(receive)
    }

    /// The oldest unexpected message that matches. `take` removes it.
    pub fn probe(&mut self, envelope: &CoreEnvelope, take: bool) -> Option<u64> {
        let selector = selector(envelope);
        let message = if take { self.engine.matched_probe(&selector) } else { self.engine.probe(&selector) };
        let message = message.map(|message| message.0);
        self.observer.probed(take, message);
        message
    }

    /// Cancels a receive posted with this envelope. False if it was not posted.
    pub fn cancel(&mut self, id: u64, envelope: &CoreEnvelope) -> bool {
        let was_posted = self.engine.cancel(&Receive::new(RecvId(id), selector(envelope)));
        if was_posted {
            self.observer.cancelled(id);
        }
        was_posted
    }

    /// Oldest first.
    pub fn visit(&self, queue: Queue, mut each: impl FnMut(u64)) {
        self.engine.visit(queue, &mut |entry| {
            each(match entry {
                Entry::Receive(receive) => receive.id.0,
                Entry::Message(message) => message.id.0,
            });
        });
    }

    /// Removes all receives and messages of a context.
    pub fn close_context(&mut self, context: u32) {
        let mut drained = Drained::default();
        self.engine.close(ContextId(context), &mut drained);
        drained.receives.iter().for_each(|receive| self.observer.cancelled(receive.0));
        drained.messages.iter().for_each(|message| self.observer.retracted(message.0));
    }

    /// A call that may queue an entry. Replaces an engine with a full table.
    #[inline]
    fn call<T>(&mut self, call: impl Fn(&mut dyn Engine) -> Result<T, Refused>) -> Result<T, OutOfMemory> {
        match call(&mut *self.engine) {
            Ok(result) => Ok(result),
            Err(Refused::Memory) => Err(OutOfMemory),
            // Without assertions, an engine refuses a wildcard only if it supports no wildcards.
            Err(Refused::Full | Refused::Hint) => self.fall_back(call),
        }
    }

    /// Moves all entries to a new `hybrid` engine and repeats the call. The entries do not match each other.
    /// On failure the old engine keeps all entries.
    #[cold]
    fn fall_back<T>(
        &mut self,
        call: impl Fn(&mut dyn Engine) -> Result<T, Refused>,
    ) -> Result<T, OutOfMemory> {
        let mut hybrid = engines::create("hybrid").expect("the registry has `hybrid`");
        migrate_entries(&mut *hybrid, &*self.engine).map_err(|_| OutOfMemory)?;
        let result = call(&mut *hybrid).map_err(|_| OutOfMemory)?;
        self.engine = hybrid;
        self.fell_back = true;
        Ok(result)
    }
}

/// A process without overflowed receives then writes no report.
const QUIET_VARIABLE: &str = "MATCHPOINT_QUIET";

fn write(counts: &CoreCounts) {
    if counts.overflowed == 0 && variable(QUIET_VARIABLE).is_some() {
        return;
    }
    let rank = u64::try_from(counts.rank).ok().or_else(report::rank);
    report::write(rank, &[("unmatched", "[]".to_owned()), ("overflow", members::object(counts))]);
}

fn bits(value: i32) -> u64 {
    u64::from(value as u32)
}

fn selector(envelope: &CoreEnvelope) -> Selector {
    let source = match envelope.source {
        ANY => Wild::Any,
        source => Wild::Is(Rank(source as u32)),
    };
    let tag = match envelope.tag {
        ANY => Wild::Any,
        tag => Wild::Is(Tag(bits(tag))),
    };
    Selector::new(ContextId(envelope.context), source, tag)
}

#[cfg(test)]
mod tests;
