//! Data of the report's script, small enough for a thousand ranks.

use std::fmt::Write;

use matchpoint_replay::Measurements;
use matchpoint_replay::analysis::derived::cost_ns;
use matchpoint_replay::measurements::{RankMeasurements, RankQueue};
use serde::Serialize;

use crate::report::Report;
use crate::report::escape::script_json;

/// Maximum rows of the heat map, about the pixels of a screen.
const ROWS: usize = 1024;

const COLUMNS: usize = 240;

#[derive(Serialize)]
struct Data {
    heat: Heat,
    matrix: Matrix,
    ranks: Vec<u32>,
    /// Series of the column charts, with one value for each rank.
    series: Series,
}

#[derive(Serialize)]
struct Heat {
    rows: Vec<(u32, u32)>,
    columns: usize,
    duration_s: f64,
    posted: Vec<String>,
    unexpected: Vec<String>,
}

#[derive(Serialize)]
struct Matrix {
    cells: u32,
    ranks_per_cell: u32,
    messages: String,
    bytes: String,
}

#[derive(Serialize)]
struct Series {
    posted: Vec<u64>,
    unexpected: Vec<u64>,
    warm_ns: Vec<f64>,
    cold_ns: Vec<f64>,
    matching_ns: Vec<f64>,
    elapsed_s: Vec<f64>,
}

/// The data as JSON for a script element.
pub fn json(report: &Report<'_>) -> String {
    let measurements = report.measurements;
    let data = Data {
        heat: heat(measurements),
        matrix: matrix(measurements),
        ranks: measurements.ranks.iter().map(|rank| rank.rank).collect(),
        series: series(measurements),
    };
    // Serialization of numbers and text cannot fail.
    script_json(&serde_json::to_string(&data).unwrap_or_default())
}

fn heat(measurements: &Measurements) -> Heat {
    let per_row = measurements.ranks.len().div_ceil(ROWS).max(1);
    let rows: Vec<&[RankMeasurements]> = measurements.ranks.chunks(per_row).collect();
    let spans = measurements.ranks.iter().map(|rank| rank.posted.timeline.len()).max().unwrap_or(0);
    let columns = spans.min(COLUMNS);
    let coded = |of: fn(&RankMeasurements) -> &RankQueue| {
        rows.iter().map(|row| encode(longest(row, columns, of))).collect()
    };
    Heat {
        rows: rows.iter().filter_map(|row| Some((row.first()?.rank, row.last()?.rank))).collect(),
        columns,
        duration_s: measurements.replayed_s,
        posted: coded(|rank| &rank.posted),
        unexpected: coded(|rank| &rank.unexpected),
    }
}

/// The longest queue in each time interval, over the ranks of a row.
fn longest(row: &[RankMeasurements], columns: usize, of: fn(&RankMeasurements) -> &RankQueue) -> Vec<u64> {
    let mut lengths = vec![0; columns];
    for timeline in row.iter().map(|rank| &of(rank).timeline) {
        for (span, length) in timeline.iter().enumerate() {
            let column = span * columns / timeline.len();
            lengths[column] = lengths[column].max(u64::from(*length));
        }
    }
    lengths
}

fn matrix(measurements: &Measurements) -> Matrix {
    let of = &measurements.matrix;
    Matrix {
        cells: of.cells,
        ranks_per_cell: of.ranks_per_cell,
        messages: encode(of.messages.iter().copied()),
        bytes: encode(of.bytes.iter().copied()),
    }
}

fn series(measurements: &Measurements) -> Series {
    let first = measurements.engines.first().map_or(&[][..], |engine| &engine.ranks);
    let ranks = &measurements.ranks;
    Series {
        posted: ranks.iter().map(|rank| rank.posted.length_max).collect(),
        unexpected: ranks.iter().map(|rank| rank.unexpected.length_max).collect(),
        warm_ns: first.iter().map(|at| at.match_ns.round()).collect(),
        cold_ns: first.iter().map(|at| at.match_cold_ns.round()).collect(),
        matching_ns: first.iter().map(|at| cost_ns(at).round()).collect(),
        elapsed_s: ranks.iter().map(|rank| rank.elapsed_s).collect(),
    }
}

/// Encodes numbers in base 36, and runs of equal numbers as `value*length`. The text is a third of the JSON.
fn encode(values: impl IntoIterator<Item = u64>) -> String {
    let mut text = String::new();
    let mut values = values.into_iter().peekable();
    while let Some(value) = values.next() {
        let mut length = 1_u64;
        while values.next_if_eq(&value).is_some() {
            length += 1;
        }
        let separator = if text.is_empty() { "" } else { " " };
        let repeat = if length > 1 { format!("*{}", base36(length)) } else { String::new() };
        let _ = write!(text, "{separator}{}{repeat}", base36(value));
    }
    text
}

fn base36(mut value: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((value % 36) as u32, 36).unwrap_or('0'));
        value /= 36;
        if value == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encode_shortens_runs() {
        assert_eq!(encode([0, 0, 0, 36, 5, 5]), "0*3 10 5*2");
        assert_eq!(encode([]), "");
    }
}
