//! `rank_array`: per communicator, an array with two queues per source, and a queue of any-source receives.
//!
//! As in Open MPI's ob1 (partner paper §2; the fuzzy paper, §VI-B, gives its memory).
//!
//! * A message compares receives of its source and any-source receives in posted order (ob1's sequence
//!   numbers), and takes the first match.
//! * A receive with a source searches the unexpected queue of that source.
//! * An any-source receive searches the unexpected queues of all sources. With `order=total` the receive
//!   takes the oldest message; with `order=per_source` the first match of the lowest rank, which MPI permits.
//!   ob1 starts after the source of the last match; this engine always starts at rank 0, so that a probe
//!   predicts the next receive.
//!
//! Sources below `dense` index an array, which grows to the highest source seen. Other sources (libfabric
//! addresses, [`Rank::UNKNOWN`]) are in a hash table.

use super::by_source::{Arrivals, BySource, Messages, Peer, Sources};
use super::{Arguments, Built, Parameter, Spec};
use crate::effort::Attempts;
use crate::engine::{Message, Refused};
use crate::envelope::Rank;
use crate::hints::Order;
use crate::linked::SlotIndex;
use crate::peers::Peers;

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

fn build(arguments: &Arguments<'_>, is_counting: bool) -> Built {
    let order = arguments.word("order", &[("total", Order::Total), ("per_source", Order::PerSource)])?;
    let dense: u64 = arguments.within("dense", 0..=1 << 24)?;
    let parameters = SourceTableParameters { order, dense };
    Ok(if is_counting {
        Box::new(RankArray::<Attempts>::new(parameters))
    } else {
        Box::new(RankArray::<()>::new(parameters))
    })
}

pub(super) type RankArray<E> = BySource<Peers<Peer>, E, 1>;

/// Bytes per rank of a communicator, up to the highest rank with entries so far (partner paper §2).
pub(super) const BYTES_PER_PROCESS: u64 = size_of::<Peer>() as u64;

#[derive(Clone, Copy)]
pub(super) struct SourceTableParameters {
    pub(super) order: Order,
    pub(super) dense: u64,
}

impl Sources<1> for Peers<Peer> {
    type SourceTableParameters = SourceTableParameters;

    const IS_MERGED: bool = true;

    fn new(_: SourceTableParameters) -> Self {
        Peers::default()
    }

    fn order(parameters: SourceTableParameters) -> Order {
        parameters.order
    }

    #[inline]
    fn get_mut(&mut self, source: Rank) -> Option<&mut Peer> {
        Peers::get_mut(self, source)
    }

    #[inline]
    fn get_or_insert(
        &mut self,
        source: Rank,
        parameters: SourceTableParameters,
    ) -> Result<&mut Peer, Refused> {
        Peers::get_or_insert(self, source, parameters.dense)
    }

    fn search_all(
        &self,
        messages: &Messages<1>,
        _: Arrivals,
        parameters: SourceTableParameters,
        examined: &mut u64,
        matches: impl Fn(SlotIndex, &Message) -> bool + Copy,
    ) -> Option<SlotIndex> {
        let mut oldest = |peer: &Peer, age| peer.unexpected.search(messages, age, examined, matches);
        if parameters.order == Order::PerSource {
            if let Some(found) = self.dense().find_map(|peer| oldest(peer, u64::MAX)) {
                return Some(found);
            }
            let beyond = self.sparse().filter_map(|(source, peer)| Some((source, oldest(peer, u64::MAX)?)));
            return beyond.min_by_key(|&(source, _)| source).map(|(_, found)| found);
        }
        let age = |at: Option<SlotIndex>| at.map_or(u64::MAX, |at| messages.get(at).age);
        self.iter().fold(None, |best, peer| oldest(peer, age(best)).or(best))
    }

    fn bytes(&self) -> u64 {
        Peers::bytes(self)
    }
}
