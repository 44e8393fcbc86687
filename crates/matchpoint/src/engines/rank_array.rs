//! `rank_array`: per communicator an array of queues, one pair for each source, and a queue of the receives from any
//! source, as in Open MPI's ob1 (partner paper §2; fuzzy paper §VI-B has its memory).
//!
//! * A message looks in its source's posted queue and in the any-source queue, and takes the receive with the smaller
//!   number (ob1's sequence number): whichever was posted first.
//! * A receive that names its source looks in that source's unexpected queue.
//! * A receive from any source looks through the unexpected queues of *all* sources. With `order=total` it takes the
//!   earliest message of all; with `order=per_source` the first that the lowest rank has, which MPI permits and Open
//!   MPI's users meet. (ob1 starts after the rank it last served that way, in a ring. Here it is always the lowest, so
//!   that a probe foretells what a receive takes.)
//!
//! Naming the source: O(entries of that source and, for arrivals, receives posted from any source). Leaving it open:
//! O(sources heard of + messages waiting there). Cancel, retract and readdress compare every entry, as nothing maps ids
//! to places: MPI programs cancel rarely.
//!
//! Sources below `dense` index an array, grown to the highest heard of: 8 bytes for each. Sources beyond it (libfabric
//! addresses, [`Rank::UNKNOWN`]) are in a sorted list: 16 bytes for each heard of, found in O(log of their number).

use super::{Arguments, Built, Parameter, Spec};
use crate::chains::{Aged, Chain, NIL, Place, Slab};
use crate::effort::{Attempts, Effort};
use crate::engine::{Drained, Engine, Entry, Message, MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Envelope, Rank, Selector, Wild};
use crate::footprint::Footprint;
use crate::hints::{HintTable, Hints, Order};
use crate::peers::Peers;
use crate::upkeep::{self, Queues};

pub(super) const SPEC: Spec = Spec {
    name: "rank_array",
    summary: "per communicator an array of queues, one pair per source, and an any-source queue (Open MPI)",
    parameters: &[
        Parameter {
            key: "order",
            default: "total",
            meaning: "which message a receive from any source takes: total (the earliest), per_source (the lowest rank's)",
        },
        Parameter {
            key: "dense",
            default: "65536",
            meaning: "sources below it index an array, 0 to 16777216",
        },
    ],
    variants: &["order=per_source", "order=per_source,dense=0", "dense=0", "dense=3"],
    tight: &[],
    build,
};

fn build(arguments: &Arguments<'_>, counting: bool) -> Built {
    let order: String = arguments.get("order")?;
    let order = match order.as_str() {
        "total" => Order::Total,
        "per_source" => Order::PerSource,
        other => return Err(arguments.invalid("order", other, SPEC.parameters[0].meaning)),
    };
    let dense: u64 = arguments.get("dense")?;
    if dense > 1 << 24 {
        return Err(arguments.invalid("dense", &dense.to_string(), SPEC.parameters[1].meaning));
    }
    Ok(if counting {
        Box::new(RankArray::<Attempts>::new(order, dense))
    } else {
        Box::new(RankArray::<()>::new(order, dense))
    })
}

/// The queues of one source.
#[derive(Clone, Copy, Default)]
struct Peer {
    posted: Chain,
    unexpected: Chain,
}

struct Communicator {
    context: ContextId,
    from_any: Chain,
    peers: Peers<Peer>,
}

/// The queues of all communicators heard of and not closed.
struct Communicators {
    sorted: Vec<Communicator>,
    /// Where the last search ended: mostly where the next one will.
    recent: usize,
    dense: u64,
}

impl Communicators {
    /// O(1) if it is the one of the last call, else O(log communicators).
    #[inline]
    fn find(&mut self, context: ContextId) -> Option<&mut Communicator> {
        if self.sorted.get(self.recent).is_none_or(|recent| recent.context != context) {
            self.recent = self.bisect(context).ok()?;
        }
        self.sorted.get_mut(self.recent)
    }

    fn bisect(&self, context: ContextId) -> Result<usize, usize> {
        self.sorted.binary_search_by_key(&context, |communicator| communicator.context)
    }

    #[inline]
    fn find_or_open(&mut self, context: ContextId) -> Result<&mut Communicator, Refused> {
        if self.find(context).is_none() {
            self.recent = self.open(context)?;
        }
        Ok(&mut self.sorted[self.recent])
    }

    #[cold]
    fn open(&mut self, context: ContextId) -> Result<usize, Refused> {
        self.sorted.try_reserve(1).map_err(|_| Refused::Memory)?;
        let at = self.bisect(context).unwrap_or_else(|at| at);
        let (from_any, peers) = (Chain::default(), Peers::default());
        self.sorted.insert(at, Communicator { context, from_any, peers });
        Ok(at)
    }

