//! Tables for spreadsheets and data frames: one file per table, units in the header.

use matchpoint_replay::measurements::{
    EngineAtRank, EngineMeasurements, PlaceMeasurements, QueueMeasurements, RankMeasurements, RankQueue,
    SearchCounts,
};

use super::Report;
use super::columns::Columns;

pub struct Table {
    pub file: &'static str,
    pub columns: fn(&Report<'_>) -> Columns,
}

pub const TABLES: [Table; 8] = [
    Table { file: "calls.csv", columns: calls },
    Table { file: "engines.csv", columns: engines },
    Table { file: "ranks.csv", columns: ranks },
    Table { file: "timeline.csv", columns: timeline },
    Table { file: "depth.csv", columns: depth },
    Table { file: "matrix.csv", columns: matrix },
    Table { file: "tags.csv", columns: tags },
    Table { file: "sites.csv", columns: sites },
];

fn calls(report: &Report<'_>) -> Columns {
    let calls = &report.measurements.calls;
    Columns::default()
        .text("function", calls.keys().map(|function| function.name()))
        .text("class", calls.keys().map(|function| format!("{:?}", function.class())))
        .unsigned("calls", calls.values().copied())
}

fn engines(report: &Report<'_>) -> Columns {
    let engines = || report.measurements.engines.iter();
    let columns = Columns::default()
        .text("engine", engines().map(|of| &of.name))
        .unsigned("matched", engines().map(|of| of.matched))
        .float("match_ns", engines().map(|of| of.match_ns))
        .float("match_cold_ns", engines().map(|of| of.match_cold_ns))
        .unsigned("unmatched_receives", engines().map(|of| of.unmatched_receives))
        .unsigned("unmatched_messages", engines().map(|of| of.unmatched_messages))
        .unsigned("disagreements", engines().map(|of| of.disagreements));
    let columns = queue(columns, "posted", &|| engines().map(|of| &of.posted));
    queue(columns, "unexpected", &|| engines().map(|of| &of.unexpected))
        .unsigned("bytes_max", engines().map(|of| of.bytes_max))
        .unsigned("bytes_sum", engines().map(|of| of.bytes_sum))
        .text("host", engines().map(|_| &report.measurements.host))
        .float("sampled", engines().map(|of| of.sampled))
}

fn queue<'a, I: Iterator<Item = &'a QueueMeasurements>>(
    columns: Columns,
    name: &str,
    queues: &dyn Fn() -> I,
) -> Columns {
    columns
        .unsigned(format!("{name}_length_max"), queues().map(|of| of.length_max))
        .float(format!("{name}_length_mean_at_search"), queues().map(|of| of.length_mean))
        .unsigned(format!("{name}_attempts"), queues().map(|of| of.attempts))
        .unsigned(format!("{name}_searches"), queues().map(|of| of.searches))
        .unsigned(format!("{name}_hits"), queues().map(|of| of.hits))
}

fn ranks(report: &Report<'_>) -> Columns {
    let ranks = || report.measurements.ranks.iter();
    let lengths = |columns: Columns, name: &str, queue: fn(&RankMeasurements) -> &RankQueue| {
        columns
            .unsigned(format!("{name}_length_max"), ranks().map(|of| queue(of).length_max))
            .float(format!("{name}_length_mean"), ranks().map(|of| queue(of).length_mean))
    };
    let columns = Columns::default()
        .unsigned("rank", ranks().map(|of| of.rank))
        .unsigned("calls", ranks().map(|of| of.calls))
        .unsigned("sends", ranks().map(|of| of.sends))
        .unsigned("receives", ranks().map(|of| of.receives))
        .unsigned("messages", ranks().map(|of| of.messages))
        .float("elapsed_s", ranks().map(|of| of.elapsed_s))
        .unsigned("peers", ranks().map(|of| of.peers))
        .float("peer_uniformity", ranks().map(|of| of.peer_uniformity))
        .float("peer_weight_max", ranks().map(|of| of.peer_weight_max))
        .unsigned("tuples_unique", ranks().map(|of| of.tuples_unique))
        .truth("tuples_exact", ranks().map(|of| of.tuples_exact))
        .float("tuple_share_max", ranks().map(|of| of.tuple_share_max))
        .float("tuples_per_receive", ranks().map(|of| of.tuples_per_receive));
    let columns = lengths(columns, "posted", |of| &of.posted);
    let columns = lengths(columns, "unexpected", |of| &of.unexpected)
        .unsigned("late_receives", ranks().map(|of| of.late_receives))
        .float("worst_at_s", ranks().map(|of| of.worst_at_s))
        .unsigned("worst_length", ranks().map(|of| of.worst_length));
    let count = report.measurements.ranks.len();
    report.measurements.engines.iter().fold(columns, |columns, of| at_ranks(columns, of, count))
}

fn at_ranks(columns: Columns, of: &EngineMeasurements, count: usize) -> Columns {
    let at = || (0..count).map(|index| of.ranks.get(index).copied().unwrap_or_default());
    let name = |part: &str| format!("{}_{part}", of.name);
    columns
        .float(name("match_ns"), at().map(|at: EngineAtRank| at.match_ns))
        .float(name("match_cold_ns"), at().map(|at| at.match_cold_ns))
        .unsigned(name("attempts"), at().map(|at| at.attempts))
        .unsigned(name("bytes"), at().map(|at| at.bytes))
}

/// One row for each rank, interval and queue, so that tools can pivot.
fn timeline(report: &Report<'_>) -> Columns {
    let replayed_s = report.measurements.replayed_s;
    let queues = report.measurements.ranks.iter().flat_map(|of| {
        [("posted", &of.posted), ("unexpected", &of.unexpected)].map(|(name, queue)| (of.rank, name, queue))
    });
    let rows: Vec<(u32, f64, &str, u32)> = queues
        .flat_map(|(rank, name, queue)| {
            let span_s = replayed_s / queue.timeline.len().max(1) as f64;
            let spans = queue.timeline.iter().enumerate();
            spans.map(move |(span, &length)| (rank, span as f64 * span_s, name, length))
        })
        .collect();
    Columns::default()
        .unsigned("rank", rows.iter().map(|of| of.0))
        .float("start_s", rows.iter().map(|of| of.1))
        .text("queue", rows.iter().map(|of| of.2))
        .unsigned("length_max", rows.iter().map(|of| of.3))
}

/// A histogram of attempts: engine, queue, outcome of the searches, and counts.
type Depths<'a> = (&'a str, &'static str, &'static str, &'a [u64]);

fn depth(report: &Report<'_>) -> Columns {
    let all = report.measurements.engines.iter().flat_map(|of| -> [Depths<'_>; 4] {
        [
            (&of.name, "posted", "hit", &of.posted.depth_hit),
            (&of.name, "posted", "miss", &of.posted.depth_miss),
            (&of.name, "unexpected", "hit", &of.unexpected.depth_hit),
            (&of.name, "unexpected", "miss", &of.unexpected.depth_miss),
        ]
    });
    let rows: Vec<(Depths<'_>, usize)> =
        all.flat_map(|of| (0..of.3.len()).map(move |index| (of, index))).collect();
    let from = |index: usize| if index == 0 { 0 } else { 1_u64 << (index - 1) };
    Columns::default()
        .text("engine", rows.iter().map(|(of, _)| of.0))
        .text("queue", rows.iter().map(|(of, _)| of.1))
        .text("outcome", rows.iter().map(|(of, _)| of.2))
        .unsigned("attempts_from", rows.iter().map(|&(_, index)| from(index)))
        .unsigned("attempts_below", rows.iter().map(|&(_, index)| 1_u64 << index))
        .unsigned("searches", rows.iter().map(|(of, index)| of.3[*index]))
}

/// Cells with messages, because most of a large matrix is empty.
fn matrix(report: &Report<'_>) -> Columns {
    let of = &report.measurements.matrix;
    let cells = (of.cells as usize).max(1);
    let first_rank = |cell: usize| cell as u64 * u64::from(of.ranks_per_cell);
    let used = || (0..of.messages.len()).filter(|&index| of.messages[index] > 0);
    Columns::default()
        .unsigned("sender_first_rank", used().map(|index| first_rank(index / cells)))
        .unsigned("receiver_first_rank", used().map(|index| first_rank(index % cells)))
        .unsigned("ranks_per_cell", used().map(|_| of.ranks_per_cell))
        .unsigned("messages", used().map(|index| of.messages[index]))
        .unsigned("bytes", used().map(|index| of.bytes[index]))
}

fn tags(report: &Report<'_>) -> Columns {
    let tags = || report.measurements.totals.sends_per_tag.iter();
    Columns::default().signed("tag", tags().map(|of| of.0)).unsigned("sends", tags().map(|of| of.1))
}

fn sites(report: &Report<'_>) -> Columns {
    let places = || report.measurements.places.iter();
    let compared = |columns: Columns, name: &str, counts: fn(&PlaceMeasurements) -> &SearchCounts| {
        columns
            .unsigned(format!("{name}_searches"), places().map(|of| counts(of).searches))
            .unsigned(format!("{name}_attempts"), places().map(|of| counts(of).attempts))
            .unsigned(format!("{name}_attempts_max"), places().map(|of| counts(of).attempts_max))
    };
    let columns = Columns::default()
        .optional_text("function", places().map(|of| of.function.clone()))
        .optional_text("source", places().map(|of| of.source.clone()))
        .text("module", places().map(|of| &of.module))
        .unsigned("address", places().map(|of| of.address))
        .unsigned("ranks", places().map(|of| of.ranks))
        .unsigned("receives", places().map(|of| of.receives.posted))
        .unsigned("late", places().map(|of| of.receives.late))
        .unsigned("any_source", places().map(|of| of.receives.any_source))
        .unsigned("any_tag", places().map(|of| of.receives.any_tag));
    let columns = compared(columns, "posted", |of| &of.receives.found);
    compared(columns, "unexpected", |of| &of.receives.sought)
}
