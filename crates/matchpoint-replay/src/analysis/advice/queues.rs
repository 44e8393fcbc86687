//! Advice about long queues.

use super::{Advice, Case, change, with_saving};
use crate::analysis::call_sites;
use crate::analysis::derived::whole_ranks;
use crate::format;
use crate::measurements::RankMeasurements;

/// Posted receives from which the match entries of a network card may run out. All processes of a node share the
/// entries.
const LONG_POSTED: u64 = 1024;

/// Unexpected messages that need much memory, and fill event queues.
const LONG_UNEXPECTED: u64 = 1024;

/// Longest queue of a rank ÷ longest queue of the median rank, from which the rank receives from all others.
const GATHER_FACTOR: u64 = 8;

/// Length of the longest queue below which uneven queues do not matter.
const GATHER_LENGTH: u64 = 64;

/// The rank with the longest queue. Among equal ranks, the rank of the verdict.
fn longest<'a>(case: &Case<'a>, length: impl Fn(&RankMeasurements) -> u64) -> Option<&'a RankMeasurements> {
    let ranks = whole_ranks(case.measurements).map(|(_, rank)| rank);
    ranks.max_by_key(|rank| (length(rank), rank.rank == case.verdict.rank))
}

pub fn gather(case: &Case<'_>) -> Option<Advice> {
    let ranks = whole_ranks(case.measurements);
    let mut lengths: Vec<_> = ranks.map(|(_, rank)| rank.unexpected.length_max).collect();
    lengths.sort_unstable();
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
    let worst = longest(case, |rank| rank.unexpected.length_max)?;
    let length = worst.unexpected.length_max;
    if length < GATHER_LENGTH || length < GATHER_FACTOR * median.max(1) {
        return None;
    }
    let advice = change(
        "One rank receives from all ranks",
        format!(
            "Rank {} has up to {} unexpected messages, the median rank {}. The cause may be a gather with MPI_Send and \
             MPI_Recv. Use MPI_Gatherv, a tree, or senders that wait for a permission.",
            worst.rank,
            format::count(length),
            format::count(median)
        ),
        vec![
            ("rank", f64::from(worst.rank)),
            ("unexpected_length_max", length as f64),
            ("unexpected_length_median", median as f64),
        ],
    );
    with_saving(advice, case, worst.rank)
}

pub fn long_posted(case: &Case<'_>) -> Option<Advice> {
    let worst = longest(case, |rank| rank.posted.length_max)?;
    let length = worst.posted.length_max;
    if length < LONG_POSTED {
        return None;
    }
    let advice = change(
        "Long posted receive queue",
        format!(
            "Rank {} has up to {} posted receives. A network that matches in hardware has few match entries per node. \
             On HPE Slingshot (cxi), set FI_CXI_RX_MATCH_MODE=hybrid, or post fewer receives at once. Otherwise the job \
             may fail with 'LE resources not recovered'.{}",
            worst.rank,
            format::count(length),
            call_sites::most(case.measurements, |there| there.posted - there.late)
        ),
        vec![("rank", f64::from(worst.rank)), ("posted_length_max", length as f64)],
    );
    with_saving(advice, case, worst.rank)
}

pub fn long_unexpected(case: &Case<'_>) -> Option<Advice> {
    let worst = longest(case, |rank| rank.unexpected.length_max)?;
    let length = worst.unexpected.length_max;
    if length < LONG_UNEXPECTED {
        return None;
    }
    let advice = change(
        "Long unexpected message queue",
        format!(
            "Rank {} has up to {} unexpected messages. The library stores them: memory grows, and event or completion \
             queues may overflow. Post receives earlier, or delay the senders.{}",
            worst.rank,
            format::count(length),
            call_sites::most(case.measurements, |there| there.late)
        ),
        vec![("rank", f64::from(worst.rank)), ("unexpected_length_max", length as f64)],
    );
    with_saving(advice, case, worst.rank)
}