    /// The queue that messages like this wait in.
    #[inline]
    fn unexpected(&mut self, envelope: &Envelope) -> Result<&mut Chain, Refused> {
        let dense = self.dense;
        let peers = &mut self.find_or_open(envelope.context)?.peers;
        Ok(&mut peers.get_or_insert(envelope.source, dense)?.unexpected)
    }

    /// The queue that receives with `selector` wait in.
    #[inline]
    fn posted(&mut self, selector: &Selector) -> Result<&mut Chain, Refused> {
        let dense = self.dense;
        let communicator = self.find_or_open(selector.context())?;
        match selector.source() {
            Wild::Is(source) => Ok(&mut communicator.peers.get_or_insert(source, dense)?.posted),
            _ => Ok(&mut communicator.from_any),
        }
    }

    fn close(&mut self, context: ContextId) {
        self.sorted.retain(|communicator| communicator.context != context);
    }

    fn bytes(&self) -> u64 {
        let peers: u64 = self.sorted.iter().map(|communicator| communicator.peers.bytes()).sum();
        peers + (self.sorted.capacity() * size_of::<Communicator>()) as u64
    }
}

/// See the [module's documentation](self).
pub struct RankArray<E: Effort = ()> {
    communicators: Communicators,
    posted: Slab<Aged<Receive>, 1>,
    unexpected: Slab<Aged<Message>, 1>,
    clock: u64,
    order: Order,
    hints: HintTable,
    /// The most that was held before a communicator was closed; nothing else gives memory back.
    peak_bytes: u64,
    effort: E,
}

/// The first entry of `chain` that matches and is older than `age`.
#[inline]
fn search<T: Copy>(
    slab: &Slab<Aged<T>, 1>,
    chain: Chain,
    age: u64,
    examined: &mut u64,
    matches: impl Fn(&T) -> bool,
) -> Option<(u64, Place)> {
    let mut at = chain.head();
    while at != NIL && slab.get(at).age < age {
        *examined += 1;
        let entry = slab.get(at);
        if matches(&entry.value) {
            return Some((entry.age, at));
        }
        at = slab.next(at, 0);
    }
    None
}

impl<E: Effort> RankArray<E> {
    pub(super) fn new(order: Order, dense: u64) -> Self {
        RankArray {
            communicators: Communicators { sorted: Vec::new(), recent: 0, dense },
            posted: Slab::default(),
            unexpected: Slab::default(),
            clock: 0,
            order,
            hints: HintTable::default(),
            peak_bytes: 0,
            effort: E::default(),
        }
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn find_unexpected(&mut self, selector: &Selector) -> Option<Place> {
        // Else a probe from any source would walk all peers to find nothing.
        if self.unexpected.len() == 0 {
            return None;
        }
        let peers = &self.communicators.find(selector.context())?.peers;
        let mut examined = 0;
        let mut earliest = |peer: &Peer, age| {
            let matches = |waiting: &Message| selector.matches(&waiting.envelope);
            search(&self.unexpected, peer.unexpected, age, &mut examined, matches)
        };
        let found = match selector.source() {
            Wild::Is(source) => peers.get(source).and_then(|peer| earliest(peer, u64::MAX)),
            _ if self.order == Order::PerSource => peers.iter().find_map(|peer| earliest(peer, u64::MAX)),
            _ => peers
                .iter()
                .fold(None, |best, peer| earliest(peer, best.map_or(u64::MAX, |(age, _)| age)).or(best)),
        };
        self.effort.examined(Queue::Unexpected, examined);
        found.map(|(_, at)| at)
    }

    fn find_posted(&mut self, envelope: &Envelope) -> Option<Place> {
        let communicator = self.communicators.find(envelope.context)?;
        let mut examined = 0;
        let mut earliest = |chain, age| {
            let matches = |receive: &Receive| receive.selector.matches(envelope);
            search(&self.posted, chain, age, &mut examined, matches)
        };
        let named = communicator.peers.get(envelope.source);
        let named = named.and_then(|peer| earliest(peer.posted, u64::MAX));
        let from_any = earliest(communicator.from_any, named.map_or(u64::MAX, |(age, _)| age));
        self.effort.examined(Queue::Posted, examined);
        from_any.or(named).map(|(_, at)| at)
    }

    /// Queues a receive that no message waits for.
    #[inline]
    pub(super) fn queue_receive(&mut self, receive: Receive) -> Result<(), Refused> {
        let age = self.tick();
        let queue = self.communicators.posted(&receive.selector)?;
        let at = self.posted.insert(Aged { value: receive, age })?;
        queue.push(&mut self.posted, at);
        Ok(())
    }

    /// Queues a message that no receive waits for.
    #[inline]
    pub(super) fn queue_message(&mut self, message: Message) -> Result<(), Refused> {
        let age = self.tick();
        let queue = self.communicators.unexpected(&message.envelope)?;
        let at = self.unexpected.insert(Aged { value: message, age })?;
        queue.push(&mut self.unexpected, at);
        Ok(())
    }

    fn now_bytes(&self) -> u64 {
        size_of::<Self>() as u64
            + self.hints.bytes()
            + self.communicators.bytes()
            + self.posted.bytes()
            + self.unexpected.bytes()
    }
}

impl<E: Effort> Queues for RankArray<E> {
    type Posted = Place;
    type Unexpected = Place;

