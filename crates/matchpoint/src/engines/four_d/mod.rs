//! `four_d`: ranks in four dimensions, after Zounmevo & Afsahi, "A fast and resource-conscious MPI message queue
//! mechanism for large-scale jobs" (2014), as summed up in the partner paper (§3). No MPI library is known to use it.
//!
//! Per communicator a tree of arrays: a rank below D⁴, D = ⌈P^(1/4)⌉, is written in base D, and its four digits lead
//! through three arrays of branches to an array of D leaves, one for each source, which anchors that source's two
//! queues. An array is made when the first of its ranks is heard of: a search skips at once what was never heard of,
//! and memory is taken for neighbourhoods of ranks instead of for all of them, as `rank_array` takes it.
//!
//! * A message looks in its source's posted queue and in the queue of receives from any source, and takes the receive
//!   with the smaller number: all that is queued is numbered in one sequence.
//! * A receive that names its source looks in that source's unexpected queue.
//! * A receive from any source looks through a list of all messages of the communicator in the order of arrival, which
//!   each message is in beside its source's queue.
//!
//! Naming the source: O(4 + entries of that source and, for arrivals, receives posted from any source). Leaving it
//! open: O(messages waiting in the communicator). Cancel, retract and readdress compare every entry. The paper decides
//! by the size of the communicator whether the tree is worth its price on short queues; here the user does so, by
//! choosing the engine.
//!
//! P is not known here, so it is a parameter (`ranks`). Sources beyond D⁴ (libfabric addresses, [`UNKNOWN`](crate::Rank::UNKNOWN), or a
//! job larger than was said) are hashed, found in O(1): folding them into the tree would
//! have let one address's depth slow another down. A tree holds 4·D bytes for each array of branches, 8·D for each
//! array of leaves: one source alone has 320 bytes at D = 16, all of 65536 ranks 8 bytes each and 17 KiB of branches.

mod tree;

use self::tree::{Dimension, Tree};
use super::{Arguments, Built, Parameter, Spec};
use crate::chains::{Aged, Chain, Place, Slab};
use crate::communicators::Communicators;
use crate::effort::{Attempts, Effort};
use crate::engine::{Drained, Engine, Message, Queue, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Envelope, Selector, Wild};
use crate::footprint::Footprint;
use crate::hints::HintTable;
use crate::upkeep::{self, Queues};

pub(super) const SPEC: Spec = Spec {
    name: "four_d",
    summary: "per communicator a tree over four digits of the rank, a pair of queues per source (Zounmevo & Afsahi 2014)",
    parameters: &[Parameter {
        key: "ranks",
        default: "65536",
        meaning: "sources below it are in the tree, whose arrays are as long as its fourth root; 1 to 16777216",
    }],
    variants: &["ranks=1", "ranks=81"],
    tight: &[],
    build,
};

fn build(arguments: &Arguments<'_>, counting: bool) -> Built {
    let ranks: u64 = arguments.within("ranks", 1..=1 << 24)?;
    let dimension = Dimension::for_ranks(ranks);
    Ok(if counting {
        Box::new(FourD::<Attempts>::new(dimension))
    } else {
        Box::new(FourD::<()>::new(dimension))
    })
}

/// The queues of one source. A message's links into its source's queue are pair 0.
#[derive(Clone, Copy, Default)]
struct Peer {
    posted: Chain,
    unexpected: Chain,
}

/// A message's links into the order of arrival.
const ARRIVAL: usize = 1;

struct Communicator {
    peers: Tree<Peer>,
    from_any: Chain,
    arrivals: Chain<ARRIVAL>,
}

impl Communicator {
    fn new(dimension: Dimension) -> Self {
        Communicator { peers: Tree::new(dimension), from_any: Chain::default(), arrivals: Chain::default() }
    }

    /// The queue that receives with `selector` wait in.
    #[inline]
    fn posted(&mut self, selector: &Selector) -> Result<&mut Chain, Refused> {
        match selector.source() {
            Wild::Is(source) => Ok(&mut self.peers.get_or_insert(source)?.posted),
            _ => Ok(&mut self.from_any),
        }
    }
}

/// See the [module's documentation](self).
pub struct FourD<E: Effort = ()> {
    communicators: Communicators<Communicator>,
    dimension: Dimension,
    posted: Slab<Aged<Receive>, 1>,
    unexpected: Slab<Aged<Message>, 2>,
    clock: u64,
    hints: HintTable,
    /// The most that was held before a communicator was closed; nothing else gives memory back.
    peak_bytes: u64,
    effort: E,
}

