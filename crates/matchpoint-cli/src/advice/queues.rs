//! Advice about long queues.

use super::{Advice, Case, change, with_saving};
use crate::format;
use crate::places;

/// Length from which the match entries of a network card may run out. All processes of a node share them.
const LONG_POSTED: u64 = 1024;

/// Length from which unexpected messages need much memory, and fill event queues.
const LONG_UNEXPECTED: u64 = 1024;

/// Longest queue of a rank ÷ that of the median rank, if the rank receives from all others.
const GATHER_FACTOR: u64 = 8;

/// Length below which uneven queues do not matter.
const GATHER_LENGTH: u64 = 64;

pub fn gather(case: &Case<'_>) -> Option<Advice> {
    let ranks = &case.measurements.ranks;
    let mut lengths: Vec<_> = ranks.iter().map(|rank| rank.unexpected.length_max).collect();
    lengths.sort_unstable();
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
    let worst = ranks.iter().max_by_key(|rank| rank.unexpected.length_max)?;
    let length = worst.unexpected.length_max;
    if length < GATHER_LENGTH || length < GATHER_FACTOR * median.max(1) {
        return None;
    }
    let advice = change(
        "One rank collects for all",
        format!(
            "At rank {} up to {} messages wait, at an ordinary rank {}. A gather written with sends and receives \
             piles up like this: let MPI_Gatherv do it, collect in a tree, or let senders wait for a go-ahead.",
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
    let worst = case.measurements.ranks.iter().max_by_key(|rank| rank.posted.length_max)?;
    let length = worst.posted.length_max;
    if length < LONG_POSTED {
        return None;
    }
    let advice = change(
        "Many receives are posted at once",
        format!(
            "Rank {} has up to {} receives posted. Networks that match in hardware have a limited number of match \
             entries per node: on HPE Slingshot (cxi) set FI_CXI_RX_MATCH_MODE=hybrid, or post in portions, before \
             you meet \"LE resources not recovered\".{}",
            worst.rank,
            format::count(length),
            places::most(case.measurements, |there| there.posted - there.late)
        ),
        vec![("rank", f64::from(worst.rank)), ("posted_length_max", length as f64)],
    );
    with_saving(advice, case, worst.rank)
}

pub fn long_unexpected(case: &Case<'_>) -> Option<Advice> {
    let worst = case.measurements.ranks.iter().max_by_key(|rank| rank.unexpected.length_max)?;
    let length = worst.unexpected.length_max;
    if length < LONG_UNEXPECTED {
        return None;
    }
    let advice = change(
        "Many messages wait for their receive",
        format!(
            "At rank {} up to {} messages wait at once. The library stores them: memory grows, and event or \
             completion queues may overflow. Post receives earlier, or hold senders back.{}",
            worst.rank,
            format::count(length),
            places::most(case.measurements, |there| there.late)
        ),
        vec![("rank", f64::from(worst.rank)), ("unexpected_length_max", length as f64)],
    );
    with_saving(advice, case, worst.rank)
}
