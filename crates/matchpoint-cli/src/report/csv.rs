//! Tables for spreadsheets and data frames: one file per table, units in the header.

use std::io::{self, Write};

use csv::Writer;
use matchpoint_replay::Measurements;
use matchpoint_replay::measurements::{Compared, QueueMeasurements};

use super::Report;

/// One file.
pub struct Table {
    /// Its name.
    pub file: &'static str,
    /// Writes it.
    pub write: fn(&Report<'_>, &mut dyn Write) -> io::Result<()>,
}

/// All of them.
pub const TABLES: [Table; 8] = [
    Table { file: "calls.csv", write: calls },
    Table { file: "engines.csv", write: engines },
    Table { file: "ranks.csv", write: ranks },
    Table { file: "timeline.csv", write: timeline },
    Table { file: "depth.csv", write: depth },
    Table { file: "matrix.csv", write: matrix },
    Table { file: "tags.csv", write: tags },
    Table { file: "sites.csv", write: sites },
];

const ENGINE_COLUMNS: [&str; 21] = [
    "engine",
    "matched",
    "match_ns",
    "match_cold_ns",
    "unmatched_receives",
    "unmatched_messages",
    "disagreements",
    "posted_length_max",
    "posted_length_mean_at_search",
    "posted_attempts",
    "posted_searches",
    "posted_hits",
    "unexpected_length_max",
    "unexpected_length_mean_at_search",
    "unexpected_attempts",
    "unexpected_searches",
    "unexpected_hits",
    "bytes_max",
    "bytes_sum",
    "host",
    "sampled",
];

const RANK_COLUMNS: [&str; 20] = [
    "rank",
    "calls",
    "sends",
    "receives",
    "messages",
    "elapsed_s",
    "peers",
    "peer_uniformity",
    "peer_weight_max",
    "tuples_unique",
    "tuples_exact",
    "tuple_share_max",
    "tuples_per_receive",
    "posted_length_max",
    "posted_length_mean",
    "unexpected_length_max",
    "unexpected_length_mean",
    "late_receives",
    "worst_at_s",
    "worst_length",
];

fn calls(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Writer::from_writer(out);
    table.write_record(["function", "class", "calls"])?;
    for (function, calls) in &report.measurements.calls {
        table.serialize((function.name(), format!("{:?}", function.class()), calls))?;
    }
    table.flush()
}

fn engines(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Writer::from_writer(out);
    table.write_record(ENGINE_COLUMNS)?;
    for of in &report.measurements.engines {
        let end = (of.unmatched_receives, of.unmatched_messages, of.disagreements);
        let (posted, unexpected) = (queue(&of.posted), queue(&of.unexpected));
        let host = &report.measurements.host;
        let time = (of.match_ns, of.match_cold_ns);
        table.serialize((
            &of.name,
            of.matched,
            time,
            end,
            posted,
            unexpected,
            of.bytes_max,
            of.bytes_sum,
            host,
            of.sampled,
        ))?;
    }
    table.flush()
}

fn queue(of: &QueueMeasurements) -> (u64, f64, u64, u64, u64) {
    (of.length_max, of.length_mean, of.attempts, of.searches, of.hits)
}

/// Then, for each engine, its time and its memory at that rank.
fn ranks(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let measurements = report.measurements;
    let mut table = Writer::from_writer(out);
    let fixed = RANK_COLUMNS.iter().map(|name| (*name).to_owned());
    table.write_record(fixed.chain(per_engine_columns(measurements)))?;
    for (index, of) in measurements.ranks.iter().enumerate() {
        let counts = (of.rank, of.calls, of.sends, of.receives, of.messages, of.elapsed_s);
        let peers = (of.peers, of.peer_uniformity, of.peer_weight_max);
        let tuples = (of.tuples_unique, of.tuples_exact, of.tuple_share_max, of.tuples_per_receive);
        let queues = (
            (of.posted.length_max, of.posted.length_mean),
            (of.unexpected.length_max, of.unexpected.length_mean),
        );
        let worst = (of.late_receives, of.worst_at_s, of.worst_length);
        table.serialize((counts, peers, tuples, queues, worst, per_engine(measurements, index)))?;
    }
    table.flush()
}

fn per_engine_columns(measurements: &Measurements) -> impl Iterator<Item = String> + '_ {
    let parts = ["match_ns", "match_cold_ns", "attempts", "bytes"];
    measurements.engines.iter().flat_map(move |of| parts.map(|part| format!("{}_{part}", of.name)))
}

