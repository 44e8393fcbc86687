//! JSON, schema 1. Programs read the JSON, so names and nesting are fixed. A test compares `docs/reference/json.md`
//! with the output.

use std::collections::BTreeMap;
use std::io::{self, Write};

use matchpoint_replay::analysis::advice::{Advice, Kind};
use matchpoint_replay::analysis::derived::{self, index_of};
use matchpoint_replay::analysis::library_cost;
use matchpoint_replay::measurements::{CONFLICT_BLOCK, EngineMeasurements, Totals};
use matchpoint_replay::{Measurements, library_cost as replayed};
use matchpoint_trace::{Class, Function};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::Report;
use super::csv;
use super::schema::{self, SCHEMA};

pub fn write(report: &Report<'_>, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let (of_run, ranks) = (of_run(report), Ranks(report.measurements));
    schema::write(&Document { schema: SCHEMA, of_run, ranks }, out)
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    #[serde(flatten)]
    of_run: Value,
    ranks: Ranks<'a>,
}

struct Ranks<'a>(&'a Measurements);

impl Serialize for Ranks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.0.ranks.len()).map(|index| rank(self.0, index)))
    }
}

fn of_run(report: &Report<'_>) -> Value {
    let measurements = report.measurements;
    let totals = &measurements.totals;
    let (peers_mean, peers_max) = derived::peers(measurements);
    let bits = derived::header_bits(measurements);
    let (runs, run_mean) = derived::compatible_runs(totals);
    json!({
        "trace": trace(measurements),
        "calls": calls(measurements),
        "sends": totals.sends,
        "receives": totals.receives,
        "wildcards": totals.wildcards,
        "communicators": measurements.communicators.len(),
        "tags": {
            "unique": totals.tags_unique,
            "max": totals.tag_max,
            "exact": totals.tags_exact,
            "most_sends": totals.sends_per_tag,
        },
        "peers": { "mean": peers_mean, "max": peers_max },
        "arrivals": measurements.arrivals.mode.to_string(),
        "elapsed_s": measurements.elapsed_s,
        "setup_s": measurements.setup_s,
        "crowding": measurements.crowding,
        "library_cost": measurements.library_cost.as_ref().map(library_cost),
        "verdict": verdict(report),
        "engines": measurements.engines.iter().map(engine).collect::<Vec<_>>(),
        "advice": report.advice.iter().map(advice).collect::<Vec<_>>(),
        "messages": messages(totals),
        "probes": {
            "found": totals.probes_found,
            "missed": totals.probes_missed,
            "any_source": totals.probes_any_source,
            "any_tag": totals.probes_any_tag,
        },
        "compatible_runs": {
            "runs": runs,
            "length_mean": run_mean,
            "length_max": totals.compatible_run_max,
            "by_length": totals.compatible_runs,
        },
        "conflicts": {
            "block_messages": CONFLICT_BLOCK,
            "blocks": totals.blocks,
            "blocks_with_conflict": totals.blocks_with_conflict,
            "messages": totals.conflicts,
        },
        "header_bits": {
            "context": bits.context,
            "source": bits.source,
            "tag": bits.tag,
            "total": bits.total(),
        },
        "communicator_list": measurements.communicators,
        "replay": replay(measurements),
        "host": measurements.host,
        "timings": measurements.timings,
        "places": csv::sites(report).objects(),
    })
}

fn trace(measurements: &Measurements) -> Value {
    let missing = measurements.trace.missing.iter();
    let missing = missing.map(|(rank, why)| json!({ "rank": rank, "why": why }));
    with(&measurements.trace, [("missing", missing.collect())])
}

/// The members of a structure, and further members.
fn with<const N: usize>(of: &impl Serialize, others: [(&str, Value); N]) -> Value {
    let mut value = json!(of);
    others.into_iter().for_each(|(name, other)| value[name] = other);
    value
}

fn library_cost(of: &replayed::LibraryCost) -> Value {
    let entry = |curve: &replayed::Curve| {
        json!({
            "lengths": curve.warm.iter().map(|point| point.0).collect::<Vec<_>>(),
            "warm_ns": curve.warm.iter().map(|point| point.1).collect::<Vec<_>>(),
            "cold_ns": curve.cold_ns,
            "empty_ns": curve.empty_ns,
        })
    };
    json!({
        "pairs": of.pairs,
        "same_host": of.same_host,
        "posted": entry(&of.posted),
        "unexpected": entry(&of.unexpected),
        "bursts": of.bursts,
        "ring_message_ns": (of.ring_message_ns > 0.0).then_some(of.ring_message_ns),
    })
}

