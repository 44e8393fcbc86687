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
use super::by_source::{Arrivals, BySource, Messages, Peer, Sources};
use super::{Arguments, Built, Parameter, Spec};
use crate::chains::Place;
use crate::effort::Attempts;
use crate::engine::{Message, Refused};
use crate::envelope::Rank;

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

/// See the [module's documentation](self).
type FourD<E> = BySource<Tree<Peer>, E, 2>;

impl Sources<2> for Tree<Peer> {
    type Shape = Dimension;

    const IS_MERGED: bool = false;

    fn new(dimension: Dimension) -> Self {
        Tree::new(dimension)
    }

    #[inline]
    fn get_mut(&mut self, source: Rank) -> Option<&mut Peer> {
        Tree::get_mut(self, source)
    }

    #[inline]
    fn get_or_insert(&mut self, source: Rank, _: Dimension) -> Result<&mut Peer, Refused> {
        Tree::get_or_insert(self, source)
    }

    fn search_all(
        &self,
        messages: &Messages<2>,
        arrivals: Arrivals,
        _: Dimension,
        examined: &mut u64,
        matches: impl Fn(Place, &Message) -> bool + Copy,
    ) -> Option<Place> {
        arrivals.search(messages, u64::MAX, examined, matches)
    }

    fn bytes(&self) -> u64 {
        Tree::bytes(self)
    }
}
