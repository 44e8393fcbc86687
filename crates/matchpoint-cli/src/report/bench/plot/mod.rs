//! Charts of time by size, one for each workload with several sizes. All charts have one time scale, and both axes are
//! logarithmic. A vertical stroke is the spread of a point.

pub mod gpu;
pub(super) mod key;
pub mod rate;

use std::path::Path;

use matchpoint_bench::{Cell, Outcome, Results};

use super::tables::{names, rows};
use crate::report::chart::axis::Scale;
use crate::report::chart::{Chart, Line, STYLES, grid};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Svg,
    Html,
}

impl Form {
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "svg" => Some(Form::Svg),
            "html" | "htm" => Some(Form::Html),
            _ => None,
        }
    }
}

/// Workloads that no chart shows, because the workload has one size. Traces are not included.
pub fn of_one_size(results: &Results) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let drawn = series(results);
    for cell in &results.cells {
        let name = cell.workload.as_str();
        let is_drawn = drawn.iter().any(|(drawn, _)| *drawn == name);
        if !is_drawn && !name.contains(':') && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn series(results: &Results) -> Vec<(&str, Vec<&[Cell]>)> {
    let mut series: Vec<(&str, Vec<&[Cell]>)> = Vec::new();
    for row in rows(results) {
        let Some(first) = row.first() else { continue };
        match series.iter_mut().find(|(name, _)| *name == first.workload) {
            Some((_, rows)) => rows.push(row),
            None => series.push((&first.workload, vec![row])),
        }
    }
    series.retain(|(_, rows)| rows.len() > 1);
    for (_, rows) in &mut series {
        rows.sort_by_key(|row| row[0].n);
    }
    series
}

pub fn svg(results: &Results) -> String {
    let names = names(results);
    let reach: Vec<f64> = results.cells.iter().flat_map(times).collect();
    let charts = series(results).into_iter().map(|(name, rows)| Chart {
        title: name.to_owned(),
        axes: String::new(),
        lines: names.iter().enumerate().map(|(at, name)| line(name, &rows, at)).collect(),
        scales: (Scale::Ratios, Scale::Powers(10, nanoseconds)),
        reach: reach.clone(),
    });
    let label = "Time per matched message against size, both logarithmic";
    grid(&charts.collect::<Vec<_>>(), label, "No workload was measured at several sizes.")
}

/// The lowest time shown, below the resolution of the clock.
fn shown(ns: f64) -> f64 {
    ns.max(0.1)
}

fn times(cell: &Cell) -> Vec<f64> {
    match &cell.outcome {
        Outcome::Measured(timing) => [timing.ns_median, timing.ns_p25, timing.ns_p75].map(shown).to_vec(),
        Outcome::TooSlow { above_ns, .. } => vec![shown(*above_ns)],
        Outcome::Differs(_) | Outcome::Full(_) | Outcome::Wrong(_) => Vec::new(),
    }
}

fn line(name: &str, rows: &[&[Cell]], engine: usize) -> Line {
    let mut line = Line { name: name.to_owned(), style: engine % STYLES, ..Line::default() };
    for cell in rows.iter().filter_map(|row| row.get(engine)) {
        let size = cell.n as f64;
        match times(cell)[..] {
            [median, low, high] => {
                line.points.push((size, median));
                line.spreads.push((size, low, high));
            }
            // The engine was stopped, and its time is higher, so no line ends at the point.
            [above] => line.arrows.push((size, above)),
            _ => {}
        }
    }
    line
}

fn nanoseconds(ns: f64) -> String {
    match ns {
        below if below < 1e3 => format!("{below} ns"),
        below if below < 1e6 => format!("{} µs", below / 1e3),
        _ => format!("{} ms", ns / 1e6),
    }
}