fn per_engine(measurements: &Measurements, index: usize) -> Vec<(f64, f64, u64, u64)> {
    let at = measurements.engines.iter().map(|of| of.ranks.get(index).copied().unwrap_or_default());
    at.map(|at| (at.match_ns, at.match_cold_ns, at.attempts, at.bytes)).collect()
}

/// One line per rank, span and queue: the long form, which every tool can pivot.
fn timeline(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Writer::from_writer(out);
    table.write_record(["rank", "start_s", "queue", "length_max"])?;
    for rank in &report.measurements.ranks {
        for (name, queue) in [("posted", &rank.posted), ("unexpected", &rank.unexpected)] {
            let span_s = report.measurements.replayed_s / queue.timeline.len().max(1) as f64;
            for (span, length) in queue.timeline.iter().enumerate() {
                table.serialize((rank.rank, span as f64 * span_s, name, length))?;
            }
        }
    }
    table.flush()
}

fn depth(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Writer::from_writer(out);
    table.write_record(["engine", "queue", "outcome", "attempts_from", "attempts_below", "searches"])?;
    for of in &report.measurements.engines {
        for (name, queue) in [("posted", &of.posted), ("unexpected", &of.unexpected)] {
            for (outcome, bins) in [("hit", &queue.depth_hit), ("miss", &queue.depth_miss)] {
                for (index, searches) in bins.iter().enumerate() {
                    let from = if index == 0 { 0 } else { 1_u64 << (index - 1) };
                    table.serialize((&of.name, name, outcome, from, 1_u64 << index, searches))?;
                }
            }
        }
    }
    table.flush()
}

/// Cells without messages are left out: most of a large matrix is empty.
fn matrix(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let of = &report.measurements.matrix;
    let mut table = Writer::from_writer(out);
    table.write_record([
        "sender_first_rank",
        "receiver_first_rank",
        "ranks_per_cell",
        "messages",
        "bytes",
    ])?;
    let cells = (of.cells as usize).max(1);
    for (index, (messages, bytes)) in of.messages.iter().zip(&of.bytes).enumerate() {
        if *messages > 0 {
            let first_rank = |cell: usize| cell as u64 * u64::from(of.ranks_per_cell);
            let (sender, receiver) = (first_rank(index / cells), first_rank(index % cells));
            table.serialize((sender, receiver, of.ranks_per_cell, messages, bytes))?;
        }
    }
    table.flush()
}

fn tags(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Writer::from_writer(out);
    table.write_record(["tag", "sends"])?;
    for tag in &report.measurements.totals.sends_per_tag {
        table.serialize(tag)?;
    }
    table.flush()
}

const SITE_COLUMNS: [&str; 15] = [
    "function",
    "source",
    "module",
    "address",
    "ranks",
    "receives",
    "late",
    "any_source",
    "any_tag",
    "posted_searches",
    "posted_attempts",
    "posted_attempts_max",
    "unexpected_searches",
    "unexpected_attempts",
    "unexpected_attempts_max",
];

/// Where receives are posted: empty, but for the header, where the trace has no call sites.
fn sites(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Writer::from_writer(out);
    table.write_record(SITE_COLUMNS)?;
    for place in &report.measurements.places {
        let there = &place.receives;
        let compared = |of: &Compared| (of.searches, of.attempts, of.attempts_max);
        table.serialize((
            (&place.function, &place.source, &place.module, place.address, place.ranks),
            (there.posted, there.late, there.any_source, there.any_tag),
            compared(&there.found),
            compared(&there.sought),
        ))?;
    }
    table.flush()
}
