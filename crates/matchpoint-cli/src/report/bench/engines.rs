//! The report of engines on workloads.

use matchpoint_bench::{Cell, Outcome, Results};
use matchpoint_replay::format::digits;
use serde_json::{Value, json};

use super::ranking::{self, RowRank, best};
use super::tables::{
    NOTHING, attempts, label, leanest, measured_on, memory, names, reference, rows, split, spread,
    substitutes, time, unfinished, with_halves, without_timing,
};
use crate::report::document::{Document, Rows};
use crate::report::schema::measured;

pub fn document(results: &Results, load: Option<f64>, svg: &str) -> Document {
    let mut document = Document::new("engines", "Cost of matching by engine");
    document.on_page().paragraph(measured_on(load));
    document.html(svg);
    document.on_page().note(
        "Points: medians. Strokes: spreads (p25–p75). Arrow: the engine was stopped there, its time is higher.",
    );
    let (rows, names) = (rows(results), names(results));
    times(&names, &rows, results.is_cold, &mut document);
    let halves = with_halves(&rows);
    if !halves.is_empty() {
        document.section("Post + arrival, in nanoseconds, if timed separately");
        document.rows(table(&names, &halves, |cell, _| or_nothing(split(cell))));
    }
    document.section("Entries compared per matched message");
    document.rows(table(&names, &rows, |cell, _| attempts(cell)));
    document.section("Memory at most; * least memory of engines that finished the workload");
    document.rows(table(&names, &rows, |cell, row| memory(cell, leanest(row))).marked());
    if results.engines.len() > 1 {
        document.section("Largest loss of each engine");
        ranking::losses(results).into_iter().for_each(|(engine, text)| document.item(&engine, text));
    }
    document.gap();
    unfinished(results).into_iter().for_each(|(what, text)| document.item(what, text));
    substitutes(results).iter().for_each(|sentence| document.item("Substitute", format!("{sentence}.")));
    document.item("Reference", reference(results));
    document
}

/// A page has spreads and ratios below the times. A terminal has separate tables.
fn times(names: &[String], rows: &[&[Cell]], is_cold: bool, document: &mut Document) {
    document.section(if is_cold {
        "Nanoseconds per matched message, with cold caches before each call"
    } else {
        "Nanoseconds per matched message (a post and an arrival)"
    });
    document.rows(table(names, rows, timed).marked());
    document.note(ranking::LEGEND);
    document.on_terminal().section("Spread (p25–p75 of the repetitions)");
    document.on_terminal().rows(table(names, rows, |cell, _| or_nothing(spread(cell))));
    if names.len() > 1 {
        document.on_terminal().section("Time ÷ best of the row");
        document.on_terminal().rows(table(names, rows, ratio));
    }
}

pub(super) fn table<'a>(
    names: &[String],
    rows: &[&'a [Cell]],
    text: impl Fn(&Cell, &[Cell]) -> String,
) -> Rows<&'a [Cell]> {
    let workloads = Rows::of(rows.iter().copied()).column("workload", |row| label(&row[0]));
    let engines = names.iter().enumerate();
    engines.fold(workloads, |rows, (at, name)| rows.column(name, |row| text(&row[at], row)))
}

pub(super) fn or_nothing(text: Option<String>) -> String {
    text.unwrap_or_else(|| NOTHING.to_owned())
}

pub(super) fn timed(cell: &Cell, row: &[Cell]) -> String {
    let standing = RowRank::of(cell, row);
    let times = match (&cell.outcome, standing) {
        (Outcome::Measured(_), RowRank::Behind) => format!("\n× {}", ratio(cell, row)),
        _ => String::new(),
    };
    let spread = spread(cell).map_or(String::new(), |spread| format!("\n{spread}"));
    format!("{}{}{spread}{times}", standing.mark(), time(cell))
}

fn ratio(cell: &Cell, row: &[Cell]) -> String {
    match (&cell.outcome, best(row).map(|best| best.ns_median)) {
        (Outcome::Measured(timing), Some(best)) => {
            let standing = RowRank::of(cell, row);
            let mark = if standing == RowRank::Level { standing.mark() } else { "" };
            format!("{mark}{}", digits(timing.ns_median / best))
        }
        (Outcome::TooSlow { above_ns, .. }, Some(best)) => format!("> {}", digits(above_ns / best)),
        (Outcome::Differs(_), _) => NOTHING.to_owned(),
        (other, _) => without_timing(other).to_owned(),
    }
}

pub fn json(results: &Results, load: Option<f64>) -> Value {
    measured(
        load,
        json!({
            "cold": results.is_cold,
            "reference_ns": rounded(results.reference_ns),
            "reference_ns_min": rounded(results.reference_range_ns.0),
            "reference_ns_max": rounded(results.reference_range_ns.1),
            "floor_ns": rounded(results.floor_ns),
            "engines": results.engines,
            "results": results.cells.iter().map(result).collect::<Vec<_>>(),
        }),
    )
}

pub(super) fn result(cell: &Cell) -> Value {
    let mut value = json!({
        "workload": cell.workload,
        "n": cell.n,
        "engine": cell.engine,
        "substitute": cell.substitute,
        "ns_median": Value::Null,
        "ns_min": Value::Null,
        "attempts_mean": cell.attempts_mean.map(rounded),
        "bytes_peak": cell.bytes_whole(),
    });
    if cell.bytes_whole().is_none() {
        value["bytes_above"] = json!(cell.bytes_peak);
    }
    match &cell.outcome {
        Outcome::Measured(timing) => {
            value["ns_median"] = json!(rounded(timing.ns_median));
            value["ns_min"] = json!(rounded(timing.ns_min));
            value["ns_p25"] = json!(rounded(timing.ns_p25));
            value["ns_p75"] = json!(rounded(timing.ns_p75));
            value["samples"] = json!(timing.samples);
            if let Some((post, arrive)) = timing.split {
                value["ns_post"] = json!(rounded(post));
                value["ns_arrive"] = json!(rounded(arrive));
            }
        }
        Outcome::TooSlow { above_ns, why } => {
            value["ns_above"] = json!(rounded(*above_ns));
            value["unfinished"] = json!(why);
        }
        Outcome::Differs(what) => value["differs"] = json!(what),
        Outcome::Full(when) => value["full"] = json!(when),
        Outcome::Wrong(what) => value["wrong"] = json!(what),
    }
    value
}

/// Rounds to 0.001, which is below the accuracy of measurements.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
