//! Engine with a pair of queues per source and communicator: the common part of `rank_array` and `four_d`.
//!
//! Each communicator also has a queue of any-source receives. The engines differ in the table of sources
//! ([`Sources`]).

use crate::communicators::Communicators;
use crate::effort::Effort;
use crate::engine::{Drained, Engine, Message, Queue, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Envelope, Rank, Selector, Wild};
use crate::footprint::Footprint;
use crate::hints::{HintTable, Order};
use crate::linked::{Aged, LinkedQueue, Slab, SlotIndex};
use crate::maintenance::{self, Queues};

/// The queue of messages uses the first links of a message.
#[derive(Clone, Copy, Default)]
pub(super) struct Peer {
    pub(super) posted: LinkedQueue,
    pub(super) unexpected: LinkedQueue,
}

/// With `L` = 2, the second links of a message connect all messages of a communicator in arrival order.
pub(super) type Messages<const L: usize> = Slab<Aged<Message>, L>;

/// Messages of a communicator in arrival order; empty if `L` is 1.
pub(super) type Arrivals = LinkedQueue<1>;

pub(super) trait Sources<const L: usize>: Send + 'static {
    type SourceTableParameters: Copy + Send + 'static;

    /// True: an arrival compares receives of its source and any-source receives in posted order. False: first
    /// the receives of its source.
    const IS_MERGED: bool;

    fn new(parameters: Self::SourceTableParameters) -> Self;

    fn order(_: Self::SourceTableParameters) -> Order {
        Order::Total
    }

    fn get_mut(&mut self, source: Rank) -> Option<&mut Peer>;

    fn get_or_insert(
        &mut self,
        source: Rank,
        parameters: Self::SourceTableParameters,
    ) -> Result<&mut Peer, Refused>;

    fn search_all(
        &self,
        messages: &Messages<L>,
        arrivals: Arrivals,
        parameters: Self::SourceTableParameters,
        examined: &mut u64,
        matches: impl Fn(SlotIndex, &Message) -> bool + Copy,
    ) -> Option<SlotIndex>;

    fn bytes(&self) -> u64;
}

struct Communicator<S> {
    sources: S,
    any_source: LinkedQueue,
    arrivals: Arrivals,
}

impl<S> Communicator<S> {
    fn new<const L: usize>(parameters: S::SourceTableParameters) -> Self
    where
        S: Sources<L>,
    {
        Communicator {
            sources: S::new(parameters),
            any_source: LinkedQueue::default(),
            arrivals: LinkedQueue::default(),
        }
    }

    #[inline]
    fn posted_queue<const L: usize>(
        &mut self,
        selector: &Selector,
        parameters: S::SourceTableParameters,
    ) -> Result<&mut LinkedQueue, Refused>
    where
        S: Sources<L>,
    {
        match selector.source() {
            Wild::Is(source) => Ok(&mut self.sources.get_or_insert(source, parameters)?.posted),
            _ => Ok(&mut self.any_source),
        }
    }
}

pub(super) struct BySource<S: Sources<L>, E: Effort, const L: usize> {
    communicators: Communicators<Communicator<S>>,
    parameters: S::SourceTableParameters,
    posted: Slab<Aged<Receive>, 1>,
    unexpected: Messages<L>,
    clock: u64,
    hints: HintTable,
    /// Maximum bytes until the last `close`. Only `close` frees memory.
    peak_bytes: u64,
    effort: E,
}

impl<S: Sources<L>, E: Effort, const L: usize> BySource<S, E, L> {
    pub(super) fn new(parameters: S::SourceTableParameters) -> Self {
        BySource {
            communicators: Communicators::default(),
            parameters,
            posted: Slab::default(),
            unexpected: Slab::default(),
            clock: 0,
            hints: HintTable::default(),
            peak_bytes: 0,
            effort: E::default(),
        }
    }

    fn find_unexpected(&mut self, selector: &Selector) -> Option<SlotIndex> {
        // Saves a second lookup for receives posted before their messages.
        if self.unexpected.len() == 0 {
            return None;
        }
        let Communicator { sources, arrivals, .. } = self.communicators.find(selector.context())?;
        let mut examined = 0;
        let matches = |_, waiting: &Message| selector.matches(&waiting.envelope);
        let found = match selector.source() {
            Wild::Is(source) => sources
                .get_mut(source)
                .and_then(|peer| peer.unexpected.search(&self.unexpected, u64::MAX, &mut examined, matches)),
            _ => sources.search_all(&self.unexpected, *arrivals, self.parameters, &mut examined, matches),
        };
        self.effort.examined(Queue::Unexpected, examined);
        found
    }

