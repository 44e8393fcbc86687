//! Tables for spreadsheets and data frames: one file per table, units in the header.

use matchpoint_replay::measurements::{EngineAtRank, EngineMeasurements, PlaceMeasurements, SearchCounts};

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
    let engines = &report.measurements.engines;
    let host = engines.iter().map(|_| &report.measurements.host);
    Columns::default()
        .members(
            engines,
            "engine=name matched match_ns match_cold_ns unmatched_receives unmatched_messages disagreements \
             posted.length_max posted_length_mean_at_search=posted.length_mean posted.attempts posted.searches \
             posted.hits unexpected.length_max unexpected_length_mean_at_search=unexpected.length_mean \
             unexpected.attempts unexpected.searches unexpected.hits bytes_max bytes_sum",
        )
        .text("host", host)
        .members(engines, "sampled")
}

fn ranks(report: &Report<'_>) -> Columns {
    let ranks = &report.measurements.ranks;
    let columns = Columns::default().members(
        ranks,
        "rank calls sends receives messages elapsed_s peers peer_uniformity peer_weight_max tuples_unique \
         tuples_exact tuple_share_max tuples_per_receive posted.length_max posted.length_mean \
         unexpected.length_max unexpected.length_mean late_receives worst_at_s worst_length",
    );
    report.measurements.engines.iter().fold(columns, |columns, of| at_ranks(columns, of, ranks.len()))
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

/// Also the call sites of the JSON.
pub(super) fn sites(report: &Report<'_>) -> Columns {
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