    fn posted(&self) -> impl Iterator<Item = (u64, Place)> {
        self.posted.iter().map(|(at, posted)| (posted.age, at))
    }

    fn unexpected(&self) -> impl Iterator<Item = (u64, Place)> {
        self.unexpected.iter().map(|(at, waiting)| (waiting.age, at))
    }

    fn receive(&self, at: Place) -> Receive {
        self.posted.get(at).value
    }

    fn message(&self, at: Place) -> Message {
        self.unexpected.get(at).value
    }

    #[inline]
    fn take_posted(&mut self, at: Place) {
        let selector = self.posted.get(at).value.selector;
        if let Ok(queue) = self.communicators.posted(&selector) {
            queue.unlink(&mut self.posted, at);
        }
        self.posted.remove(at);
    }

    #[inline]
    fn take_unexpected(&mut self, at: Place) {
        let envelope = self.unexpected.get(at).value.envelope;
        // What waits has its queue, so nothing is opened here.
        if let Ok(queue) = self.communicators.unexpected(&envelope) {
            queue.unlink(&mut self.unexpected, at);
        }
        self.unexpected.remove(at);
    }

    fn rename(&mut self, at: Place, named: Envelope) -> Result<(), Refused> {
        let Aged { value: Message { envelope: old, .. }, age } = *self.unexpected.get(at);
        self.communicators.unexpected(&named)?;
        self.communicators.unexpected(&old)?.unlink(&mut self.unexpected, at);
        let queue = self.communicators.unexpected(&named)?;
        let younger = queue.iter(&self.unexpected).find(|(_, other)| other.age > age);
        let younger = younger.map_or(NIL, |(place, _)| place);
        queue.insert_before(&mut self.unexpected, at, younger);
        self.unexpected.get_mut(at).value.envelope = named;
        Ok(())
    }

    fn hints(&mut self) -> &mut HintTable {
        &mut self.hints
    }
}

impl<E: Effort> Engine for RankArray<E> {
    fn post(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        self.hints.admit(&receive.selector)?;
        if let Some(at) = self.find_unexpected(&receive.selector) {
            let id = self.unexpected.get(at).value.id;
            self.take_unexpected(at);
            return Ok(Some(id));
        }
        self.queue_receive(receive)?;
        Ok(None)
    }

    fn arrive(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
        if let Some(at) = self.find_posted(&message.envelope) {
            let id = self.posted.get(at).value.id;
            self.take_posted(at);
            return Ok(Some(id));
        }
        self.hints.admit_unexpected(message.envelope.context)?;
        self.queue_message(message)?;
        Ok(None)
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.hints.admit(selector).ok()?;
        self.find_unexpected(selector).map(|at| self.unexpected.get(at).value.id)
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.hints.admit(selector).ok()?;
        let at = self.find_unexpected(selector)?;
        let id = self.unexpected.get(at).value.id;
        self.take_unexpected(at);
        Some(id)
    }

    fn cancel(&mut self, receive: RecvId) -> bool {
        upkeep::cancel(self, receive)
    }

    fn retract(&mut self, message: MsgId) -> bool {
        upkeep::retract(self, message)
    }

    fn readdress(&mut self, message: MsgId, source: Rank) -> bool {
        upkeep::readdress(self, message, source)
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        upkeep::set_hints(self, context, hints)
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.peak_bytes = self.peak_bytes.max(self.now_bytes());
        upkeep::close(self, context, drained);
        self.communicators.close(context);
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        upkeep::fail_source(self, context, source, drained);
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        upkeep::visit(self, queue, each);
    }

    fn posted_len(&self) -> usize {
        self.posted.len()
    }

    fn unexpected_len(&self) -> usize {
        self.unexpected.len()
    }

    fn order(&self) -> Order {
        self.order
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            fixed_bytes: size_of::<Self>() as u64 + self.hints.bytes(),
            peers_bytes: self.communicators.bytes(),
            entries_bytes: self.posted.bytes() + self.unexpected.bytes(),
            peak_bytes: self.peak_bytes.max(self.now_bytes()),
        }
    }

    fn attempts(&self) -> Attempts {
        self.effort.attempts()
    }
}
