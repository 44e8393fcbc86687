//! Test oracle: keeps the expected queues, and checks each outcome of an engine against the contract.

mod aged_queue;
mod compare;
mod maintenance;
mod matching;

pub(crate) use maintenance::drained_text;

use std::collections::BTreeMap;

use matchpoint::{ContextId, Event, Hints, Message, MsgId, Order, Outcome, Receive, Selector};

use self::aged_queue::AgedQueue;
use crate::law::{Broken, Law};
use crate::terms::{Terms, is_mpi};

/// Checks one engine, from its first call on.
///
/// Where the contract permits several outcomes ([`Order::PerSource`], [`Order::None`], a full table), the
/// oracle continues with the engine's outcome.
#[derive(Clone, Debug)]
pub struct Oracle {
    order: Order,
    terms: Terms,
    posted: AgedQueue<Receive>,
    unexpected: AgedQueue<Message>,
    hints: BTreeMap<ContextId, Hints>,
    /// Selector and result of the previous event, if it is a probe.
    promise: Option<(Selector, Option<MsgId>)>,
    matches: u64,
}

type Verdict = Result<(), Broken>;

fn broken_law(law: Law, how: String) -> Verdict {
    Err(Broken::new(law, how))
}

fn require_law(holds: bool, law: Law, how: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { broken_law(law, how()) }
}

impl Oracle {
    /// Creates an oracle for an engine that promises `order`, unless the terms require another order.
    pub fn new(order: Order, terms: impl Into<Terms>) -> Self {
        let terms = terms.into();
        Oracle {
            order: terms.order.unwrap_or(order),
            terms,
            posted: AgedQueue::default(),
            unexpected: AgedQueue::default(),
            hints: BTreeMap::new(),
            promise: None,
            matches: 0,
        }
    }

    /// The event as a correct caller makes the call. `None` if no correct caller makes the call: the engine
    /// lacks the call, the terms exclude the call, or the id is already queued.
    ///
    /// A withdrawal of a queued id gets the selector or envelope of the queued entry, whatever the stream
    /// contains.
    pub fn admit(&self, event: &Event) -> Option<Event> {
        let event = self.with_queued_entry(event);
        self.is_correct_call(&event).then_some(event)
    }

    fn with_queued_entry(&self, event: &Event) -> Event {
        let posted = |receive: &Receive| self.posted.get(receive.id.0).copied().unwrap_or(*receive);
        let queued = |message: &Message| {
            let queued = self.unexpected.get(message.id.0).unwrap_or(message);
            Message::new(message.id, queued.envelope)
        };
        match event {
            Event::Cancel(receive) => Event::Cancel(posted(receive)),
            Event::Retract(message) => Event::Retract(queued(message)),
            Event::Readdress(message, source) => Event::Readdress(queued(message), *source),
            other => other.clone(),
        }
    }

    fn is_correct_call(&self, event: &Event) -> bool {
        if !self.terms.calls.include(event) || self.terms.mpi_only && !is_mpi(event) {
            return false;
        }
        match event {
            Event::Post(receive) => self.posted.get(receive.id.0).is_none(),
            Event::Arrive(message) => self.is_new(message),
            Event::ArriveBatch(messages) => messages.iter().enumerate().all(|(at, message)| {
                self.is_new(message) && messages[..at].iter().all(|earlier| earlier.id != message.id)
            }),
            _ => true,
        }
    }

    fn is_new(&self, message: &Message) -> bool {
        self.unexpected.get(message.id.0).is_none()
    }

    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Number of matches so far, by posts, arrivals, matched probes and readdresses.
    pub fn matches(&self) -> u64 {
        self.matches
    }

    /// Number of entries in both queues.
    pub fn queued(&self) -> usize {
        self.posted.len() + self.unexpected.len()
    }

    /// Contexts with queued entries or hints.
    pub fn contexts(&self) -> Vec<ContextId> {
        let posted = self.posted.iter().map(|receive| receive.selector.context());
        let unexpected = self.unexpected.iter().map(|message| message.envelope.context);
        let mut all: Vec<_> = posted.chain(unexpected).chain(self.hints.keys().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Checks the outcome of an [admitted](Oracle::admit) event.
    ///
    /// # Errors
    /// The broken law. Afterwards the oracle is invalid.
    pub fn check(&mut self, event: &Event, outcome: &Outcome) -> Verdict {
        let promise = self.promise.take();
        match (event, outcome) {
            (Event::Post(receive), Outcome::Posted(result)) => self.post(receive, *result, promise),
            (Event::Arrive(message), Outcome::Arrived(result)) => self.arrive(message, *result, Law::Arrive),
            (Event::Probe(selector), Outcome::Found(found)) => self.probe(selector, *found, promise),
            (Event::MatchedProbe(selector), Outcome::Found(found)) => {
                self.matched_probe(selector, *found, promise)
            }
            (Event::Cancel(receive), Outcome::Done(done)) => self.cancel(receive.id, *done),
            (Event::Retract(message), Outcome::Done(done)) => self.retract(message.id, *done),
            (Event::Readdress(message, source), Outcome::Readdressed(result)) => {
                self.readdress(message.id, *source, *result)
            }
            (Event::SetHints(context, hints), Outcome::Hinted(result)) => {
                self.set_hints(*context, *hints, *result)
            }
            (Event::Close(context), Outcome::Drained(drained)) => self.close(*context, drained),
            (Event::FailSource(context, source), Outcome::Drained(drained)) => {
                self.fail_source(*context, *source, drained)
            }
            (Event::ArriveBatch(messages), Outcome::ArrivedBatch(out, result)) => {
                self.batch(messages, out, *result)
            }
            _ => unreachable!("each kind of event has its kind of outcome"),
        }
    }

    fn hints(&self, context: ContextId) -> Hints {
        self.hints.get(&context).copied().unwrap_or_default().and(self.terms.demands)
    }

    fn order(&self, context: ContextId) -> Order {
        if self.hints(context).allow_overtaking { Order::None } else { self.order }
    }

    fn is_admitted(&self, selector: &Selector) -> bool {
        self.hints(selector.context()).admit(selector).is_ok()
    }
}
