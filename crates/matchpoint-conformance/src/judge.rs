//! The judge: holds both queues itself, and says of each outcome whether the contract permits it.

mod compare;
mod line;
mod matching;
mod upkeep;

pub(crate) use upkeep::drained_text;

use std::collections::BTreeMap;

use matchpoint::{ContextId, Event, Hints, Message, MsgId, Order, Outcome, Receive, Selector};

use self::line::Line;
use crate::law::{Broken, Law};
use crate::terms::{Terms, is_mpi};

/// Watches one engine from its first call on.
///
/// Where the contract leaves the engine a choice ([`Order::PerSource`], [`Order::None`], a table that is full) the
/// judge follows what the engine chose.
#[derive(Clone, Debug)]
pub struct Judge {
    order: Order,
    terms: Terms,
    posted: Line<Receive>,
    unexpected: Line<Message>,
    hints: BTreeMap<ContextId, Hints>,
    /// What the last event, a probe, said that a receive would take.
    promise: Option<(Selector, Option<MsgId>)>,
    matches: u64,
}

type Verdict = Result<(), Broken>;

fn broken(law: Law, how: String) -> Verdict {
    Err(Broken::new(law, how))
}

fn require(holds: bool, law: Law, how: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { broken(law, how()) }
}

impl Judge {
    /// For an engine that promises `order`, which the terms may relax.
    pub fn new(order: Order, terms: impl Into<Terms>) -> Self {
        let terms = terms.into();
        Judge {
            order: terms.order.unwrap_or(order),
            terms,
            posted: Line::default(),
            unexpected: Line::default(),
            hints: BTreeMap::new(),
            promise: None,
            matches: 0,
        }
    }

    /// The call as a caller may make it. None if no caller may make it: the engine lacks it or is not for it, or an id
    /// is given to two things that are queued at once.
    ///
    /// The caller of a withdrawal passes what is queued. So a withdrawal of a queued id gets the selector or envelope
    /// of the entry that has the id, whatever a stream that was generated or shrunk has there.
    pub fn admit(&self, event: &Event) -> Option<Event> {
        let event = self.completed(event);
        self.admits(&event).then_some(event)
    }

    fn completed(&self, event: &Event) -> Event {
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

    fn admits(&self, event: &Event) -> bool {
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

    /// What the engine is granted, and which calls it has.
    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Messages matched with receives so far, by posts, arrivals, matched probes and sources learned late.
    pub fn matches(&self) -> u64 {
        self.matches
    }

    /// Number of entries in both queues.
    pub fn queued(&self) -> usize {
        self.posted.len() + self.unexpected.len()
    }

    /// The contexts in which something is queued or asserted.
    pub fn contexts(&self) -> Vec<ContextId> {
        let posted = self.posted.iter().map(|receive| receive.selector.context());
        let unexpected = self.unexpected.iter().map(|message| message.envelope.context);
        let mut all: Vec<_> = posted.chain(unexpected).chain(self.hints.keys().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Judges what `event`, which it [admitted](Judge::admit), came to.
    ///
    /// # Errors
    /// The law that is broken. The judge is then of no further use.
    pub fn judge(&mut self, event: &Event, outcome: &Outcome) -> Verdict {
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

    fn admitted(&self, selector: &Selector) -> bool {
        self.hints(selector.context()).admit(selector).is_ok()
    }
}
