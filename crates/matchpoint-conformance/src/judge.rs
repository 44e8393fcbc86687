//! The judge: holds both queues itself, and says of each outcome whether the contract permits it.

use std::collections::BTreeMap;

use matchpoint::{
    ContextId, Drained, Engine, Entry, Envelope, Event, Hints, Message, MsgId, Order, Outcome, Queue, Rank,
    Receive, RecvId, Refused, Selector, Wild,
};

use crate::law::{Broken, Law};

/// Watches one engine from its first call on.
///
/// Where the contract leaves the engine a choice ([`Order::PerSource`], [`Order::None`], a table that is full) the
/// judge follows what the engine chose.
#[derive(Clone, Debug)]
pub struct Judge {
    order: Order,
    fixed_table: bool,
    posted: Vec<Receive>,
    unexpected: Vec<Message>,
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
    /// For an engine that promises `order`. With `fixed_table` it may refuse as [`Refused::Full`] what would wait.
    pub fn new(order: Order, fixed_table: bool) -> Self {
        Judge {
            order,
            fixed_table,
            posted: Vec::new(),
            unexpected: Vec::new(),
            hints: BTreeMap::new(),
            promise: None,
            matches: 0,
        }
    }

    /// Whether a caller may make this call: no id is given to two things that are queued at once.
    pub fn admits(&self, event: &Event) -> bool {
        match event {
            Event::Post(receive) => self.posted.iter().all(|posted| posted.id != receive.id),
            Event::Arrive(message) => self.is_new(message),
            Event::ArriveBatch(messages) => messages.iter().enumerate().all(|(at, message)| {
                self.is_new(message) && messages[..at].iter().all(|earlier| earlier.id != message.id)
            }),
            _ => true,
        }
    }

    fn is_new(&self, message: &Message) -> bool {
        self.unexpected.iter().all(|waiting| waiting.id != message.id)
    }

    /// Messages matched with receives so far, by posts, arrivals and matched probes.
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

