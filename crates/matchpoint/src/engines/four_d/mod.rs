//! `four_d`: queues per source, in a tree over four digits of the rank.
//!
//! After Zounmevo & Afsahi, "A fast and resource-conscious MPI message queue mechanism for large-scale jobs"
//! (2014), as summarized in the partner paper (§3).
//!
//! Each communicator has a tree of arrays of length D = ⌈P^(1/4)⌉, allocated on first use. P is the parameter
//! `ranks`. The four digits of a rank in base D select three branches and a leaf with the two queues of a
//! source. Sources from D⁴ on are in a hash table. An any-source receive searches a list of all messages of
//! the communicator.

mod tree;

use self::tree::{Dimension, Tree};
use super::by_source::{Arrivals, BySource, Messages, Peer, Sources};
use super::{Arguments, Built, Parameter, Spec};
use crate::effort::Attempts;
use crate::engine::{Message, Refused};
use crate::envelope::Rank;
use crate::linked::SlotIndex;

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

fn build(arguments: &Arguments<'_>, is_counting: bool) -> Built {
    let ranks: u64 = arguments.within("ranks", 1..=1 << 24)?;
    let dimension = Dimension::for_ranks(ranks);
    Ok(if is_counting {
        Box::new(FourD::<Attempts>::new(dimension))
    } else {
        Box::new(FourD::<()>::new(dimension))
    })
}

type FourD<E> = BySource<Tree<Peer>, E, 2>;

impl Sources<2> for Tree<Peer> {
    type SourceTableParameters = Dimension;

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
        matches: impl Fn(SlotIndex, &Message) -> bool + Copy,
    ) -> Option<SlotIndex> {
        arrivals.search(messages, u64::MAX, examined, matches)
    }

    fn bytes(&self) -> u64 {
        Tree::bytes(self)
    }
}
