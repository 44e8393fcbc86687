//! `Recorded`: an engine around any engine, which writes down every call: a run that went wrong becomes a script.

use crate::effort::Attempts;
use crate::engine::{
    Deliver, Drained, Engine, Entry, Message, MsgId, Queue, Readdressed, Receive, RecvId, Refused,
};
use crate::envelope::{ContextId, Envelope, Pair, Rank, Selector, Tag};
use crate::event::Event;
use crate::footprint::Footprint;
use crate::hints::{Hints, Order};

/// See the [module's documentation](self). The record is not in its [`Footprint`], and grows with every call.
pub struct Recorded {
    engine: Box<dyn Engine>,
    events: Vec<Event>,
}

impl Recorded {
    /// Writes down what is asked of `engine` from now on.
    pub fn new(engine: Box<dyn Engine>) -> Self {
        Recorded { engine, events: Vec::new() }
    }

    /// The calls so far. [`script::print`](crate::event::script::print) makes a script of them.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The engine, and the calls it was asked.
    pub fn into_parts(self) -> (Box<dyn Engine>, Vec<Event>) {
        (self.engine, self.events)
    }
}

impl Engine for Recorded {
    fn post_open(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let receive = Receive::new(id, *selector);
        self.events.push(Event::Post(receive));
        self.engine.post(receive)
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let message = Message::new(id, Envelope::of(pair, tag));
        self.events.push(Event::Arrive(message));
        self.engine.arrive(id, pair, tag)
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.events.push(Event::Probe(*selector));
        self.engine.probe(selector)
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.events.push(Event::MatchedProbe(*selector));
        self.engine.matched_probe(selector)
    }

    fn cancel(&mut self, receive: &Receive) -> bool {
        self.events.push(Event::Cancel(*receive));
        self.engine.cancel(receive)
    }

    fn retract(&mut self, message: &Message) -> bool {
        self.events.push(Event::Retract(*message));
        self.engine.retract(message)
    }

    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        self.events.push(Event::Readdress(*message, source));
        self.engine.readdress(message, source)
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        self.events.push(Event::SetHints(context, hints));
        self.engine.set_hints(context, hints)
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.events.push(Event::Close(context));
        self.engine.close(context, drained);
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        self.events.push(Event::FailSource(context, source));
        self.engine.fail_source(context, source, drained);
    }

    fn arrive_batch(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        self.events.push(Event::ArriveBatch(messages.to_vec()));
        self.engine.arrive_batch(messages, out)
    }

    fn deliver_batch(
        &mut self,
        messages: &[Message],
        out: &mut Vec<Option<RecvId>>,
        deliver: &Deliver<'_>,
    ) -> Result<(), Refused> {
        self.events.push(Event::ArriveBatch(messages.to_vec()));
        self.engine.deliver_batch(messages, out, deliver)
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        self.engine.visit(queue, each);
    }

    fn queued_in(&self, context: ContextId) -> (usize, usize) {
        self.engine.queued_in(context)
    }

    fn posted_len(&self) -> usize {
        self.engine.posted_len()
    }

    fn unexpected_len(&self) -> usize {
        self.engine.unexpected_len()
    }

    fn order(&self) -> Order {
        self.engine.order()
    }

    fn demands(&self) -> Hints {
        self.engine.demands()
    }

    fn substitute(&self) -> Option<&str> {
        self.engine.substitute()
    }

    fn footprint(&self) -> Footprint {
        self.engine.footprint()
    }

    fn attempts(&self) -> Attempts {
        self.engine.attempts()
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        self.engine.statistics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines;
    use crate::event::script;

    #[test]
    fn what_was_played_is_what_was_recorded() {
        let text = "\
post r1 0/3/7
arrive m1 0/?/7
arrive_batch m2=0/3/7 m3=0/4/7
probe 0/*/*
matched_probe 0/3/*
cancel r1 0/3/7
retract m1 0/?/7
readdress m1 0/?/7 3
set_hints 0 no_any_tag
fail_source 0 3
close 0
";
        let mut engine = Recorded::new(engines::create("list").unwrap());
        for event in script::parse(text).unwrap() {
            event.play(&mut engine);
        }
        assert_eq!(script::print(engine.events()), text);
    }
}
