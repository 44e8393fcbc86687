//! An engine that refuses every receive and message.

use matchpoint::{Footprint, Hints, Pair, Readdressed, Selector, Tag};

use super::*;

/// Delegates to `list`.
pub struct RefusingEngine {
    pub engine: Box<dyn Engine>,
    pub reason: Refused,
}

impl Engine for RefusingEngine {
    fn post_selector(&mut self, _: RecvId, _: &Selector) -> Result<Option<MsgId>, Refused> {
        Err(self.reason)
    }

    fn arrive(&mut self, _: MsgId, _: Pair, _: Tag) -> Result<Option<RecvId>, Refused> {
        Err(self.reason)
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.engine.probe(selector)
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.engine.matched_probe(selector)
    }

    fn cancel(&mut self, receive: &Receive) -> bool {
        self.engine.cancel(receive)
    }

    fn retract(&mut self, message: &Message) -> bool {
        self.engine.retract(message)
    }

    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        self.engine.readdress(message, source)
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        self.engine.set_hints(context, hints)
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.engine.close(context, drained);
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        self.engine.fail_source(context, source, drained);
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        self.engine.visit(queue, each);
    }

    fn posted_len(&self) -> usize {
        self.engine.posted_len()
    }

    fn unexpected_len(&self) -> usize {
        self.engine.unexpected_len()
    }

    fn footprint(&self) -> Footprint {
        self.engine.footprint()
    }
}
