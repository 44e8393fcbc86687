//! `rank_array`: per communicator an array of queues, one pair for each source, and a queue of the receives from any
//! source, as in Open MPI's ob1 (partner paper §2; fuzzy paper §VI-B has its memory).
//!
//! * A message compares the receives of its source's posted queue and of the any-source queue in the order of their
//!   numbers (ob1's sequence numbers), and takes the first match.
//! * A receive that names its source looks in that source's unexpected queue.
//! * A receive from any source looks through the unexpected queues of *all* sources. With `order=total` it takes the
//!   earliest message of all; with `order=per_source` the first that the lowest rank has, which MPI permits and Open
//!   MPI's users meet. (ob1 starts after the rank it last served that way, in a ring. Here it is always the lowest, so
//!   that a probe foretells what a receive takes.)
//!
//! Naming the source: O(entries of that source and, for arrivals, receives posted from any source). Leaving it open:
//! O(highest rank heard of below `dense` + sources heard of beyond + messages looked at), as the array is walked, empty
//! queues included; O(1) where no message waits. (ob1 walks its array as well; a list of the queues that have something
//! would be another structure than the one this stands for.) Cancel, retract and readdress compare every entry, as
//! nothing maps ids to places: MPI programs cancel rarely.
//!
//! Sources below `dense` index an array, grown to the highest heard of: 8 bytes for each. Sources beyond it (libfabric
//! addresses, [`Rank::UNKNOWN`]) are hashed: 24 to 48 bytes for each heard of, found in O(1).

use super::{Arguments, Built, Parameter, Spec};
use crate::chains::{Aged, Chain, Place, Slab};
use crate::communicators::Communicators;
use crate::effort::{Attempts, Effort};
use crate::engine::{Drained, Engine, Message, Queue, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Envelope, Rank, Selector, Wild};
use crate::footprint::Footprint;
use crate::hints::{HintTable, Order};
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
    let order = arguments.word("order", &[("total", Order::Total), ("per_source", Order::PerSource)])?;
    let dense: u64 = arguments.within("dense", 0..=1 << 24)?;
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

/// Bytes for each process of a communicator, up to the highest rank that something was queued of: what the engine's memory
/// grows by (partner paper §2).
pub(super) const BYTES_PER_PROCESS: u64 = size_of::<Peer>() as u64;

/// The queues of one communicator.
#[derive(Default)]
struct Communicator {
    from_any: Chain,
    peers: Peers<Peer>,
}

impl Communicator {
    /// The queue that messages of this source wait in.
    #[inline]
    fn unexpected(&mut self, source: Rank, dense: u64) -> Result<&mut Chain, Refused> {
        Ok(&mut self.peers.get_or_insert(source, dense)?.unexpected)
    }

    /// The queue that receives with `selector` wait in.
    #[inline]
    fn posted(&mut self, selector: &Selector, dense: u64) -> Result<&mut Chain, Refused> {
        match selector.source() {
            Wild::Is(source) => Ok(&mut self.peers.get_or_insert(source, dense)?.posted),
            _ => Ok(&mut self.from_any),
        }
    }

    /// What `earliest` makes of the lowest source for which it makes something.
    fn of_lowest<T>(&self, mut earliest: impl FnMut(&Peer) -> Option<T>) -> Option<T> {
        if let Some(found) = self.peers.dense().find_map(&mut earliest) {
            return Some(found);
        }
        let beyond = self.peers.sparse().filter_map(|(source, peer)| Some((source, earliest(peer)?)));
        beyond.min_by_key(|&(source, _)| source).map(|(_, found)| found)
    }
}

/// See the [module's documentation](self).
pub struct RankArray<E: Effort = ()> {
    communicators: Communicators<Communicator>,
    /// Sources below it index an array.
    dense: u64,
    posted: Slab<Aged<Receive>, 1>,
    unexpected: Slab<Aged<Message>, 1>,
    clock: u64,
    order: Order,
    hints: HintTable,
    /// The most that was held before a communicator was closed; nothing else gives memory back.
    peak_bytes: u64,
    effort: E,
}

