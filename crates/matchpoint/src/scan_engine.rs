//! Engine that compares keys with vector kernels: the common part of `vector` and `fuzzy`.

use crate::blocks::{Blocks, Found, Keys, Pattern, SlotIndex};
use crate::effort::{Attempts, Effort};
use crate::engine::{Engine, Entry, Message, MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::{Envelope, Selector};
use crate::footprint::Footprint;
use crate::hints::HintTable;
use crate::maintenance::{self, Queues};
use crate::scan::{Kernel, Lanes};

/// Keys may have false positives, so every hit is verified.
pub(crate) trait Scheme: Copy + Send + 'static {
    type Posted: Keys<Receive, Self> + Send;
    type Unexpected: Keys<Message, Self> + Send;
    type Key: Copy;
    type Query: Copy;

    fn key(&self, envelope: &Envelope) -> Self::Key;
    fn query(&self, selector: &Selector) -> Self::Query;
    /// Entries that may match. Implementations are `inline(always)`.
    fn matching_receives<L: Lanes>(lanes: L, posted: &Self::Posted, key: &Self::Key) -> u64;
    fn matching_messages<L: Lanes>(lanes: L, unexpected: &Self::Unexpected, query: &Self::Query) -> u64;
}

struct ArrivalSearch<'a, S> {
    scheme: &'a S,
    envelope: &'a Envelope,
}

impl<S: Scheme> Pattern<Receive, S::Posted> for ArrivalSearch<'_, S> {
    type Key = S::Key;

    #[inline(always)]
    fn key(&self) -> S::Key {
        self.scheme.key(self.envelope)
    }

    #[inline(always)]
    fn candidates<L: Lanes>(lanes: L, posted: &S::Posted, key: S::Key) -> u64 {
        S::matching_receives(lanes, posted, &key)
    }

    #[inline(always)]
    fn matches(&self, receive: &Receive) -> bool {
        receive.selector.matches(self.envelope)
    }
}

struct PostSearch<'a, S> {
    scheme: &'a S,
    selector: &'a Selector,
}

impl<S: Scheme> Pattern<Message, S::Unexpected> for PostSearch<'_, S> {
    type Key = S::Query;

    #[inline(always)]
    fn key(&self) -> S::Query {
        self.scheme.query(self.selector)
    }

    #[inline(always)]
    fn candidates<L: Lanes>(lanes: L, unexpected: &S::Unexpected, query: S::Query) -> u64 {
        S::matching_messages(lanes, unexpected, &query)
    }

    #[inline(always)]
    fn matches(&self, message: &Message) -> bool {
        self.selector.matches(&message.envelope)
    }
}

pub(crate) struct ScanEngine<S: Scheme, E: Effort> {
    scheme: S,
    kernel: Kernel,
    posted: Blocks<Receive, S::Posted>,
    unexpected: Blocks<Message, S::Unexpected>,
    hints: HintTable,
    effort: E,
    false_hits: E,
}

impl<S: Scheme, E: Effort> ScanEngine<S, E> {
    pub(crate) fn new(scheme: S, kernel: Kernel) -> Self {
        ScanEngine {
            scheme,
            kernel,
            posted: Blocks::default(),
            unexpected: Blocks::default(),
            hints: HintTable::default(),
            effort: E::default(),
            false_hits: E::default(),
        }
    }

    #[inline]
    fn take_matching_receive(&mut self, envelope: &Envelope) -> Option<RecvId> {
        let arrival = ArrivalSearch { scheme: &self.scheme, envelope };
        let (effort, false_hits) = (&mut self.effort, &mut self.false_hits);
        let found = self.posted.find(self.kernel, Queue::Posted, &arrival, effort, false_hits)?;
        let id = self.posted.get(found.slot).id;
        self.posted.take(&self.scheme, found);
        Some(id)
    }

    #[inline]
    fn find_unexpected(&mut self, selector: &Selector) -> Option<Found> {
        let request = PostSearch { scheme: &self.scheme, selector };
        let (effort, false_hits) = (&mut self.effort, &mut self.false_hits);
        self.unexpected.find(self.kernel, Queue::Unexpected, &request, effort, false_hits)
    }

    #[inline]
    fn queue_receive(&mut self, receive: Receive) -> Result<(), Refused> {
        self.posted.push(&self.scheme, receive)
    }

    #[inline]
    fn queue_message(&mut self, message: Message) -> Result<(), Refused> {
        self.unexpected.push(&self.scheme, message)
    }

    #[inline]
    fn message_id(&self, found: Found) -> MsgId {
        self.unexpected.get(found.slot).id
    }

    #[inline]
    fn take_message(&mut self, found: Found) -> MsgId {
        let id = self.message_id(found);
        self.unexpected.take(&self.scheme, found);
        id
    }
}

impl<S: Scheme, E: Effort> Queues for ScanEngine<S, E> {
    type Posted = SlotIndex;
    type Unexpected = SlotIndex;

    fn posted_positions(&self) -> impl Iterator<Item = (u64, SlotIndex)> {
        self.posted.iter()
    }

    fn unexpected_positions(&self) -> impl Iterator<Item = (u64, SlotIndex)> {
        self.unexpected.iter()
    }

    fn receive(&self, at: SlotIndex) -> Receive {
        *self.posted.get(at)
    }

    fn message(&self, at: SlotIndex) -> Message {
        *self.unexpected.get(at)
    }

    fn take_posted(&mut self, at: SlotIndex) {
        self.posted.remove(at);
    }

    fn take_unexpected(&mut self, at: SlotIndex) {
        self.unexpected.remove(at);
    }

    fn set_envelope(&mut self, at: SlotIndex, with_source: Envelope) -> Result<(), Refused> {
        let message = Message { envelope: with_source, ..*self.unexpected.get(at) };
        self.unexpected.replace(&self.scheme, at, message);
        Ok(())
    }

    fn compact(&mut self, queue: Queue) {
        match queue {
            Queue::Posted => self.posted.compact(&self.scheme),
            Queue::Unexpected => self.unexpected.compact(&self.scheme),
        }
    }

    fn hints(&mut self) -> &mut HintTable {
        &mut self.hints
    }
}

impl<S: Scheme, E: Effort> Engine for ScanEngine<S, E> {
    maintenance::provided!(post_selector arrive probe matched_probe cancel retract readdress set_hints close fail_source);
    maintenance::provided!(posted_len unexpected_len attempts);

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        match queue {
            Queue::Posted => self.posted.iter().for_each(|(_, at)| each(Entry::Receive(self.receive(at)))),
            Queue::Unexpected => {
                self.unexpected.iter().for_each(|(_, at)| each(Entry::Message(self.message(at))));
            }
        }
    }

    fn footprint(&self) -> Footprint {
        let fixed_bytes = size_of::<Self>() as u64 + self.hints.bytes();
        let entries_bytes = self.posted.bytes() + self.unexpected.bytes();
        // The engine never frees memory.
        Footprint { fixed_bytes, peers_bytes: 0, entries_bytes, peak_bytes: fixed_bytes + entries_bytes }
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        if size_of::<E>() == 0 {
            return Vec::new();
        }
        let Attempts { posted, unexpected } = self.false_hits.attempts();
        vec![("posted_false_positives", posted as f64), ("unexpected_false_positives", unexpected as f64)]
    }
}
