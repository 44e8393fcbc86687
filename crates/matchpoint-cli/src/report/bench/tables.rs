//! What the tables on a terminal and in a page have in common.

use matchpoint_bench::{Cell, Outcome, Results};

use crate::format::{bytes, digits};

/// The cells of one workload, engine by engine.
pub fn rows(results: &Results) -> Vec<&[Cell]> {
    results.cells.chunks(results.engines.len().max(1)).collect()
}

/// The best of a row: the least median.
pub fn best(row: &[Cell]) -> Option<f64> {
    row.iter().filter_map(|cell| cell.outcome.ns()).min_by(f64::total_cmp)
}

/// A cell of the table of times.
pub fn time(cell: &Cell, best: Option<f64>) -> String {
    match &cell.outcome {
        Outcome::Measured(figures) => {
            let mark = if best == Some(figures.ns_median) { "*" } else { "" };
            format!("{mark}{}", digits(figures.ns_median))
        }
        Outcome::TooSlow { above_ns, .. } => format!("> {}", digits(*above_ns)),
        Outcome::Differs(_) => "differs".to_owned(),
        Outcome::Full(_) => "full".to_owned(),
        Outcome::Wrong(_) => "WRONG".to_owned(),
    }
}

/// The leanest of a row: the least memory of those that did all of the workload.
pub fn leanest(row: &[Cell]) -> Option<u64> {
    row.iter().filter_map(Cell::bytes_whole).min()
}

/// A cell of the table of memory.
pub fn memory(cell: &Cell, leanest: Option<u64>) -> String {
    match &cell.outcome {
        Outcome::Measured(_) => {
            let mark = if leanest == Some(cell.bytes_peak) { "*" } else { "" };
            format!("{mark}{}", bytes(cell.bytes_peak))
        }
        Outcome::TooSlow { .. } => format!("≥ {}", bytes(cell.bytes_peak)),
        Outcome::Differs(_) => "differs".to_owned(),
        Outcome::Full(_) => "full".to_owned(),
        Outcome::Wrong(_) => "WRONG".to_owned(),
    }
}

/// Of each engine, the workload on which it is furthest behind the best, in words.
pub fn losses(results: &Results) -> Vec<(String, String)> {
    let rows = rows(results);
    let of = |(at, engine): (usize, &String)| (engine.clone(), loss(&rows, at));
    results.engines.iter().enumerate().map(of).collect()
}

fn loss(rows: &[&[Cell]], engine: usize) -> String {
    let behind = rows.iter().filter_map(|row| {
        let (cell, best) = (row.get(engine)?, best(row)?);
        let (above, ns) = match &cell.outcome {
            Outcome::Measured(figures) => ("", figures.ns_median),
            Outcome::TooSlow { above_ns, .. } => ("more than ", *above_ns),
            Outcome::Wrong(_) | Outcome::Differs(_) | Outcome::Full(_) => return None,
        };
        Some((ns / best, above, label(cell)))
    });
    match behind.max_by(|one, other| one.0.total_cmp(&other.0)) {
        Some((ratio, above, workload)) if ratio > 1.0 => {
            format!("{above}{} times the best on {workload}", digits(ratio))
        }
        Some(_) => "nowhere: it is the best on every workload here".to_owned(),
        None => "no figures".to_owned(),
    }
}

/// A workload and its size.
pub fn label(cell: &Cell) -> String {
    // The size of a trace is no parameter of it.
    let is_trace = cell.workload.contains(':');
    if is_trace { cell.workload.clone() } else { format!("{}:{}", cell.workload, cell.n) }
}

/// What figures of different machines are compared by.
pub fn reference(results: &Results) -> String {
    let (low, high) = results.reference_range_ns;
    format!(
        "{} ns ({} to {}) for two plain linked lists at depth 0, warm, on this machine, now: divide by it to compare \
         machines. {} ns is what calls behind the contract cost if the engine does nothing.",
        digits(results.reference_ns),
        digits(low),
        digits(high),
        digits(results.floor_ns)
    )
}
