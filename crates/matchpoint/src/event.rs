//! Recorded calls of an engine, from traces, test generators and fuzzers.
//!
//! [`script`] defines a text form, one event per line:
//!
//! ```
//! use matchpoint::event::{Outcome, script};
//! use matchpoint::{MsgId, engines};
//!
//! let events = script::parse("
//! arrive m1 0/3/7     # unexpected message: context 0, source 3, tag 7
//! post r1 0/*/7       # an any-source receive takes the message
//! ")?;
//! let mut engine = engines::create("list")?;
//! let outcomes: Vec<_> = events.iter().map(|event| event.play(&mut *engine)).collect();
//! assert_eq!(outcomes[1], Outcome::Posted(Ok(Some(MsgId(1)))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod script;

use crate::concurrent::Concurrent;
use crate::engine::{Drained, Engine, Message, MsgId, Readdressed, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Rank, Selector};
use crate::hints::Hints;

/// A call of [`Engine`] that changes or searches a queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// [`Engine::post_exact`] or [`Engine::post_selector`]
    Post(Receive),
    /// [`Engine::arrive`]
    Arrive(Message),
    /// [`Engine::probe`]
    Probe(Selector),
    /// [`Engine::matched_probe`]
    MatchedProbe(Selector),
    /// [`Engine::cancel`]
    Cancel(Receive),
    /// [`Engine::retract`]
    Retract(Message),
    /// [`Engine::readdress`]
    Readdress(Message, Rank),
    /// [`Engine::set_hints`]
    SetHints(ContextId, Hints),
    /// [`Engine::close`]
    Close(ContextId),
    /// [`Engine::fail_source`]
    FailSource(ContextId, Rank),
    /// [`Engine::arrive_batch`]
    ArriveBatch(Vec<Message>),
}

/// Result of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// [`Event::Post`]
    Posted(Result<Option<MsgId>, Refused>),
    /// [`Event::Arrive`]
    Arrived(Result<Option<RecvId>, Refused>),
    /// [`Event::Probe`] and [`Event::MatchedProbe`]
    Found(Option<MsgId>),
    /// [`Event::Cancel`] and [`Event::Retract`]
    Done(bool),
    /// [`Event::Readdress`]
    Readdressed(Result<Readdressed, Refused>),
    /// [`Event::SetHints`]
    Hinted(Result<(), Refused>),
    /// [`Event::Close`] and [`Event::FailSource`]
    Drained(Drained),
    /// [`Event::ArriveBatch`]: a result for each message before a refused message, and the error.
    ArrivedBatch(Vec<Option<RecvId>>, Result<(), Refused>),
}

macro_rules! outcome {
    ($event:expr, $engine:expr) => {
        match *$event {
            Event::Post(receive) => Outcome::Posted($engine.post(receive)),
            Event::Arrive(message) => Outcome::Arrived($engine.arrive_message(message)),
            Event::Probe(selector) => Outcome::Found($engine.probe(&selector)),
            Event::MatchedProbe(selector) => Outcome::Found($engine.matched_probe(&selector)),
            Event::Cancel(receive) => Outcome::Done($engine.cancel(&receive)),
            Event::Retract(message) => Outcome::Done($engine.retract(&message)),
            Event::Readdress(message, source) => Outcome::Readdressed($engine.readdress(&message, source)),
            Event::SetHints(context, hints) => Outcome::Hinted($engine.set_hints(context, hints)),
            Event::Close(context) => drain(|drained| $engine.close(context, drained)),
            Event::FailSource(context, source) => {
                drain(|drained| $engine.fail_source(context, source, drained))
            }
            Event::ArriveBatch(ref messages) => {
                let mut out = Vec::with_capacity(messages.len());
                let result = $engine.arrive_batch(messages, &mut out);
                Outcome::ArrivedBatch(out, result)
            }
        }
    };
}

impl Event {
    /// Makes the call.
    #[inline]
    pub fn play(&self, engine: &mut dyn Engine) -> Outcome {
        outcome!(self, engine)
    }

    /// Makes the call on an engine that several threads use.
    pub fn play_concurrently(&self, engine: &dyn Concurrent) -> Outcome {
        outcome!(self, engine)
    }
}

fn drain(call: impl FnOnce(&mut Drained)) -> Outcome {
    let mut drained = Drained::default();
    call(&mut drained);
    Outcome::Drained(drained)
}
