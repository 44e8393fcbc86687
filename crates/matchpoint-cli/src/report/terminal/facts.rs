//! Facts about the program, one labelled line each.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use matchpoint_replay::Measurements;
use matchpoint_replay::analysis::derived::{self, HEADER_BITS, ratio};
use matchpoint_replay::format::{bytes, count, counted, digits, seconds, share};
use matchpoint_replay::measurements::{CONFLICT_BLOCK, Totals, TraceFacts};
use matchpoint_trace::{Class, Function};

use crate::report::Report;
use crate::report::document::Document;

const NAMED: usize = 3;

pub fn write(report: &Report<'_>, document: &mut Document) {
    let measurements = report.measurements;
    let lines: [(&str, String); 11] = [
        ("Trace", trace(measurements)),
        ("Calls", calls(measurements)),
        ("Messages", messages(measurements)),
        ("Wildcards", wildcards(&measurements.totals)),
        ("Late receives", late(&measurements.totals)),
        ("Communicators", communicators(measurements)),
        ("Peers", peers(measurements)),
        ("Tags", tags(measurements)),
        ("(source, tag)", tuples(measurements)),
        ("Duplicates", compatible(&measurements.totals)),
        ("Conflicts", conflicts(&measurements.totals)),
    ];
    for (label, text) in lines {
        document.fact(label, text);
    }
}

fn trace(measurements: &Measurements) -> String {
    let trace = &measurements.trace;
    format!(
        "{}: {}{}, {}, {}, {} ({} in the replay)",
        trace.path,
        trace.format,
        library(trace),
        counted(u64::from(trace.ranks), "rank"),
        counted(trace.calls, "call"),
        seconds(measurements.elapsed_s),
        seconds(measurements.replayed_s)
    )
}

fn library(trace: &TraceFacts) -> String {
    let name = trace.library.as_deref().and_then(|library| library.split(',').next());
    name.map_or(String::new(), |name| format!(", {name}"))
}

fn calls(measurements: &Measurements) -> String {
    let whole = measurements.calls.values().sum::<u64>() as f64;
    let of = |class| share(ratio(derived::calls_of(measurements, class) as f64, whole));
    format!(
        "point-to-point {}, completion {}, collective {}, one-sided {}; {}",
        of(Class::PointToPoint),
        of(Class::Completion),
        of(Class::Collective),
        of(Class::OneSided),
        most_called(&measurements.calls)
    )
}

fn most_called(calls: &BTreeMap<Function, u64>) -> String {
    let mut sorted: Vec<_> = calls.iter().collect();
    sorted.sort_by_key(|(_, calls)| Reverse(**calls));
    let named = sorted.iter().take(NAMED).map(|(of, calls)| format!("{} {}", of.name(), count(**calls)));
    named.collect::<Vec<_>>().join(", ")
}

fn messages(measurements: &Measurements) -> String {
    let totals = &measurements.totals;
    let mut text = format!(
        "{}, {}; {}",
        counted(totals.sends, "send"),
        bytes(totals.bytes),
        counted(totals.receives, "receive")
    );
    let probes = totals.probes_found + totals.probes_missed;
    for (number, what) in [
        (totals.sends_without_size, "without a size"),
        (totals.proc_null, "more with MPI_PROC_NULL"),
        (totals.cancelled, "cancelled"),
        (probes, "probes"),
    ] {
        if number > 0 {
            text.push_str(&format!(", {} {what}", count(number)));
        }
    }
    text
}

fn wildcards(totals: &Totals) -> String {
    let of = |number: u64| share(ratio(number as f64, totals.receives as f64));
    let wildcards = totals.wildcards;
    format!(
        "none {}, any source {}, any tag {}, both {}",
        of(wildcards.none),
        of(wildcards.any_source),
        of(wildcards.any_tag),
        of(wildcards.both)
    )
}

fn late(totals: &Totals) -> String {
    let by_function = totals.posted_by_function.iter().filter_map(|(function, posted)| {
        let late = totals.late_by_function.get(function)?;
        Some(format!("{} {} of {}", function.name(), count(*late), count(*posted)))
    });
    let by_function: Vec<_> = by_function.collect();
    let separator = if by_function.is_empty() { "" } else { ": " };
    format!("{} of the receives{separator}{}", share(derived::late_share(totals)), by_function.join(", "))
}

fn communicators(measurements: &Measurements) -> String {
    let mut sorted: Vec<_> = measurements.communicators.iter().collect();
    sorted.sort_by_key(|of| Reverse(of.messages));
    let sends = measurements.totals.sends as f64;
    let named = sorted.iter().take(NAMED).map(|of| {
        let doubt = if of.resolved { "" } else { ", members unknown" };
        format!("{} ({}{doubt}) {}", of.origin, of.size, share(ratio(of.messages as f64, sends)))
    });
    let named: Vec<_> = named.collect();
    format!("{}: {}", sorted.len(), named.join(", "))
}

pub(in crate::report) fn peers(measurements: &Measurements) -> String {
    let (mean, max) = derived::peers(measurements);
    let uniformity = derived::median_over_receivers(measurements, |rank| rank.peer_uniformity);
    let weight = derived::median_over_receivers(measurements, |rank| rank.peer_weight_max);
    format!(
        "{} per rank on average, {max} at most; at the median rank, the most frequent peer sends {} of the messages, and \
         evenness is {} (1: all send equally)",
        digits(mean),
        share(weight),
        digits(uniformity)
    )
}

pub(in crate::report) fn tags(measurements: &Measurements) -> String {
    let totals = &measurements.totals;
    let named = totals
        .sends_per_tag
        .iter()
        .take(NAMED)
        .map(|(tag, sends)| format!("{tag} in {}", share(ratio(*sends as f64, totals.sends as f64))));
    let named: Vec<_> = named.collect();
    let bits = derived::header_bits(measurements);
    format!(
        "{}{} unique{}{}; header of {}+{}+{} = {} bits {} {HEADER_BITS}",
        if totals.tags_exact { "" } else { "at least " },
        count(totals.tags_unique),
        if named.is_empty() { "" } else { ": " },
        named.join(", "),
        bits.context,
        bits.source,
        bits.tag,
        bits.total(),
        if bits.total() <= HEADER_BITS { "fits" } else { "does not fit" }
    )
}

pub(in crate::report) fn tuples(measurements: &Measurements) -> String {
    let worst = measurements.ranks.iter().map(|rank| rank.tuple_share_max).fold(0.0, f64::max);
    format!(
        "the most frequent pair has {} of the messages at the median rank, {} at most; distinct pairs ÷ receives: {}",
        share(derived::median_over_receivers(measurements, |rank| rank.tuple_share_max)),
        share(worst),
        share(derived::mean_over_ranks(measurements, |rank| rank.tuples_per_receive))
    )
}

pub(in crate::report) fn compatible(totals: &Totals) -> String {
    let (_, mean) = derived::compatible_runs(totals);
    format!(
        "{} consecutive receives with the same communicator, source and tag on average, {} at most",
        digits(mean),
        count(totals.compatible_run_max)
    )
}

pub(in crate::report) fn conflicts(totals: &Totals) -> String {
    format!(
        "in {} of the blocks of {CONFLICT_BLOCK} arrivals; {} match the receive of an earlier message of their block",
        share(ratio(totals.blocks_with_conflict as f64, totals.blocks as f64)),
        counted(totals.conflicts, "message")
    )
}
