//! A concurrent engine that one thread calls, as any other engine. Nothing of its own allocates.

use matchpoint::concurrent::Concurrent;
use matchpoint::{
    ContextId, Drained, Engine, Entry, Footprint, Hints, Message, MsgId, Pair, Queue, Rank, Readdressed,
    Receive, RecvId, Refused, Selector, Tag,
};

pub struct Alone(pub Box<dyn Concurrent>);

impl Engine for Alone {
    fn post_open(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        self.0.post_open(id, selector)
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        self.0.arrive(id, pair, tag)
    }

    fn arrive_batch(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        self.0.arrive_batch(messages, out)
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

    fn footprint(&self) -> Footprint {
        self.0.footprint()
    }
}