    /// Judges what `event`, which it [admits](Judge::admits), came to.
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
            (Event::Cancel(id), Outcome::Done(done)) => self.cancel(*id, *done),
            (Event::Retract(id), Outcome::Done(done)) => self.retract(*id, *done),
            (Event::Readdress(id, source), Outcome::Done(done)) => self.readdress(*id, *source, *done),
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
        self.hints.get(&context).copied().unwrap_or_default()
    }

    fn order(&self, context: ContextId) -> Order {
        if self.hints(context).allow_overtaking { Order::None } else { self.order }
    }

    fn admitted(&self, selector: &Selector) -> bool {
        self.hints(selector.context()).admit(selector).is_ok()
    }

    /// Whether a receive with `selector` may take `found`.
    fn may_take(&self, selector: &Selector, found: Option<MsgId>, law: Law) -> Verdict {
        let mut waiting = self.unexpected.iter().filter(|message| selector.matches(&message.envelope));
        let Some(id) = found else {
            let missed = waiting.next();
            return missed.map_or(Ok(()), |missed| {
                broken(law, format!("{selector} found nothing, though m{} waits.", missed.id.0))
            });
        };
        let Some(taken) = self.unexpected.iter().find(|message| message.id == id) else {
            return broken(law, format!("{selector} found m{}, which is not queued.", id.0));
        };
        require(selector.matches(&taken.envelope), law, || {
            format!("{selector} found m{}, which is {}.", id.0, taken.envelope)
        })?;
        let order = self.order(selector.context());
        let before = |earlier: &&Message| match order {
            Order::Total => true,
            Order::PerSource => earlier.envelope.source == taken.envelope.source,
            Order::None => false,
        };
        let overtaken = waiting.take_while(|message| message.id != id).find(before);
        overtaken.map_or(Ok(()), |earlier| {
            broken(law, format!("{selector} found m{}, though m{} is earlier.", id.0, earlier.id.0))
        })
    }

    /// Whether it is what the probe just before said.
    fn keeps(
        promise: Option<(Selector, Option<MsgId>)>,
        selector: &Selector,
        found: Option<MsgId>,
    ) -> Verdict {
        match promise {
            Some((probed, said)) if probed == *selector => require(said == found, Law::Probe, || {
                format!("{selector} was probed and found {said:?}, then found {found:?}.")
            }),
            _ => Ok(()),
        }
    }

    /// Whether a call that would have queued something may be refused like this.
    fn may_refuse(&self, why: Refused, call: impl FnOnce() -> String) -> Verdict {
        let full = why == Refused::Full && self.fixed_table;
        require(full, Law::Refusal, || format!("{} was refused: {why}.", call()))
    }

    fn take_unexpected(&mut self, id: MsgId) {
        self.unexpected.retain(|message| message.id != id);
        self.matches += 1;
    }

    fn post(
        &mut self,
        receive: &Receive,
        result: Result<Option<MsgId>, Refused>,
        promise: Option<(Selector, Option<MsgId>)>,
    ) -> Verdict {
        let selector = &receive.selector;
        if !self.admitted(selector) {
            return require(result == Err(Refused::Hint), Law::Refusal, || {
                format!("A post of {selector} breaks an assertion, and returned {result:?}.")
            });
        }
        let found = result.unwrap_or(None);
        self.may_take(selector, found, Law::Post)?;
        if let Err(why) = result {
            return self.may_refuse(why, || format!("A post of {selector}"));
        }
        Judge::keeps(promise, selector, found)?;
        match found {
            Some(id) => self.take_unexpected(id),
            None => self.posted.push(*receive),
        }
        Ok(())
    }

    fn may_serve(&self, envelope: &Envelope, found: Option<RecvId>, law: Law) -> Verdict {
        let mut waiting = self.posted.iter().filter(|receive| receive.selector.matches(envelope));
        let first = waiting.next();
        let (Some(id), Some(first)) = (found, first) else {
            return require(found == first.map(|receive| receive.id), law, || {
                format!("{envelope} arrived and took {found:?}, where it was to take {first:?}.")
            });
        };
        let any = self.order(envelope.context) == Order::None;
        require(id == first.id || any && waiting.any(|receive| receive.id == id), law, || {
            format!("{envelope} arrived and took r{}, though r{} was posted first.", id.0, first.id.0)
        })
    }

    fn arrive(&mut self, message: &Message, result: Result<Option<RecvId>, Refused>, law: Law) -> Verdict {
        let envelope = &message.envelope;
        let found = result.unwrap_or(None);
        self.may_serve(envelope, found, law)?;
        if found.is_none() && self.hints(envelope.context).no_unexpected {
            return require(result == Err(Refused::Hint), Law::Refusal, || {
                format!("{envelope} was to be refused, and the arrival returned {result:?}.")
            });
        }
        if let Err(why) = result {
            return self.may_refuse(why, || format!("The arrival of {envelope}"));
        }
        match found {
            Some(id) => {
                self.posted.retain(|receive| receive.id != id);
                self.matches += 1;
            }
            None => self.unexpected.push(*message),
        }
        Ok(())
    }

    fn batch(
        &mut self,
        messages: &[Message],
        out: &[Option<RecvId>],
        result: Result<(), Refused>,
    ) -> Verdict {
        let done = out.len();
        require(
            if result.is_ok() { done == messages.len() } else { done < messages.len() },
            Law::Batch,
            || format!("A batch of {} returned {result:?} and {done} outcomes.", messages.len()),
        )?;
        for (message, &found) in messages.iter().zip(out) {
            self.arrive(message, Ok(found), Law::Batch)?;
        }
        match result {
            Err(why) => self.arrive(&messages[done], Err(why), Law::Batch),
            Ok(()) => Ok(()),
        }
    }

    fn probe(
        &mut self,
        selector: &Selector,
        found: Option<MsgId>,
        promise: Option<(Selector, Option<MsgId>)>,
    ) -> Verdict {
        self.look(selector, found, promise, Law::Probe)?;
        self.promise = Some((*selector, found));
        Ok(())
    }

    fn matched_probe(
        &mut self,
        selector: &Selector,
        found: Option<MsgId>,
        promise: Option<(Selector, Option<MsgId>)>,
    ) -> Verdict {
        self.look(selector, found, promise, Law::MatchedProbe)?;
        found.into_iter().for_each(|id| self.take_unexpected(id));
        Ok(())
    }

    fn look(
        &self,
        selector: &Selector,
        found: Option<MsgId>,
        promise: Option<(Selector, Option<MsgId>)>,
        law: Law,
    ) -> Verdict {
        if !self.admitted(selector) {
            return require(found.is_none(), law, || {
                format!("{selector} breaks an assertion, and found {found:?}.")
            });
        }
        self.may_take(selector, found, law)?;
        Judge::keeps(promise, selector, found)
    }

    fn cancel(&mut self, id: RecvId, done: bool) -> Verdict {
        let at = self.posted.iter().position(|receive| receive.id == id);
        require(done == at.is_some(), Law::Cancel, || format!("Cancelling r{} returned {done}.", id.0))?;
        at.map(|at| self.posted.remove(at));
        Ok(())
    }

    fn retract(&mut self, id: MsgId, done: bool) -> Verdict {
        let at = self.unexpected.iter().position(|message| message.id == id);
        require(done == at.is_some(), Law::Retract, || format!("Retracting m{} returned {done}.", id.0))?;
        at.map(|at| self.unexpected.remove(at));
        Ok(())
    }

    fn readdress(&mut self, id: MsgId, source: Rank, done: bool) -> Verdict {
        let posted = &self.posted;
        let nameless = |message: &&mut Message| message.envelope.source == Rank::UNKNOWN;
        let waiting = self.unexpected.iter_mut().find(|message| message.id == id).filter(nameless);
        let waiting = waiting.filter(|message| {
            let named = Envelope { source, ..message.envelope };
            source != Rank::UNKNOWN && !posted.iter().any(|receive| receive.selector.matches(&named))
        });
        require(done == waiting.is_some(), Law::Readdress, || {
            format!("Readdressing m{} to {} returned {done}.", id.0, source.0)
        })?;
        waiting.into_iter().for_each(|message| message.envelope.source = source);
        Ok(())
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints, result: Result<(), Refused>) -> Verdict {
        let mut here = self.posted.iter().filter(|receive| receive.selector.context() == context);
        let posted_keep = here.all(|receive| hints.admit(&receive.selector).is_ok());
        let waits = self.unexpected.iter().any(|message| message.envelope.context == context);
        let keeps = posted_keep && !(hints.no_unexpected && waits);
        require(result == if keeps { Ok(()) } else { Err(Refused::Hint) }, Law::Hints, || {
            format!("Setting {hints:?} on {} returned {result:?}.", context.0)
        })?;
        if keeps {
            self.hints.insert(context, hints);
        }
        Ok(())
    }

    /// What closing `context` is to drain.
    pub fn drained_by_close(&self, context: ContextId) -> Drained {
        let receives = self.posted.iter().filter(|receive| receive.selector.context() == context);
        let messages = self.unexpected.iter().filter(|message| message.envelope.context == context);
        Drained {
            receives: receives.map(|receive| receive.id).collect(),
            messages: messages.map(|message| message.id).collect(),
            pending: Vec::new(),
        }
    }

    fn close(&mut self, context: ContextId, drained: &Drained) -> Verdict {
        let expected = self.drained_by_close(context);
        require(*drained == expected, Law::Close, || {
            format!("Closing {} drained {drained:?}, not {expected:?}.", context.0)
        })?;
        self.posted.retain(|receive| receive.selector.context() != context);
        self.unexpected.retain(|message| message.envelope.context != context);
        self.hints.remove(&context);
        Ok(())
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &Drained) -> Verdict {
        let ids = |of: Wild<Rank>| {
            let here = self.posted.iter().filter(|receive| receive.selector.context() == context);
            here.filter(|receive| receive.selector.source() == of).map(|receive| receive.id).collect()
        };
        let receives = if source == Rank::UNKNOWN { Vec::new() } else { ids(Wild::Is(source)) };
        let expected = Drained { receives, messages: Vec::new(), pending: ids(Wild::Any) };
        require(*drained == expected, Law::FailSource, || {
            format!("The failure of {} in {} drained {drained:?}, not {expected:?}.", source.0, context.0)
        })?;
        self.posted.retain(|receive| !expected.receives.contains(&receive.id));
        Ok(())
    }

    /// Compares the lengths of the queues. O(1).
    ///
    /// # Errors
    /// They are not those of the judge's own queues.
    pub fn compare_lengths(&self, engine: &dyn Engine) -> Verdict {
        for (name, has, expected) in [
            ("posted", engine.posted_len(), self.posted.len()),
            ("unexpected", engine.unexpected_len(), self.unexpected.len()),
        ] {
            require(has == expected, Law::Queues, || {
                format!("The {name} queue has length {has}, not {expected}.")
            })?;
        }
        Ok(())
    }

    /// Compares lengths, contents and order of both queues, and whether the footprint adds up. O(entries).
    ///
    /// # Errors
    /// They are not those of the judge's own queues.
    pub fn compare(&self, engine: &dyn Engine) -> Verdict {
        self.compare_lengths(engine)?;
        let posted = self.posted.iter().map(|&receive| Entry::Receive(receive)).collect();
        let unexpected = self.unexpected.iter().map(|&message| Entry::Message(message)).collect();
        for (queue, expected) in [(Queue::Posted, posted), (Queue::Unexpected, unexpected)] {
            let expected: Vec<Entry> = expected;
            let mut has = Vec::with_capacity(expected.len());
            engine.visit(queue, &mut |entry| has.push(entry));
            require(has == expected, Law::Queues, || {
                format!("Visiting {queue:?} gave {has:?}, not {expected:?}.")
            })?;
        }
        let footprint = engine.footprint();
        require(footprint.peak_bytes >= footprint.now_bytes(), Law::Footprint, || format!("{footprint:?}."))
    }
}
