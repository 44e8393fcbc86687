//! The prediction: answer, bars, facts, tables.

use anstyle::Style;
use matchpoint_replay::format::{count, seconds, share};

use super::{bars, table};
use crate::predict::predicted::{EngineRow, LIBRARY, Predicted, Row};
use crate::report::document::Document;

/// Tables of engines on a terminal. JSON and pages have all tables.
const ENGINE_TABLES: usize = 4;

pub fn document(predicted: &Predicted) -> Document {
    let mut document = Document::new(&predicted.subject, "Cost of messages");
    document.lead(answer(predicted), Style::new().bold());
    if !predicted.rows.is_empty() {
        document.html(bars::of_operations(predicted));
    }
    for (label, text) in table::facts(predicted) {
        document.fact(label, text);
    }
    if !predicted.rows.is_empty() {
        times(predicted, &mut document);
        traffic(predicted, &mut document);
        if let [row] = &predicted.rows[..] {
            document.section("Over processes");
            document.table(&["", "least", "mean", "most"], table::spread(row));
        }
        knowledge(predicted, &mut document);
    }
    engines(predicted, &mut document);
    document.gap();
    table::notes(predicted).into_iter().for_each(|note| document.item("Note", note));
    document
}

fn longest(predicted: &Predicted) -> Option<&Row> {
    let total = |row: &Row| row.prediction.longest[1].total_s();
    predicted.rows.iter().max_by(|one, other| total(one).total_cmp(&total(other)))
}

/// A sentence with the time and its largest part.
fn answer(predicted: &Predicted) -> String {
    let sending = longest(predicted).map(|row| (row, row.prediction.longest[1]));
    let Some((row, split)) = sending.filter(|(_, split)| split.total_s() > 0.0) else {
        return predicted.without_messages.clone();
    };
    let total = split.total_s();
    let parts = [
        ("transport", split.transport_s),
        ("queue search", split.queue_s),
        ("contention", split.contention_s),
    ];
    let (most, time) =
        parts.into_iter().fold(("", -1.0), |most, part| if part.1 > most.1 { part } else { most });
    let worst = row.prediction.worst;
    let which = match (predicted.rows.len(), predicted.command) {
        (1, _) => format!("{}, at process {worst}", seconds(total)),
        (_, "amg") => {
            let (operation, level) = (row.operation, &row.name);
            format!("{} for {operation} on level {level}, at process {worst}", seconds(total))
        }
        (_, "trace") => format!("{1} for phase {0}, at process {worst}", row.name, seconds(total)),
        _ => {
            let processes = count(row.layout.processes.get().into());
            format!("{} with {processes} processes, at process {worst}", seconds(total))
        }
    };
    format!("Longest time: {which}; {} of it is {most}.{}", share(time / total), library(predicted))
}

/// The source of the search time of a trace, and the search time of the machine's MPI library.
fn library(predicted: &Predicted) -> String {
    let time = |row: &EngineRow| row.time_s.map(|time| time[1]);
    let library = predicted.engines.iter().find(|row| row.engine == LIBRARY).and_then(time);
    let Some((first, library)) = predicted.engines.first().zip(library) else { return String::new() };
    let Some(own) = time(first) else { return String::new() };
    format!(
        " Queue search of `{}` on this host: {} in the whole run. MPI library of {}: {}.",
        first.engine,
        seconds(own),
        predicted.machine.name,
        seconds(library)
    )
}

fn header<'a>(predicted: &'a Predicted, columns: &[&'a str]) -> Vec<&'a str> {
    [&[predicted.row_name], columns].concat()
}

fn lines(predicted: &Predicted, of: impl Fn(&Row) -> Vec<String>) -> Vec<Vec<String>> {
    let line = |row: &Row| [table::name(predicted, row)].into_iter().chain(of(row)).collect();
    predicted.rows.iter().map(line).collect()
}

fn times(predicted: &Predicted, document: &mut Document) {
    document.section(table::TIMES);
    let rows = lines(predicted, table::times);
    let has_interval = rows.iter().any(|row| row.last().is_some_and(|interval| interval != "·"));
    let columns = &table::TIME_COLUMNS[..if has_interval { 5 } else { 4 }];
    document.table(&header(predicted, columns), rows);
}

fn traffic(predicted: &Predicted, document: &mut Document) {
    document.table(&header(predicted, &table::TRAFFIC_COLUMNS), lines(predicted, table::traffic));
    document.note(table::TRAFFIC);
}

fn knowledge(predicted: &Predicted, document: &mut Document) {
    let known = |time: Option<f64>| time.map_or_else(|| "·".to_owned(), seconds);
    let of = |row: &Row| {
        let aware =
            row.prediction.processes.iter().map(|process| process.split.transport_s).fold(0.0, f64::max);
        vec![known(row.prediction.postal_s), known(row.prediction.max_rate_s), seconds(aware)]
    };
    document.section("Highest transport time of a process, by model");
    document.table(&header(predicted, &["postal", "max-rate", "node-aware"]), lines(predicted, of));
}

fn shown(document: &mut Document, at: usize) -> &mut Document {
    if at < ENGINE_TABLES { document } else { document.on_page() }
}

fn engines(predicted: &Predicted, document: &mut Document) {
    let tables = table::engines(predicted);
    for (at, of) in tables.iter().enumerate() {
        shown(document, at).section(&of.title);
        shown(document, at).table(&of.columns, of.rows.clone());
        // Consecutive tables with equal legends print the legend once.
        if at + 1 == ENGINE_TABLES || tables.get(at + 1).is_none_or(|next| next.meaning != of.meaning) {
            shown(document, at).note(&of.meaning);
        }
    }
    if tables.len() > ENGINE_TABLES {
        let more = tables.len() - ENGINE_TABLES;
        document.on_terminal().item("Note", format!("{more} more numbers of processes: --json."));
    }
}
