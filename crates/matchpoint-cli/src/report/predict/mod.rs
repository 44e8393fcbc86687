//! The reports of `matchpoint predict`, from a [`Predicted`].

pub(super) mod bars;
pub mod table;

use anstyle::Style;
use matchpoint_model::{Machine, Prediction, ProcessCost, Split};
use matchpoint_replay::format::{count, seconds, share};
use serde_json::{Value, json};

use super::document::Document;
use super::schema::headed;
use crate::predict::predicted::{EngineRow, LIBRARY, Predicted, Row};

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
        document.section(table::TIMES);
        document.rows(table::times(predicted));
        document.rows(table::traffic(predicted));
        document.note(table::TRAFFIC);
        if let [row] = &predicted.rows[..] {
            document.section("Over processes");
            document.rows(table::spread(&row.prediction));
        }
        document.section("Highest transport time of a process, by model");
        document.rows(table::knowledge(predicted));
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

fn shown(document: &mut Document, at: usize) -> &mut Document {
    if at < ENGINE_TABLES { document } else { document.on_page() }
}

fn engines(predicted: &Predicted, document: &mut Document) {
    let mut tables = table::engines(predicted).into_iter().enumerate().peekable();
    let more = tables.len().saturating_sub(ENGINE_TABLES);
    while let Some((at, of)) = tables.next() {
        shown(document, at).section(&of.title);
        shown(document, at).rows(of.rows);
        // Consecutive tables with equal legends print the legend once.
        if at + 1 == ENGINE_TABLES || tables.peek().is_none_or(|(_, next)| next.meaning != of.meaning) {
            shown(document, at).note(&of.meaning);
        }
    }
    if more > 0 {
        document.on_terminal().item("Note", format!("{more} more numbers of processes: --json."));
    }
}

/// Maximum number of processes in the JSON. The sums include all processes.
const PROCESSES_LISTED: usize = 1 << 16;

/// `docs/reference/predict.md` describes every member; members never change or disappear.
pub fn json(predicted: &Predicted) -> Value {
    headed(json!({
        "command": predicted.command,
        "of": predicted.subject,
        "machine": machine(&predicted.machine),
        "network": predicted.network,
        "queue_search": predicted.searched,
        "rows": predicted.rows.iter().map(row).collect::<Vec<_>>(),
        "engines": predicted.engines.iter().map(engine).collect::<Vec<_>>(),
        "notes": table::notes(predicted),
    }))
}

pub(in crate::report) fn machine(machine: &Machine) -> Value {
    let of = &machine.provenance;
    json!({
        "name": machine.name,
        "host": of.host,
        "mpi": of.mpi,
        "when": of.when,
        "confidence": of.confidence,
    })
}

fn row(row: &Row) -> Value {
    let prediction = &row.prediction;
    let [shortest, value, longest] = prediction.longest;
    let listed = prediction.processes.len() <= PROCESSES_LISTED;
    json!({
        "name": row.name,
        "operation": row.operation,
        "matrix_rows": row.matrix.map(|of| of.0),
        "matrix_entries": row.matrix.map(|of| of.1),
        "processes": row.layout.processes,
        "ppn": row.layout.ppn,
        "sockets": row.layout.sockets,
        "messages": row.messages,
        "bytes": row.bytes,
        "hops_mean": prediction.hops_mean,
        "link_bytes": prediction.link_bytes,
        "worst_process": prediction.worst,
        "time": split(&value, prediction),
        "time_shortest": split(&shortest, prediction),
        "time_longest": split(&longest, prediction),
        "transport_postal_s": prediction.postal_s,
        "transport_max_rate_s": prediction.max_rate_s,
        "missing": prediction.missing.iter().map(|missing| &missing.parameter).collect::<Vec<_>>(),
        "per_process": listed.then(|| {
            let process = |cost| process(cost, prediction);
            prediction.processes.iter().map(process).collect::<Vec<_>>()
        }),
    })
}

/// The parts of a time. Parts without parameters are null.
fn split(split: &Split, of: &Prediction) -> Value {
    json!({
        "transport_s": split.transport_s,
        "queue_s": (!of.lacks_queue()).then_some(split.queue_s),
        "contention_s": (!of.lacks_contention()).then_some(split.contention_s),
        "total_s": split.total_s(),
    })
}

fn process(process: &ProcessCost, of: &Prediction) -> Value {
    json!({
        "sent": process.sent,
        "sent_bytes": process.sent_bytes,
        "off_node_bytes": process.off_node_bytes,
        "hops_mean": process.hops_mean,
        "received": process.received,
        "received_bytes": process.received_bytes,
        "transport_s": process.split.transport_s,
        "queue_s": (!of.lacks_queue()).then_some(process.split.queue_s),
        "contention_s": (!of.lacks_contention()).then_some(process.split.contention_s),
    })
}

fn engine(row: &EngineRow) -> Value {
    let mut value = json!(row);
    for (member, at) in [("time_shortest_s", 0), ("time_s", 1), ("time_longest_s", 2)] {
        value[member] = json!(row.time_s.map(|time| time[at]));
    }
    value
}