impl<E: Effort> FourD<E> {
    fn new(dimension: Dimension) -> Self {
        FourD {
            communicators: Communicators::default(),
            dimension,
            posted: Slab::default(),
            unexpected: Slab::default(),
            clock: 0,
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
        // Else every receive posted ahead of its message would walk the tree twice.
        if self.unexpected.len() == 0 {
            return None;
        }
        let communicator = self.communicators.find(selector.context())?;
        let mut examined = 0;
        let matches = |_, waiting: &Message| selector.matches(&waiting.envelope);
        let found = match selector.source() {
            Wild::Is(source) => communicator
                .peers
                .get(source)
                .and_then(|peer| peer.unexpected.search(&self.unexpected, u64::MAX, &mut examined, matches)),
            _ => communicator.arrivals.search(&self.unexpected, u64::MAX, &mut examined, matches),
        };
        self.effort.examined(Queue::Unexpected, examined);
        found
    }

    /// Takes the receive that a message goes to. One walk through the tree finds it and the queue it leaves.
    #[inline]
    fn take_accepting(&mut self, envelope: &Envelope) -> Option<RecvId> {
        let communicator = self.communicators.find(envelope.context)?;
        let mut examined = 0;
        let matches = |_, receive: &Receive| receive.selector.matches(envelope);
        let Communicator { peers, from_any, .. } = communicator;
        let peer = peers.get_mut(envelope.source);
        let mut age = u64::MAX;
        let mut found = None;
        if let Some(peer) = peer {
            if let Some(at) = peer.posted.search(&self.posted, age, &mut examined, matches) {
                age = self.posted.get(at).age;
                found = Some((&mut peer.posted, at));
            }
        }
        if let Some(at) = from_any.search(&self.posted, age, &mut examined, matches) {
            found = Some((from_any, at));
        }
        self.effort.examined(Queue::Posted, examined);
        let (queue, at) = found?;
        queue.unlink(&mut self.posted, at);
        Some(self.posted.remove(at).value.id)
    }

    /// Queues a receive that no message waits for.
    #[inline]
    fn queue_receive(&mut self, receive: Receive) -> Result<(), Refused> {
        let age = self.tick();
        let open = || Communicator::new(self.dimension);
        let communicator = self.communicators.find_or_open(receive.selector.context(), open)?;
        let queue = communicator.posted(&receive.selector)?;
        let at = self.posted.insert(Aged { value: receive, age })?;
        queue.push(&mut self.posted, at);
        Ok(())
    }

    /// Queues a message that no receive waits for.
    #[inline]
    fn queue_message(&mut self, message: Message) -> Result<(), Refused> {
        let age = self.tick();
        let open = || Communicator::new(self.dimension);
        let communicator = self.communicators.find_or_open(message.envelope.context, open)?;
        let queue = &mut communicator.peers.get_or_insert(message.envelope.source)?.unexpected;
        let at = self.unexpected.insert(Aged { value: message, age })?;
        queue.push(&mut self.unexpected, at);
        communicator.arrivals.push(&mut self.unexpected, at);
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

impl<E: Effort> Queues for FourD<E> {
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

    fn take_posted(&mut self, at: Place) {
        let selector = self.posted.get(at).value.selector;
        let communicator = self.communicators.find(selector.context());
        // What is queued has its queue, so no array is made here.
        if let Some(Ok(queue)) = communicator.map(|communicator| communicator.posted(&selector)) {
            queue.unlink(&mut self.posted, at);
        }
        self.posted.remove(at);
    }

    #[inline]
    fn take_unexpected(&mut self, at: Place) {
        let envelope = self.unexpected.get(at).value.envelope;
        if let Some(communicator) = self.communicators.find(envelope.context) {
            communicator.arrivals.unlink(&mut self.unexpected, at);
            if let Ok(peer) = communicator.peers.get_or_insert(envelope.source) {
                peer.unexpected.unlink(&mut self.unexpected, at);
            }
        }
        self.unexpected.remove(at);
    }

    fn rename(&mut self, at: Place, named: Envelope) -> Result<(), Refused> {
        let old = self.unexpected.get(at).value.envelope;
        let Some(communicator) = self.communicators.find(named.context) else { return Ok(()) };
        communicator.peers.get_or_insert(named.source)?;
        communicator.peers.get_or_insert(old.source)?.unexpected.unlink(&mut self.unexpected, at);
        let queue = &mut communicator.peers.get_or_insert(named.source)?.unexpected;
        queue.insert(&mut self.unexpected, at);
        self.unexpected.get_mut(at).value.envelope = named;
        Ok(())
    }

    fn hints(&mut self) -> &mut HintTable {
        &mut self.hints
    }
}

impl<E: Effort> Engine for FourD<E> {
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
