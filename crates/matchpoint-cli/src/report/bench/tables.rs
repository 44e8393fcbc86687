//! Common parts of tables on a terminal and in a page.

use matchpoint_bench::results::Timing;
use matchpoint_bench::{Cell, Outcome, Results};
use matchpoint_replay::format::{bytes, digits, in_place};

pub fn measured_on(load: Option<f64>) -> String {
    let busy = load.map_or_else(String::new, |load| format!(" Load average before: {}.", digits(load)));
    format!("Measured on {}.{busy}", matchpoint_replay::host::host())
}

pub fn rows(results: &Results) -> Vec<&[Cell]> {
    results.cells.chunks(results.engines.len().max(1)).collect()
}

pub fn timing(cell: &Cell) -> Option<&Timing> {
    if let Outcome::Measured(timing) = &cell.outcome { Some(timing) } else { None }
}

pub fn time(cell: &Cell) -> String {
    match &cell.outcome {
        Outcome::Measured(timing) => digits(timing.ns_median),
        Outcome::TooSlow { above_ns, .. } => format!("> {}", digits(*above_ns)),
        other => without_timing(other).to_owned(),
    }
}

pub fn without_timing(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Differs(_) => "differs",
        Outcome::Full(_) => "full",
        Outcome::Wrong(_) => "WRONG",
        Outcome::Measured(_) | Outcome::TooSlow { .. } => NOTHING,
    }
}

pub fn spread(cell: &Cell) -> Option<String> {
    let timing = timing(cell)?;
    Some(format!("{}–{}", digits(timing.ns_p25), digits(timing.ns_p75)))
}

pub fn attempts(cell: &Cell) -> String {
    cell.attempts_mean.map_or_else(|| NOTHING.to_owned(), digits)
}

pub fn split(cell: &Cell) -> Option<String> {
    let (post, arrive) = timing(cell)?.split?;
    Some(format!("{} + {}", digits(post), digits(arrive)))
}

pub fn with_halves<'a>(rows: &[&'a [Cell]]) -> Vec<&'a [Cell]> {
    rows.iter().copied().filter(|row| row.iter().any(|cell| split(cell).is_some())).collect()
}

pub const NOTHING: &str = "·";

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

pub fn full(when: &str) -> String {
    format!("its table, {when}.")
}

pub fn differs(what: &str) -> String {
    format!("{what}, which its order or its requirements permit.")
}

/// The least memory of a row, among engines that finished the workload.
pub fn leanest(row: &[Cell]) -> Option<u64> {
    row.iter().filter_map(Cell::bytes_whole).min()
}

pub fn memory(cell: &Cell, leanest: Option<u64>) -> String {
    match &cell.outcome {
        Outcome::Measured(_) => {
            let mark = if leanest == Some(cell.bytes_peak) { "*" } else { "" };
            format!("{mark}{}", bytes(cell.bytes_peak))
        }
        Outcome::TooSlow { .. } => format!("≥ {}", bytes(cell.bytes_peak)),
        other => without_timing(other).to_owned(),
    }
}

fn substituted(results: &Results) -> Vec<Vec<&Cell>> {
    let rows = rows(results);
    let of = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).filter(|cell| cell.substitute.is_some()).collect()
    };
    (0..results.engines.len()).map(of).collect()
}

pub fn names(results: &Results) -> Vec<String> {
    let name = |(engine, cells): (&String, Vec<&Cell>)| {
        in_place(engine, cells.first().and_then(|cell| cell.substitute.as_deref()))
    };
    results.engines.iter().zip(substituted(results)).map(name).collect()
}

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

pub fn substitute(engine: &str, substitute: Option<&str>) -> Option<String> {
    Some(format!("`{}` matched instead of `{engine}`", substitute?))
}

pub fn label(cell: &Cell) -> String {
    let is_trace = cell.workload.contains(':');
    if is_trace { cell.workload.clone() } else { format!("{}:{}", cell.workload, cell.n) }
}

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
