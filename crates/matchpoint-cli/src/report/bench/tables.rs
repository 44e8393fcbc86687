//! What the tables on a terminal and in a page have in common.

use matchpoint_bench::results::Figures;
use matchpoint_bench::{Cell, Outcome, Results};

use crate::format::{bytes, digits, in_place};

/// Where it was measured. What else ran on the machine is in the figures, too.
pub fn measured_on(load: Option<f64>) -> String {
    let busy = load.map_or_else(String::new, |load| format!(" Its load average before: {}.", digits(load)));
    format!("Measured on {}.{busy}", matchpoint_replay::host::host())
}

/// The cells of one workload, engine by engine.
pub fn rows(results: &Results) -> Vec<&[Cell]> {
    results.cells.chunks(results.engines.len().max(1)).collect()
}

/// What was measured, if anything was.
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

/// Why a cell has no figures.
pub fn without_figures(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Differs(_) => "differs",
        Outcome::Full(_) => "full",
        Outcome::Wrong(_) => "WRONG",
        Outcome::Measured(_) | Outcome::TooSlow { .. } => NOTHING,
    }
}

/// Of a time the quarters of its repetitions.
pub fn spread(cell: &Cell) -> Option<String> {
    let figures = figures(cell)?;
    Some(format!("{}–{}", digits(figures.ns_p25), digits(figures.ns_p75)))
}

/// Entries examined.
pub fn attempts(cell: &Cell) -> String {
    cell.attempts_mean.map_or_else(|| NOTHING.to_owned(), digits)
}

/// Posts and arrivals, where they can be timed apart.
pub fn split(cell: &Cell) -> Option<String> {
    let (post, arrive) = figures(cell)?.split?;
    Some(format!("{} + {}", digits(post), digits(arrive)))
}

/// Rows whose messages were unexpected: a library waits in the post only.
pub fn with_halves<'a>(rows: &[&'a [Cell]]) -> Vec<&'a [Cell]> {
    rows.iter().copied().filter(|row| row.iter().any(|cell| split(cell).is_some())).collect()
}

/// What a cell without a figure has.
pub const NOTHING: &str = "·";

/// Cells without figures, or without all of them: which, and why.
pub fn unfinished(results: &Results) -> Vec<(&'static str, String)> {
    let told = |cell: &Cell| {
        let at = format!("{} on {}", cell.engine, label(cell));
        match &cell.outcome {
            Outcome::TooSlow { why, .. } => {
                Some(("Given up", format!("{at}: {why}; --budget gives it longer.")))
            }
            Outcome::Differs(what) => Some(("Differs", format!("{at}: {}", differs(what)))),
            Outcome::Full(when) => Some(("Full", format!("{at}: {}", full(when)))),
            Outcome::Wrong(what) => Some(("WRONG", format!("{at}: {what}."))),
            Outcome::Measured(_) => None,
        }
    };
    results.cells.iter().filter_map(told).collect()
}

/// What a full table comes to.
pub fn full(when: &str) -> String {
    format!("its table, {when}.")
}

/// What an answer comes to that is another, and none that is wrong.
pub fn differs(what: &str) -> String {
    format!("{what}, which its order, or what it demands, permits.")
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
        other => without_figures(other).to_owned(),
    }
}

/// The cells of each engine that another engine matched in the place of it: the other's figures.
fn substituted(results: &Results) -> Vec<Vec<&Cell>> {
    let rows = rows(results);
    let of = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).filter(|cell| cell.substitute.is_some()).collect()
    };
    (0..results.engines.len()).map(of).collect()
}

/// What columns and lines are called: engines as given, and before them who matched in their place anywhere.
pub fn names(results: &Results) -> Vec<String> {
    let name = |(engine, cells): (&String, Vec<&Cell>)| {
        in_place(engine, cells.first().and_then(|cell| cell.substitute.as_deref()))
    };
    results.engines.iter().zip(substituted(results)).map(name).collect()
}

/// Who matched in the place of whom, and on which workloads if not on all: a sentence for each engine of which that is so.
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

/// Who matched in the place of an engine, if anybody did.
pub fn substitute(engine: &str, substitute: Option<&str>) -> Option<String> {
    Some(format!("`{}` matched in the place of `{engine}`", substitute?))
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
