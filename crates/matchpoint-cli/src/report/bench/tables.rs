//! Common parts of tables on a terminal and in a page.

use matchpoint_bench::results::Figures;
use matchpoint_bench::{Cell, Outcome, Results};

use crate::format::{bytes, digits, in_place};

/// Host of the measurement, with its load.
pub fn measured_on(load: Option<f64>) -> String {
    let busy = load.map_or_else(String::new, |load| format!(" Load average before: {}.", digits(load)));
    format!("Measured on {}.{busy}", matchpoint_replay::host::host())
}

/// The cells of each workload, by engine.
pub fn rows(results: &Results) -> Vec<&[Cell]> {
    results.cells.chunks(results.engines.len().max(1)).collect()
}

/// The figures of a cell, if any.
pub fn figures(cell: &Cell) -> Option<&Figures> {
    if let Outcome::Measured(figures) = &cell.outcome { Some(figures) } else { None }
}

/// A cell of the table of times, without the mark.
pub fn time(cell: &Cell) -> String {
    match &cell.outcome {
        Outcome::Measured(figures) => digits(figures.ns_median),
        Outcome::TooSlow { above_ns, .. } => format!("> {}", digits(*above_ns)),
        other => without_figures(other).to_owned(),
    }
}

/// The reason for missing figures.
pub fn without_figures(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Differs(_) => "differs",
        Outcome::Full(_) => "full",
        Outcome::Wrong(_) => "WRONG",
        Outcome::Measured(_) | Outcome::TooSlow { .. } => NOTHING,
    }
}

/// The quartiles of a time.
pub fn spread(cell: &Cell) -> Option<String> {
    let figures = figures(cell)?;
    Some(format!("{}–{}", digits(figures.ns_p25), digits(figures.ns_p75)))
}

/// Attempts.
pub fn attempts(cell: &Cell) -> String {
    cell.attempts_mean.map_or_else(|| NOTHING.to_owned(), digits)
}

/// Times of posts and of arrivals, if timed separately.
pub fn split(cell: &Cell) -> Option<String> {
    let (post, arrive) = figures(cell)?.split?;
    Some(format!("{} + {}", digits(post), digits(arrive)))
}

/// Rows with separate times. A library waits only in the post of an unexpected message.
pub fn with_halves<'a>(rows: &[&'a [Cell]]) -> Vec<&'a [Cell]> {
    rows.iter().copied().filter(|row| row.iter().any(|cell| split(cell).is_some())).collect()
}

/// Text of an empty cell.
pub const NOTHING: &str = "·";

/// Cells with missing figures, and the reasons.
pub fn unfinished(results: &Results) -> Vec<(&'static str, String)> {
    let note = |cell: &Cell| {
        let at = format!("{} on {}", cell.engine, label(cell));
        match &cell.outcome {
            Outcome::TooSlow { why, .. } => Some(("Given up", format!("{at}: {why}; increase --budget."))),
            Outcome::Differs(what) => Some(("Differs", format!("{at}: {}", differs(what)))),
            Outcome::Full(when) => Some(("Full", format!("{at}: {}", full(when)))),
            Outcome::Wrong(what) => Some(("WRONG", format!("{at}: {what}."))),
            Outcome::Measured(_) => None,
        }
    };
    results.cells.iter().filter_map(note).collect()
}

/// A sentence about a full table.
pub fn full(when: &str) -> String {
    format!("its table, {when}.")
}

/// A sentence about another permitted answer.
pub fn differs(what: &str) -> String {
    format!("{what}, which its order or its requirements permit.")
}

/// The least memory of a row, among engines that finished the workload.
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
        other => without_figures(other).to_owned(),
    }
}

/// Cells of each engine with a substitute: the figures are those of the substitute.
fn substituted(results: &Results) -> Vec<Vec<&Cell>> {
    let rows = rows(results);
    let of = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).filter(|cell| cell.substitute.is_some()).collect()
    };
    (0..results.engines.len()).map(of).collect()
}

/// Names of columns and lines: engines, with their substitutes.
pub fn names(results: &Results) -> Vec<String> {
    let name = |(engine, cells): (&String, Vec<&Cell>)| {
        in_place(engine, cells.first().and_then(|cell| cell.substitute.as_deref()))
    };
    results.engines.iter().zip(substituted(results)).map(name).collect()
}

/// A sentence for each engine with a substitute, with the workloads if not all.
pub fn substitutes(results: &Results) -> Vec<String> {
    let all = rows(results).len();
    let sentence = |cells: Vec<&Cell>| {
        let first = cells.first()?;
        let which: Vec<String> = cells.iter().map(|cell| label(cell)).collect();
        let on = if cells.len() == all { String::new() } else { format!(" on {}", which.join(", ")) };
        Some(format!("{}{on}", substitute(&first.engine, first.substitute.as_deref())?))
    };
    substituted(results).into_iter().filter_map(sentence).collect()
}

/// A sentence about a substitute, if any.
pub fn substitute(engine: &str, substitute: Option<&str>) -> Option<String> {
    Some(format!("`{}` matched instead of `{engine}`", substitute?))
}

/// A workload with its size.
pub fn label(cell: &Cell) -> String {
    // The size of a trace is not a parameter.
    let is_trace = cell.workload.contains(':');
    if is_trace { cell.workload.clone() } else { format!("{}:{}", cell.workload, cell.n) }
}

/// The reference for comparisons between hosts.
pub fn reference(results: &Results) -> String {
    let (low, high) = results.reference_range_ns;
    format!(
        "{} ns ({} to {}) for two linked lists at depth 0, with warm caches, on this host: divide by it to compare \
         hosts. Calls through the contract without an engine: {} ns.",
        digits(results.reference_ns),
        digits(low),
        digits(high),
        digits(results.floor_ns)
    )
}
