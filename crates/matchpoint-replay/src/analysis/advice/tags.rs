//! Advice about tags and sources.

use super::{Advice, Case, change, with_saving};
use crate::analysis::derived::{HEADER_BITS, compatible_runs, header_bits};
use crate::format;

/// Share of the most frequent (source, tag) at the worst rank, from which most messages are in one hash bin.
const HOT: f64 = 0.5;

const HOT_MIN: u64 = 1000;

/// Number of tags, and of pairs (source, tag) at the worst rank, that the bins and blocks of every engine can separate.
const MANY_TAGS: u64 = 1024;

pub fn hot_tuple(case: &Case<'_>) -> Option<Advice> {
    let (totals, worst) = (&case.measurements.totals, case.worst()?);
    let share = worst.tuple_share_max;
    if share < HOT || worst.receives < HOT_MIN || case.is_negligible() {
        return None;
    }
    let (runs, mean) = compatible_runs(totals);
    let advice = change(
        "Most messages have the same source and tag",
        format!(
            "At rank {}, {} of the messages have one source and tag. They share a hash bin, but they match in order, so \
             the first entry of the bin is the match. At all ranks, receives with the same source and tag form runs of {} \
             on average, {} at most.",
            worst.rank,
            format::share(share),
            format::digits(mean),
            format::count(totals.compatible_run_max)
        ),
        vec![
            ("tuple_share", share),
            ("compatible_runs", runs as f64),
            ("compatible_run_mean", mean),
            ("compatible_run_max", totals.compatible_run_max as f64),
        ],
    );
    with_saving(advice, case, case.verdict.rank)
}

pub fn many_tags(case: &Case<'_>) -> Option<Advice> {
    let (totals, worst) = (&case.measurements.totals, case.worst()?);
    let is_many = totals.tags_unique >= MANY_TAGS && worst.tuples_unique >= MANY_TAGS;
    if !is_many || worst.tuple_share_max >= HOT || case.is_negligible() {
        return None;
    }
    let bound = |is_exact| if is_exact { "" } else { "at least " };
    let advice = change(
        "Many distinct tags",
        format!(
            "The program uses {}{} distinct tags, with {} sends each on average. Messages to rank {} have {}{} pairs of \
             source and tag. Engines that hash the tag are faster, and linear queues slower. If tags only number the \
             messages of a sender, omit them: MPI keeps the order.",
            bound(totals.tags_exact),
            format::count(totals.tags_unique),
            format::digits(totals.sends as f64 / totals.tags_unique as f64),
            worst.rank,
            bound(worst.tuples_exact),
            format::count(worst.tuples_unique)
        ),
        vec![
            ("tags_unique", totals.tags_unique as f64),
            ("sends", totals.sends as f64),
            ("tuples_unique", worst.tuples_unique as f64),
        ],
    );
    with_saving(advice, case, case.verdict.rank)
}

pub fn wide_header(case: &Case<'_>) -> Option<Advice> {
    let bits = header_bits(case.measurements);
    if bits.total() <= HEADER_BITS {
        return None;
    }
    let advice = change(
        "Tags are too wide for hardware",
        format!(
            "Context ({} bits), source ({}) and tag ({}) need {} bits; network cards match on {HEADER_BITS}. With smaller \
             tags, a card can match.",
            bits.context,
            bits.source,
            bits.tag,
            bits.total()
        ),
        vec![("header_bits", f64::from(bits.total())), ("tag_bits", f64::from(bits.tag))],
    );
    with_saving(advice, case, case.verdict.rank)
}
