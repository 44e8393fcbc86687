//! `locked`: any engine behind one lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Concurrent;
use crate::engine::{
    Deliver, Drained, Engine, Entry, Message, MsgId, Queue, Readdressed, Receive, RecvId, Refused,
};
use crate::envelope::{ContextId, Pair, Rank, Selector, Tag};
use crate::footprint::Footprint;
use crate::hints::Hints;

/// One engine, one lock: calls take effect while they hold it. What MPI libraries do, and what others are compared with.
pub struct Locked(Mutex<Box<dyn Engine>>);

impl Locked {
    /// Puts a lock before `engine`.
    pub fn new(engine: Box<dyn Engine>) -> Self {
        Locked(Mutex::new(engine))
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn Engine>> {
        // An engine that panicked is as good as one that did so in a thread of its own.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Concurrent for Locked {
    fn post_open(&self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        self.lock().post_open(id, selector)
    }

    fn arrive(&self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        self.lock().arrive(id, pair, tag)
    }

    fn arrive_batch(&self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        self.lock().arrive_batch(messages, out)
    }

    fn deliver_batch(
        &self,
        messages: &[Message],
        out: &mut Vec<Option<RecvId>>,
        deliver: &Deliver<'_>,
    ) -> Result<(), Refused> {
        self.lock().deliver_batch(messages, out, deliver)
    }

    fn probe(&self, selector: &Selector) -> Option<MsgId> {
        self.lock().probe(selector)
    }

    fn matched_probe(&self, selector: &Selector) -> Option<MsgId> {
        self.lock().matched_probe(selector)
    }

    fn cancel(&self, receive: &Receive) -> bool {
        self.lock().cancel(receive)
    }

    fn retract(&self, message: &Message) -> bool {
        self.lock().retract(message)
    }

    fn readdress(&self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        self.lock().readdress(message, source)
    }

    fn set_hints(&self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        self.lock().set_hints(context, hints)
    }

    fn close(&self, context: ContextId, drained: &mut Drained) {
        self.lock().close(context, drained);
    }

    fn fail_source(&self, context: ContextId, source: Rank, drained: &mut Drained) {
        self.lock().fail_source(context, source, drained);
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        self.lock().visit(queue, each);
    }

    fn posted_len(&self) -> usize {
        self.lock().posted_len()
    }

    fn unexpected_len(&self) -> usize {
        self.lock().unexpected_len()
    }

    fn substitute(&self) -> Option<String> {
        self.lock().substitute().map(str::to_owned)
    }

    fn footprint(&self) -> Footprint {
        let inside = self.lock().footprint();
        let own = size_of::<Self>() as u64;
        Footprint { fixed_bytes: inside.fixed_bytes + own, peak_bytes: inside.peak_bytes + own, ..inside }
    }
}
