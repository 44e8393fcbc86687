//! Each engine keeps the laws if a caller searches first and queues later, as network libraries do.

use matchpoint::engines::{self, Variant};
use matchpoint::{
    Attempts, ContextId, Drained, Engine, Entry, Footprint, Hints, Message, MsgId, Order, Pair, Queue, Rank,
    Readdressed, Receive, RecvId, Refused, Selector, Tag,
};
use matchpoint_conformance::{Options, check};

/// Posts by a matched probe and then by queueing, and lets messages arrive in the same way.
struct SearchingFirst(Box<dyn Engine>);

impl Engine for SearchingFirst {
    fn post_open(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        match self.0.matched_probe(selector) {
            None => {
                let place = self.0.place(selector.pair(), Tag(selector.tag_and_ignored().0));
                self.0.queue_receive(id, selector, place).map(|()| None)
            }
            found => Ok(found),
        }
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        match self.0.take_receive(pair, tag) {
            None => {
                let place = self.0.place(pair, tag);
                self.0.queue_message(id, pair, tag, place).map(|()| None)
            }
            found => Ok(found),
        }
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.0.probe(selector)
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.0.matched_probe(selector)
    }

    fn cancel(&mut self, receive: &Receive) -> bool {
        self.0.cancel(receive)
    }

    fn retract(&mut self, message: &Message) -> bool {
        self.0.retract(message)
    }

    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        self.0.readdress(message, source)
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        self.0.set_hints(context, hints)
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.0.close(context, drained);
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        self.0.fail_source(context, source, drained);
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        self.0.visit(queue, each);
    }

    fn posted_len(&self) -> usize {
        self.0.posted_len()
    }

    fn unexpected_len(&self) -> usize {
        self.0.unexpected_len()
    }

    fn order(&self) -> Order {
        self.0.order()
    }

    fn demands(&self) -> Hints {
        self.0.demands()
    }

    fn footprint(&self) -> Footprint {
        self.0.footprint()
    }

    fn attempts(&self) -> Attempts {
        self.0.attempts()
    }
}

#[test]
fn engines_search_first_and_queue_later() {
    for Variant { name, tight } in engines::variants() {
        let options = Options { streams: 3, fixed_table: tight, ..Options::quick() };
        let make = || -> Box<dyn Engine> { Box::new(SearchingFirst(engines::create(&name).unwrap())) };
        let report = check(&make, &options).unwrap_or_else(|violation| panic!("{name}\n{violation}"));
        assert!(report.matches > 450, "{name}: {report:?}");
    }
}