fn calls(measurements: &Measurements) -> Value {
    let of = |class| derived::calls_of(measurements, class);
    json!({
        "point_to_point": of(Class::PointToPoint),
        "collective": of(Class::Collective),
        "one_sided": of(Class::OneSided),
        "completion": of(Class::Completion),
        "communicator": of(Class::Communicator),
        "other": of(Class::Other),
        "by_function": named(&measurements.calls),
    })
}

fn named(by_function: &BTreeMap<Function, u64>) -> BTreeMap<&str, u64> {
    by_function.iter().map(|(function, count)| (function.name(), *count)).collect()
}

fn verdict(report: &Report<'_>) -> Value {
    let of = &report.verdict;
    let others = of.others.iter().map(|other| json!({ "name": other.name, "share": other.share }));
    json!({
        "share": of.share,
        "low": of.low,
        "high": of.high,
        "share_of_replay": of.share_of_replay,
        "rank": of.rank,
        "at_s": of.at_s,
        "text": of.text,
        "answer": of.answer.name(),
        "share_of_replay_low": of.range_of_replay.0,
        "share_of_replay_high": of.range_of_replay.1,
        "share_without_setup": of.share_without_setup,
        "share_without_setup_low": of.range_without_setup.0,
        "share_without_setup_high": of.range_without_setup.1,
        "share_saved_by_run": saved_by_run(report),
        "others": others.collect::<Vec<_>>(),
    })
}

fn saved_by_run(report: &Report<'_>) -> Option<f64> {
    let index = index_of(report.measurements, report.verdict.rank)?;
    Some(report.verdict.share * library_cost::saving_by_run(report.measurements, index)?)
}

fn stopped(of: &EngineMeasurements) -> Option<&'static str> {
    match of {
        _ if of.full => Some("full"),
        _ if of.too_large => Some("memory"),
        _ if of.sampled < 1.0 => Some("time"),
        _ => None,
    }
}

fn engine(of: &EngineMeasurements) -> Value {
    let substitute = of.substitute.as_ref();
    let others = [
        ("substitute", json!(substitute.map(|of| &of.name))),
        ("substitute_ranks", json!(substitute.map(|of| of.ranks))),
        ("stopped", json!(stopped(of))),
    ];
    with(of, others)
}

fn rank(measurements: &Measurements, index: usize) -> Value {
    let engines = measurements.engines.iter();
    let engines = engines.filter_map(|of| Some(with(of.ranks.get(index)?, [("name", json!(of.name))])));
    with(&measurements.ranks[index], [("engines", engines.collect())])
}

fn advice(of: &Advice) -> Value {
    let kind = match of.kind {
        Kind::Change => "change",
        Kind::Limitation => "trust",
    };
    json!({
        "kind": kind,
        "title": of.title,
        "text": of.text,
        "numbers": of.numbers.iter().copied().collect::<BTreeMap<_, _>>(),
        "saving_ns": of.saving.map(|saving| saving.ns),
        "saving_share": of.saving.map(|saving| saving.share),
        "overflow_limit": of.saving.and_then(|saving| saving.overflow_limit),
    })
}

fn messages(totals: &Totals) -> Value {
    json!({
        "bytes": totals.bytes,
        "sends_without_size": totals.sends_without_size,
        "proc_null": totals.proc_null,
        "cancelled": totals.cancelled,
        "late_receives": derived::late(totals),
        "late_by_function": named(&totals.late_by_function),
        "posted_by_function": named(&totals.posted_by_function),
    })
}

fn replay(measurements: &Measurements) -> Value {
    let (arrivals, totals) = (&measurements.arrivals, &measurements.totals);
    let compared = || arrivals.compared.iter();
    let own = (arrivals.mode.to_string(), derived::late_share(totals));
    let shares = compared().map(|of| (of.mode.to_string(), of.unexpected_share)).chain([own]);
    let longest = compared().map(|of| (of.mode.to_string(), of.unexpected_longest));
    json!({
        "elapsed_s": measurements.replayed_s,
        "loggp": arrivals.loggp.to_string(),
        "released": arrivals.ended_calls,
        "made_up_messages": arrivals.made_up_messages,
        "lost_messages": arrivals.lost_messages,
        "intervals_known": arrivals.intervals_known,
        "arrivals_moved": arrivals.arrivals_moved,
        "arrivals_outside": arrivals.arrivals_outside,
        "unexplained_ranks": arrivals.unexplained_ranks,
        "recorded_wildcards": totals.recorded_wildcards,
        "reproduced_wildcards": totals.reproduced_wildcards,
        "unmatched_receives": totals.unmatched_receives,
        "unmatched_messages": totals.unmatched_messages,
        "unexpected_share": shares.collect::<BTreeMap<_, _>>(),
        "unexpected_longest": longest.collect::<BTreeMap<_, _>>(),
    })
}
