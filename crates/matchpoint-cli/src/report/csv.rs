//! Tables for spreadsheets and data frames: one file per table, units in the header.

use std::io::{self, Write};

use matchpoint_replay::measurements::{QueueMeasurements, RankQueue, SearchCounts};

use super::Report;
use super::schema::table;

/// A CSV file.
pub struct Table {
    /// File name.
    pub file: &'static str,
    /// Function that writes the file.
    pub write: fn(&Report<'_>, &mut dyn Write) -> io::Result<()>,
}

/// All files.
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

fn calls(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let calls = report.measurements.calls.iter();
    let rows = calls.map(|(function, calls)| (function.name(), format!("{:?}", function.class()), calls));
    table(["function", "class", "calls"], rows, out)
}

const QUEUE_COLUMNS: [&str; 5] = ["length_max", "length_mean_at_search", "attempts", "searches", "hits"];

fn engines(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let host = &report.measurements.host;
    let first = [
        "engine",
        "matched",
        "match_ns",
        "match_cold_ns",
        "unmatched_receives",
        "unmatched_messages",
        "disagreements",
    ];
    let queues = ["posted", "unexpected"].map(|queue| QUEUE_COLUMNS.map(|name| format!("{queue}_{name}")));
    let last = ["bytes_max", "bytes_sum", "host", "sampled"].map(str::to_owned);
    let header = first.map(str::to_owned).into_iter().chain(queues.into_iter().flatten()).chain(last);
    let queue = |of: &QueueMeasurements| (of.length_max, of.length_mean, of.attempts, of.searches, of.hits);
    let rows = report.measurements.engines.iter().map(|of| {
        let end = (of.unmatched_receives, of.unmatched_messages, of.disagreements);
        let times = (of.match_ns, of.match_cold_ns);
        let queues = (queue(&of.posted), queue(&of.unexpected));
        (&of.name, of.matched, times, end, queues, (of.bytes_max, of.bytes_sum), host, of.sampled)
    });
    table(header, rows, out)
}

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

/// Ranks, with time and memory of each engine.
fn ranks(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let engines = &report.measurements.engines;
    let parts = ["match_ns", "match_cold_ns", "attempts", "bytes"];
    let per_engine = engines.iter().flat_map(|of| parts.map(|part| format!("{}_{part}", of.name)));
    let header = RANK_COLUMNS.map(str::to_owned).into_iter().chain(per_engine);
    let rows = report.measurements.ranks.iter().enumerate().map(|(index, of)| {
        let counts = (of.rank, of.calls, of.sends, of.receives, of.messages, of.elapsed_s);
        let peers = (of.peers, of.peer_uniformity, of.peer_weight_max);
        let tuples = (of.tuples_unique, of.tuples_exact, of.tuple_share_max, of.tuples_per_receive);
        let queue = |of: &RankQueue| (of.length_max, of.length_mean);
        let worst = (of.late_receives, of.worst_at_s, of.worst_length);
        let at = engines.iter().map(|of| of.ranks.get(index).copied().unwrap_or_default());
        let at: Vec<_> = at.map(|at| (at.match_ns, at.match_cold_ns, at.attempts, at.bytes)).collect();
        (counts, peers, tuples, queue(&of.posted), queue(&of.unexpected), worst, at)
    });
    table(header, rows, out)
}

/// One line per rank, span and queue, so that tools can pivot.
fn timeline(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let replayed_s = report.measurements.replayed_s;
    let queues = report.measurements.ranks.iter().flat_map(|of| {
        [("posted", &of.posted), ("unexpected", &of.unexpected)].map(|(name, queue)| (of.rank, name, queue))
    });
    let rows = queues.flat_map(|(rank, name, queue)| {
        let span_s = replayed_s / queue.timeline.len().max(1) as f64;
        let spans = queue.timeline.iter().enumerate();
        spans.map(move |(span, length)| (rank, span as f64 * span_s, name, length))
    });
    table(["rank", "start_s", "queue", "length_max"], rows, out)
}

fn depth(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let all = report.measurements.engines.iter().flat_map(|of| {
        [
            (&of.name, "posted", "hit", &of.posted.depth_hit),
            (&of.name, "posted", "miss", &of.posted.depth_miss),
            (&of.name, "unexpected", "hit", &of.unexpected.depth_hit),
            (&of.name, "unexpected", "miss", &of.unexpected.depth_miss),
        ]
    });
    let rows = all.flat_map(|(engine, queue, outcome, bins)| {
        bins.iter().enumerate().map(move |(index, searches)| {
            let from = if index == 0 { 0 } else { 1_u64 << (index - 1) };
            (engine, queue, outcome, from, 1_u64 << index, searches)
        })
    });
    table(["engine", "queue", "outcome", "attempts_from", "attempts_below", "searches"], rows, out)
}

/// Cells with messages only: most of a large matrix is empty.
fn matrix(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let of = &report.measurements.matrix;
    let cells = (of.cells as usize).max(1);
    let first_rank = |cell: usize| cell as u64 * u64::from(of.ranks_per_cell);
    let used = of.messages.iter().zip(&of.bytes).enumerate().filter(|(_, (messages, _))| **messages > 0);
    let rows = used.map(|(index, (messages, bytes))| {
        (first_rank(index / cells), first_rank(index % cells), of.ranks_per_cell, messages, bytes)
    });
    let header = ["sender_first_rank", "receiver_first_rank", "ranks_per_cell", "messages", "bytes"];
    table(header, rows, out)
}

fn tags(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    table(["tag", "sends"], &report.measurements.totals.sends_per_tag, out)
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

/// Call sites of receives; only the header if the trace contains no call sites.
fn sites(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let rows = report.measurements.places.iter().map(|place| {
        let there = &place.receives;
        let compared = |of: &SearchCounts| (of.searches, of.attempts, of.attempts_max);
        (
            (&place.function, &place.source, &place.module, place.address, place.ranks),
            (there.posted, there.late, there.any_source, there.any_tag),
            compared(&there.found),
            compared(&there.sought),
        )
    });
    table(SITE_COLUMNS, rows, out)
}
