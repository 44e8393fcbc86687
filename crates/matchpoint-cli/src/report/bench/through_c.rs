//! The report of engines called from C, next to stand-ins for MPI libraries.

use matchpoint_bench::through_c::stand_ins;
use matchpoint_bench::{Cell, Results};
use matchpoint_replay::format::digits;
use serde_json::{Value, json};

use super::engines::{or_nothing, result, rounded, table, timed};
use super::ranking::{self, best, is_level};
use super::tables::{NOTHING, label, measured_on, names, reference, rows, spread, timing, unfinished};
use crate::report::document::Document;
use crate::report::schema::measured;

const STAND_INS: &str = "Stand-ins: the structures of MPI libraries, in C, on the same requests. c:list: two lists (MPICH). \
     c:rank_array: two queues for each communicator and source, and one of receives from any source (Open MPI's ob1). c:ucx: 1021 \
     buckets by all words, a list of receives with wildcards, and a list of all unexpected messages (UCX).";

pub fn document(results: &Results, load: Option<f64>, svg: &str) -> Document {
    let mut document = Document::new("through_c", "Cost of matching, called from C");
    document.on_page().paragraph(measured_on(load));
    document.html(svg);
    let (rows, names) = (rows(results), names(results));
    document.section("Nanoseconds per matched message (a post and an arrival), called from C");
    document.rows(table(&names, &rows, timed).marked());
    document.note(ranking::LEGEND);
    document.on_terminal().section("Spread (p25–p75 of the repetitions)");
    document.on_terminal().rows(table(&names, &rows, |cell, _| or_nothing(spread(cell))));
    document.section("Time ÷ best stand-in of the row");
    let engines = &names[..engine_count(results)];
    let ratios = table(engines, &rows, |cell, row| or_nothing(ratio(cell, row).map(digits)));
    let named = |row: &&[Cell]| best_stand_in(row).map_or(NOTHING, |cell| &cell.engine).to_owned();
    document.rows(ratios.column("best stand-in", named));
    document.section("Workloads on which an engine is slower than the best stand-in");
    for (at, name) in engines.iter().enumerate() {
        document.item(name, slower(&rows, at));
    }
    document.gap();
    unfinished(results).into_iter().for_each(|(what, text)| document.item(what, text));
    document.note(STAND_INS);
    document.item("Reference", reference(results));
    document
}

fn engine_count(results: &Results) -> usize {
    results.engines.len() - stand_ins().len()
}

fn split_row(row: &[Cell]) -> (&[Cell], &[Cell]) {
    row.split_at(row.len() - stand_ins().len())
}

fn best_stand_in(row: &[Cell]) -> Option<&Cell> {
    let measured = split_row(row).1.iter().filter_map(|cell| Some((cell, timing(cell)?.ns_median)));
    measured.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(cell, _)| cell)
}

fn ratio(cell: &Cell, row: &[Cell]) -> Option<f64> {
    Some(cell.outcome.ns()? / best_stand_in(row)?.outcome.ns()?)
}

fn slower(rows: &[&[Cell]], engine: usize) -> String {
    let behind = rows.iter().filter_map(|row| {
        let cell = &row[engine];
        let best = best(split_row(row).1)?;
        (!is_level(best, timing(cell)?)).then_some(())?;
        Some((ratio(cell, row)?, label(cell))).filter(|(ratio, _)| *ratio > 1.0)
    });
    let mut behind: Vec<_> = behind.collect();
    behind.sort_by(|one, other| other.0.total_cmp(&one.0));
    let words: Vec<String> =
        behind.iter().map(|(ratio, on)| format!("{} × on {on}", digits(*ratio))).collect();
    if words.is_empty() { "nowhere".to_owned() } else { words.join(", ") }
}

pub fn json(results: &Results, load: Option<f64>) -> Value {
    let (low, high) = results.reference_range_ns;
    let cells =
        rows(results).into_iter().flat_map(|row| row.iter().map(move |cell| result_in_row(cell, row)));
    measured(
        load,
        json!({
            "through": "c",
            "reference_ns": rounded(results.reference_ns),
            "reference_ns_min": rounded(low),
            "reference_ns_max": rounded(high),
            "floor_ns": rounded(results.floor_ns),
            "engines": results.engines[..engine_count(results)],
            "stand_ins": stand_ins(),
            "results": cells.collect::<Vec<_>>(),
        }),
    )
}

/// A result, without members that have no value through C.
fn result_in_row(cell: &Cell, row: &[Cell]) -> Value {
    let mut value = result(cell);
    if let Some(members) = value.as_object_mut() {
        ["attempts_mean", "bytes_peak", "bytes_above"]
            .iter()
            .for_each(|member| drop(members.remove(*member)));
    }
    value["best_stand_in"] = json!(best_stand_in(row).map(|best| &best.engine));
    value["times_best_stand_in"] = json!(ratio(cell, row).map(rounded));
    value
}
