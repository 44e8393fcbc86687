//! `list`: two linear queues, as in MPICH and MVAPICH. The simplest engine, and a reference for other
//! engines.
//!
//! Post, arrive, probe, cancel and retract are O(entries of the queue searched).

use std::collections::VecDeque;

use super::Spec;
use crate::effort::{Attempts, Effort};
use crate::engine::{Drained, Engine, Entry, Message, MsgId, Queue, Readdressed, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Envelope, Pair, Rank, Selector, Tag, Wild};
use crate::footprint::Footprint;
use crate::hints::{HintTable, Hints};

pub(super) const SPEC: Spec = Spec {
    name: "list",
    summary: "one linear queue each (MPICH, MVAPICH)",
    parameters: &[],
    variants: &[],
    tight: &[],
    build: |_, is_counting| {
        Ok(if is_counting { Box::new(List::<Attempts>::default()) } else { Box::new(List::<()>::default()) })
    },
};

/// Removes an entry, usually the head. Without the branch, an arrival that matches the head takes 248 or 282
/// instructions, which depends on inlining.
#[inline]
fn take<T>(queue: &mut VecDeque<T>, at: usize) -> Option<T> {
    if at == 0 { queue.pop_front() } else { queue.remove(at) }
}

/// See the [module](self).
#[derive(Default)]
pub struct List<E: Effort = ()> {
    posted: VecDeque<Receive>,
    unexpected: VecDeque<Message>,
    pub(super) hints: HintTable,
    effort: E,
}

impl<E: Effort> List<E> {
    fn find_unexpected(&mut self, selector: &Selector) -> Option<usize> {
        let found = self.unexpected.iter().position(|message| selector.matches(&message.envelope));
        self.effort.examined(Queue::Unexpected, found.map_or(self.unexpected.len(), |at| at + 1) as u64);
        found
    }

    fn find_posted(&mut self, envelope: &Envelope) -> Option<usize> {
        let found = self.posted.iter().position(|receive| receive.selector.matches(envelope));
        self.effort.examined(Queue::Posted, found.map_or(self.posted.len(), |at| at + 1) as u64);
        found
    }

    #[inline]
    pub(super) fn queue_receive(&mut self, receive: Receive) -> Result<(), Refused> {
        self.posted.try_reserve(1).map_err(|_| Refused::Memory)?;
        self.posted.push_back(receive);
        Ok(())
    }

    #[inline]
    pub(super) fn queue_message(&mut self, message: Message) -> Result<(), Refused> {
        self.unexpected.try_reserve(1).map_err(|_| Refused::Memory)?;
        self.unexpected.push_back(message);
        Ok(())
    }
}

impl<E: Effort> Engine for List<E> {
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let receive = Receive::new(id, *selector);
        self.hints.admit(&receive.selector)?;
        if let Some(at) = self.find_unexpected(&receive.selector) {
            return Ok(take(&mut self.unexpected, at).map(|message| message.id));
        }
        self.queue_receive(receive)?;
        Ok(None)
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let message = Message::new(id, Envelope::of(pair, tag));
        if let Some(at) = self.find_posted(&message.envelope) {
            return Ok(take(&mut self.posted, at).map(|receive| receive.id));
        }
        self.hints.admit_unexpected(message.envelope.context)?;
        self.queue_message(message)?;
        Ok(None)
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.hints.admit(selector).ok()?;
        self.find_unexpected(selector).map(|at| self.unexpected[at].id)
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.hints.admit(selector).ok()?;
        let at = self.find_unexpected(selector)?;
        take(&mut self.unexpected, at).map(|message| message.id)
    }

    fn reserve(&mut self, entries: usize) -> Result<(), Refused> {
        self.posted.try_reserve(entries).map_err(|_| Refused::Memory)?;
        self.unexpected.try_reserve(entries).map_err(|_| Refused::Memory)
    }

    fn cancel(&mut self, receive: &Receive) -> bool {
        let at = self.posted.iter().position(|posted| posted.id == receive.id);
        at.and_then(|at| self.posted.remove(at)).is_some()
    }

    fn retract(&mut self, message: &Message) -> bool {
        let at = self.unexpected.iter().position(|unexpected| unexpected.id == message.id);
        at.and_then(|at| self.unexpected.remove(at)).is_some()
    }

    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        if message.envelope.source != Rank::UNKNOWN || source == Rank::UNKNOWN {
            return Ok(Readdressed::Unchanged);
        }
        let Some(at) = self.unexpected.iter().position(|unexpected| unexpected.id == message.id) else {
            return Ok(Readdressed::Unchanged);
        };
        let old = self.unexpected[at].envelope;
        if old.source != Rank::UNKNOWN {
            return Ok(Readdressed::Unchanged);
        }
        let new = Envelope { source, ..old };
        let oldest = self.posted.iter().position(|receive| receive.selector.matches(&new));
        if let Some(receive) = oldest.and_then(|oldest| self.posted.remove(oldest)) {
            self.unexpected.remove(at);
            return Ok(Readdressed::Matched(receive.id));
        }
        self.unexpected[at].envelope = new;
        Ok(Readdressed::SourceSet)
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        let posted = self.posted.iter().filter(|receive| receive.selector.context() == context);
        for receive in posted {
            hints.admit(&receive.selector)?;
        }
        if hints.no_unexpected && self.unexpected.iter().any(|message| message.envelope.context == context) {
            return Err(Refused::Hint);
        }
        self.hints.set(context, hints)
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.posted.retain(|receive| {
            let stays = receive.selector.context() != context;
            if !stays {
                drained.receives.push(receive.id);
            }
            stays
        });
        self.unexpected.retain(|message| {
            let stays = message.envelope.context != context;
            if !stays {
                drained.messages.push(message.id);
            }
            stays
        });
        self.hints.forget(context);
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        self.posted.retain(|receive| {
            let is_in_context = receive.selector.context() == context;
            match receive.selector.source() {
                Wild::Is(exact) if is_in_context && exact == source => {
                    drained.receives.push(receive.id);
                    return false;
                }
                Wild::Any if is_in_context => drained.pending.push(receive.id),
                _ => {}
            }
            true
        });
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        match queue {
            Queue::Posted => self.posted.iter().for_each(|&receive| each(Entry::Receive(receive))),
            Queue::Unexpected => self.unexpected.iter().for_each(|&message| each(Entry::Message(message))),
        }
    }

    fn posted_len(&self) -> usize {
        self.posted.len()
    }

    fn unexpected_len(&self) -> usize {
        self.unexpected.len()
    }

    fn footprint(&self) -> Footprint {
        let fixed_bytes = size_of::<Self>() as u64 + self.hints.bytes();
        let entries_bytes = (self.posted.capacity() * size_of::<Receive>()
            + self.unexpected.capacity() * size_of::<Message>()) as u64;
        // A `VecDeque` never frees memory on removal.
        Footprint { fixed_bytes, peers_bytes: 0, entries_bytes, peak_bytes: fixed_bytes + entries_bytes }
    }

    fn attempts(&self) -> Attempts {
        self.effort.attempts()
    }
}
