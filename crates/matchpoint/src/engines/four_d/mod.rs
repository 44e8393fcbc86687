//! `four_d`: ranks in four dimensions, after Zounmevo & Afsahi, "A fast and resource-conscious MPI message queue mechanism for
//! large-scale jobs" (2014), as summarized in the partner paper (§3). No known MPI library uses it.
//!
//! Each communicator has a tree of arrays. A rank below D⁴, D = ⌈P^(1/4)⌉, is written in base D. Its four digits lead through
//! three arrays of branches to an array of D leaves. A leaf has the two queues of one source. An array is allocated for its first
//! rank. So a search skips absent arrays, and memory grows with neighbourhoods of ranks, not with all ranks as in `rank_array`.
//!
//! * A message searches the posted queue of its source, then the older receives from any source.
//! * A receive that names its source searches the unexpected queue of that source.
//! * A receive from any source searches a list of all messages of the communicator in the order of arrival.
//!
//! | call | cost |
//! |---|---|
//! | with a named source | O(4 + entries of that source); for arrivals also O(receives from any source) |
//! | receive or probe from any source | O(messages of the communicator) |
//! | cancel, retract, readdress | O(entries) |
//!
//! The paper uses the tree for large communicators only. Here the user decides by choosing the engine.
//!
//! P is the parameter `ranks`. Sources beyond D⁴ (libfabric addresses, [`UNKNOWN`](crate::Rank::UNKNOWN), or ranks of a larger job)
//! are hashed, found in O(1). A tree holds 4·D bytes for each array of branches and 8·D for each array of leaves. One source has
//! 320 bytes at D = 16. All 65536 ranks have 8 bytes each and 17 KiB of branches.

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
