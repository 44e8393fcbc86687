//! Advice about tags and sources.

use super::{Advice, Case, change, with_saving};
use crate::analysis::derived::{HEADER_BITS, compatible_runs, header_bits, median_over_receivers};
use crate::format;

/// Share of the most frequent (source, tag) at the median rank, from which most messages are in one hash bin.
const HOT: f64 = 0.5;

const HOT_MIN: u64 = 1000;

/// Number of tags that the bins and blocks of every engine can separate.
const MANY_TAGS: u64 = 1024;

pub fn hot_tuple(case: &Case<'_>) -> Option<Advice> {
    let measurements = case.measurements;
    let share = median_over_receivers(measurements, |rank| rank.tuple_share_max);
    if share < HOT || measurements.totals.receives < HOT_MIN || case.is_negligible() {
        return None;
    }
    let (runs, mean) = compatible_runs(&measurements.totals);
    let advice = change(
        "Most messages have the same source and tag",
        format!(
            "At the median rank, {} of the messages have one source and tag. They share a hash bin, but they match in \
             order, so the first entry of the bin is the match. Receives with the same source and tag form runs of {} on \
             average, {} at most.",
            format::share(share),
            format::digits(mean),
            format::count(measurements.totals.compatible_run_max)
        ),
        vec![
            ("tuple_share_median", share),
            ("compatible_runs", runs as f64),
            ("compatible_run_mean", mean),
            ("compatible_run_max", measurements.totals.compatible_run_max as f64),
        ],
    );
    with_saving(advice, case, case.verdict.rank)
}

pub fn many_tags(case: &Case<'_>) -> Option<Advice> {
    let totals = &case.measurements.totals;
    if totals.tags_unique < MANY_TAGS || case.is_negligible() {
        return None;
    }
    let bound = if totals.tags_exact { "" } else { "at least " };
    let advice = change(
        "Many distinct tags",
        format!(
            "The program uses {bound}{} distinct tags, with {} sends each on average. Engines that hash the tag are faster, \
             and linear queues slower. If tags only number the messages of a sender, omit them: MPI keeps the order.",
            format::count(totals.tags_unique),
            format::digits(totals.sends as f64 / totals.tags_unique as f64)
        ),
        vec![("tags_unique", totals.tags_unique as f64), ("sends", totals.sends as f64)],
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