    #[inline]
    fn take_matching_receive(&mut self, envelope: &Envelope) -> Option<RecvId> {
        let Communicator { sources, any_source, .. } = self.communicators.find(envelope.context)?;
        let mut no_queue = LinkedQueue::default();
        let named = sources.get_mut(envelope.source).map_or(&mut no_queue, |peer| &mut peer.posted);
        let mut examined = 0;
        let matches = |receive: &Receive| receive.selector.matches(envelope);
        let found = if S::IS_MERGED {
            named.search_merged(*any_source, &self.posted, &mut examined, matches)
        } else {
            named.search_both(*any_source, &self.posted, &mut examined, matches)
        };
        self.effort.examined(Queue::Posted, examined);
        let (at, is_any_source) = found?;
        let queue = if is_any_source { any_source } else { named };
        queue.unlink(&mut self.posted, at);
        Some(self.posted.remove(at).value.id)
    }

    #[inline]
    pub(super) fn queue_receive(&mut self, receive: Receive) -> Result<(), Refused> {
        self.clock += 1;
        let new = || Communicator::new(self.parameters);
        let communicator = self.communicators.find_or_insert(receive.selector.context(), new)?;
        let queue = communicator.posted_queue(&receive.selector, self.parameters)?;
        let at = self.posted.insert(Aged { value: receive, age: self.clock })?;
        queue.push(&mut self.posted, at);
        Ok(())
    }

    #[inline]
    pub(super) fn queue_message(&mut self, message: Message) -> Result<(), Refused> {
        self.clock += 1;
        let new = || Communicator::new(self.parameters);
        let communicator = self.communicators.find_or_insert(message.envelope.context, new)?;
        let queue =
            &mut communicator.sources.get_or_insert(message.envelope.source, self.parameters)?.unexpected;
        let at = self.unexpected.insert(Aged { value: message, age: self.clock })?;
        queue.push(&mut self.unexpected, at);
        if L > 1 {
            communicator.arrivals.push(&mut self.unexpected, at);
        }
        Ok(())
    }

    fn peers_bytes(&self) -> u64 {
        self.communicators.bytes(|communicator| communicator.sources.bytes())
    }
}

impl<S: Sources<L>, E: Effort, const L: usize> Queues for BySource<S, E, L> {
    type Posted = SlotIndex;
    type Unexpected = SlotIndex;

    fn posted_positions(&self) -> impl Iterator<Item = (u64, SlotIndex)> {
        self.posted.iter().map(|(at, posted)| (posted.age, at))
    }

    fn unexpected_positions(&self) -> impl Iterator<Item = (u64, SlotIndex)> {
        self.unexpected.iter().map(|(at, waiting)| (waiting.age, at))
    }

    fn receive(&self, at: SlotIndex) -> Receive {
        self.posted.get(at).value
    }

    fn message(&self, at: SlotIndex) -> Message {
        self.unexpected.get(at).value
    }

    fn take_posted(&mut self, at: SlotIndex) {
        let selector = self.posted.get(at).value.selector;
        let communicator = self.communicators.find(selector.context());
        if let Some(Ok(queue)) =
            communicator.map(|communicator| communicator.posted_queue(&selector, self.parameters))
        {
            queue.unlink(&mut self.posted, at);
        }
        self.posted.remove(at);
    }

    #[inline]
    fn take_unexpected(&mut self, at: SlotIndex) {
        let envelope = self.unexpected.get(at).value.envelope;
        if let Some(Communicator { sources, arrivals, .. }) = self.communicators.find(envelope.context) {
            if L > 1 {
                arrivals.unlink(&mut self.unexpected, at);
            }
            if let Some(peer) = sources.get_mut(envelope.source) {
                peer.unexpected.unlink(&mut self.unexpected, at);
            }
        }
        self.unexpected.remove(at);
    }

    fn set_envelope(&mut self, at: SlotIndex, named: Envelope) -> Result<(), Refused> {
        let old = self.unexpected.get(at).value.envelope;
        let Some(Communicator { sources, .. }) = self.communicators.find(named.context) else {
            return Ok(());
        };
        sources.get_or_insert(named.source, self.parameters)?;
        sources.get_or_insert(old.source, self.parameters)?.unexpected.unlink(&mut self.unexpected, at);
        sources.get_or_insert(named.source, self.parameters)?.unexpected.insert(&mut self.unexpected, at);
        self.unexpected.get_mut(at).value.envelope = named;
        Ok(())
    }

    fn hints(&mut self) -> &mut HintTable {
        &mut self.hints
    }
}

impl<S: Sources<L>, E: Effort, const L: usize> Engine for BySource<S, E, L> {
    maintenance::provided!(post_selector arrive probe matched_probe cancel retract readdress set_hints fail_source visit);
    maintenance::provided!(posted_len unexpected_len attempts);

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.peak_bytes = self.footprint().peak_bytes;
        maintenance::close(self, context, drained);
        self.communicators.close(context);
    }

    fn order(&self) -> Order {
        S::order(self.parameters)
    }

    fn footprint(&self) -> Footprint {
        let fixed_bytes = size_of::<Self>() as u64 + self.hints.bytes();
        let peers_bytes = self.peers_bytes();
        let entries_bytes = self.posted.bytes() + self.unexpected.bytes();
        let peak_bytes = self.peak_bytes.max(fixed_bytes + peers_bytes + entries_bytes);
        Footprint { fixed_bytes, peers_bytes, entries_bytes, peak_bytes }
    }
}