impl<E: Effort> RankArray<E> {
    pub(super) fn new(order: Order, dense: u64) -> Self {
        RankArray {
            communicators: Communicators::default(),
            dense,
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
        let communicator = self.communicators.find(selector.context())?;
        let slab = &self.unexpected;
        let mut examined = 0;
        let mut earliest = |peer: &Peer, age| {
            let matches = |_, waiting: &Message| selector.matches(&waiting.envelope);
            peer.unexpected.search(slab, age, &mut examined, matches)
        };
        let age = |at: Option<Place>| at.map_or(u64::MAX, |at| slab.get(at).age);
        let found = match selector.source() {
            Wild::Is(source) => communicator.peers.get(source).and_then(|peer| earliest(peer, u64::MAX)),
            _ if self.order == Order::PerSource => communicator.of_lowest(|peer| earliest(peer, u64::MAX)),
            _ => communicator.peers.iter().fold(None, |best, peer| earliest(peer, age(best)).or(best)),
        };
        self.effort.examined(Queue::Unexpected, examined);
        found
    }

    /// Takes the receive that a message with `envelope` goes to.
    fn take_accepting(&mut self, envelope: &Envelope) -> Option<RecvId> {
        let communicator = self.communicators.find(envelope.context)?;
        let mut examined = 0;
        let named = communicator.peers.get(envelope.source).map(|peer| peer.posted).unwrap_or_default();
        let matches = |receive: &Receive| receive.selector.matches(envelope);
        let found = named.search_merged(communicator.from_any, &self.posted, &mut examined, matches);
        self.effort.examined(Queue::Posted, examined);
        let (at, _) = found?;
        let id = self.posted.get(at).value.id;
        self.take_posted(at);
        Some(id)
    }

    /// Queues a receive that no message waits for.
    #[inline]
    pub(super) fn queue_receive(&mut self, receive: Receive) -> Result<(), Refused> {
        let age = self.tick();
        let context = receive.selector.context();
        let communicator = self.communicators.find_or_open(context, Communicator::default)?;
        let queue = communicator.posted(&receive.selector, self.dense)?;
        let at = self.posted.insert(Aged { value: receive, age })?;
        queue.push(&mut self.posted, at);
        Ok(())
    }

    /// Queues a message that no receive waits for.
    #[inline]
    pub(super) fn queue_message(&mut self, message: Message) -> Result<(), Refused> {
        let age = self.tick();
        let Envelope { context, source, .. } = message.envelope;
        let communicator = self.communicators.find_or_open(context, Communicator::default)?;
        let queue = communicator.unexpected(source, self.dense)?;
        let at = self.unexpected.insert(Aged { value: message, age })?;
        queue.push(&mut self.unexpected, at);
        Ok(())
    }

    fn now_bytes(&self) -> u64 {
        size_of::<Self>() as u64
            + self.hints.bytes()
            + self.communicators.bytes(|communicator| communicator.peers.bytes())
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
        // What is queued has its queue, so nothing is opened here.
        let communicator = self.communicators.find(selector.context());
        if let Some(Ok(queue)) = communicator.map(|communicator| communicator.posted(&selector, self.dense)) {
            queue.unlink(&mut self.posted, at);
        }
        self.posted.remove(at);
    }

    #[inline]
    fn take_unexpected(&mut self, at: Place) {
        let envelope = self.unexpected.get(at).value.envelope;
        let communicator = self.communicators.find(envelope.context);
        let queue = communicator.map(|communicator| communicator.unexpected(envelope.source, self.dense));
        if let Some(Ok(queue)) = queue {
            queue.unlink(&mut self.unexpected, at);
        }
        self.unexpected.remove(at);
    }

    fn rename(&mut self, at: Place, named: Envelope) -> Result<(), Refused> {
        let old = self.unexpected.get(at).value.envelope;
        let Some(communicator) = self.communicators.find(named.context) else { return Ok(()) };
        communicator.unexpected(named.source, self.dense)?;
        communicator.unexpected(old.source, self.dense)?.unlink(&mut self.unexpected, at);
        let queue = communicator.unexpected(named.source, self.dense)?;
        queue.insert(&mut self.unexpected, at);
        self.unexpected.get_mut(at).value.envelope = named;
        Ok(())
    }

    fn hints(&mut self) -> &mut HintTable {
        &mut self.hints
    }
}

impl<E: Effort> Engine for RankArray<E> {
    upkeep::provided!(post_open arrive probe matched_probe cancel retract readdress set_hints fail_source visit);

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.peak_bytes = self.peak_bytes.max(self.now_bytes());
        upkeep::close(self, context, drained);
        self.communicators.close(context);
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
            peers_bytes: self.communicators.bytes(|communicator| communicator.peers.bytes()),
            entries_bytes: self.posted.bytes() + self.unexpected.bytes(),
            peak_bytes: self.peak_bytes.max(self.now_bytes()),
        }
    }

    fn attempts(&self) -> Attempts {
        self.effort.attempts()
    }
}
