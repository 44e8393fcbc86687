//! Common parts of the terminal and HTML reports.

use matchpoint_model::{Prediction, ProcessCost};
use matchpoint_replay::analysis::derived::ratio;
use matchpoint_replay::format::{bytes, count, counted, digits, seconds};

use crate::cli::without_duplicates;
use crate::predict::predicted::{EngineRow, Predicted, Row};
use crate::report::document::Rows;

pub const TIMES: &str = "Time of the slowest process";

pub const TRAFFIC: &str = "messages, bytes: of all processes. sent, received: most messages of one process. hops: \
                           links per byte between nodes, mean. on a link: bytes on the busiest link.";

const NOTHING: &str = "·";

fn rows(predicted: &Predicted) -> Rows<&Row> {
    Rows::of(&predicted.rows).column(predicted.row_name, |row| name(predicted, row))
}

/// The name of a row. If the operations of the rows differ, also the operation.
pub fn name(predicted: &Predicted, row: &Row) -> String {
    let differs = predicted.rows.iter().any(|other| other.operation != row.operation);
    if differs { format!("{} {}", row.operation, row.name) } else { row.name.clone() }
}

pub fn times(predicted: &Predicted) -> Rows<&Row> {
    let split = |row: &Row| row.prediction.longest[1];
    let rows = rows(predicted)
        .column("transport", |row| seconds(split(row).transport_s))
        .column("queue search", |row| unless(row.prediction.lacks_queue(), split(row).queue_s))
        .column("contention", |row| unless(row.prediction.lacks_contention(), split(row).contention_s))
        .column("total", |row| seconds(split(row).total_s()));
    let has_interval = predicted.rows.iter().any(|row| interval(&row.prediction) != NOTHING);
    if has_interval { rows.column("interval", |row| interval(&row.prediction)) } else { rows }
}

fn unless(is_unknown: bool, time_s: f64) -> String {
    if is_unknown { "unknown".to_owned() } else { seconds(time_s) }
}

fn interval(prediction: &Prediction) -> String {
    let [shortest, value, longest] = prediction.longest.map(|split| split.total_s());
    if shortest == value && value == longest {
        return NOTHING.to_owned();
    }
    format!("{} to {}", seconds(shortest), seconds(longest))
}

pub fn traffic(predicted: &Predicted) -> Rows<&Row> {
    let most =
        |row: &Row, of: fn(&ProcessCost) -> u64| row.prediction.processes.iter().map(of).max().unwrap_or(0);
    rows(predicted)
        .column("messages", |row| count(row.messages))
        .column("bytes", |row| bytes(row.bytes))
        .column("sent", |row| count(most(row, |process| process.sent)))
        .column("received", |row| count(most(row, |process| process.received)))
        .column("hops", |row| digits(row.prediction.hops_mean))
        .column("on a link", |row| bytes(row.prediction.link_bytes as u64))
}

pub fn knowledge(predicted: &Predicted) -> Rows<&Row> {
    let known = |time: Option<f64>| time.map_or_else(|| NOTHING.to_owned(), seconds);
    rows(predicted)
        .column("postal", |row| known(row.prediction.postal_s))
        .column("max-rate", |row| known(row.prediction.max_rate_s))
        .column("node-aware", |row| {
            let times_s = row.prediction.processes.iter().map(|process| process.split.transport_s);
            seconds(times_s.fold(0.0, f64::max))
        })
}

/// A quantity of a process, and the text of its values.
type Quantity = (&'static str, fn(&ProcessCost) -> f64, fn(f64) -> String);

/// Minimum, mean and maximum over the processes.
pub fn spread(of: &Prediction) -> Rows<Quantity> {
    let bytes: fn(f64) -> String = |value| bytes(value as u64);
    let known = |is_unknown: bool| if is_unknown { |_| "unknown".to_owned() } else { seconds };
    let quantities: [Quantity; 9] = [
        ("messages sent", |process| process.sent as f64, digits),
        ("messages received", |process| process.received as f64, digits),
        ("bytes sent", |process| process.sent_bytes as f64, bytes),
        ("… between nodes", |process| process.off_node_bytes as f64, bytes),
        ("hops of a byte", |process| process.hops_mean, digits),
        ("transport", |process| process.split.transport_s, seconds),
        ("queue search", |process| process.split.queue_s, known(of.lacks_queue())),
        ("contention", |process| process.split.contention_s, known(of.lacks_contention())),
        ("total", |process| process.split.total_s(), seconds),
    ];
    let values = |value: fn(&ProcessCost) -> f64| of.processes.iter().map(value);
    Rows::of(quantities)
        .column("", |(name, ..)| (*name).to_owned())
        .column("least", |(_, value, text)| text(values(*value).fold(f64::INFINITY, f64::min)))
        .column("mean", |(_, value, text)| text(ratio(values(*value).sum(), of.processes.len() as f64)))
        .column("most", |(_, value, text)| text(values(*value).fold(0.0, f64::max)))
}

/// A table of engines, its title, and the meaning of its columns.
pub struct Engines<'a> {
    pub title: String,
    pub rows: Rows<&'a EngineRow>,
    pub meaning: String,
}

/// A column: name, meaning, and the text of a cell.
type Column = (&'static str, &'static str, fn(&EngineRow) -> Option<String>);

const ENGINE_COLUMNS: [Column; 6] = [
    (
        "reversed",
        "entries compared at the process that receives most, with messages in reversed order of their receives",
        |row| row.attempts_reversed.map(count),
    ),
    ("in order", "with messages in the order of their receives", |row| row.attempts_in_order.map(count)),
    ("compared", "entries compared with the traced messages, at all ranks", |row| {
        row.attempts_recorded.map(count)
    }),
    ("time", "matching time of the slowest process", |row| row.time_s.map(time_range)),
    ("node", "memory of the engines of a node", |row| row.node_bytes.map(bytes)),
    ("all peers", "memory of a node after messages from every process to every other", |row| {
        row.node_bytes_all_peers.map(bytes)
    }),
];

/// A table for each number of processes with replayed engines. One more table has the memory of engines on other
/// numbers of processes.
pub fn engines(predicted: &Predicted) -> Vec<Engines<'_>> {
    let (played, others): (Vec<&EngineRow>, Vec<&EngineRow>) =
        predicted.engines.iter().partition(|row| row.node_bytes.is_some() || row.time_s.is_some());
    let tables = played.chunk_by(|one, next| one.processes == next.processes).map(engines_of);
    tables.chain((!others.is_empty()).then(|| memory(&others))).collect()
}

/// A table without its empty columns.
fn engines_of<'a>(of: &[&'a EngineRow]) -> Engines<'a> {
    let used = || ENGINE_COLUMNS.into_iter().filter(|(.., cell)| of.iter().any(|row| cell(row).is_some()));
    let names = Rows::of(of.iter().copied()).column("engine", |row| row.engine.clone());
    let meanings: Vec<String> = used().map(|(name, meaning, _)| format!("{name}: {meaning}.")).collect();
    Engines {
        title: format!(
            "Engines, {} processes: {} messages at the process that receives most",
            count(of.first().map_or(0, |row| row.processes).into()),
            count(of.first().map_or(0, |row| row.messages))
        ),
        rows: used().fold(names, |rows, (name, _, cell)| {
            rows.column(name, |row| cell(row).unwrap_or_else(|| NOTHING.to_owned()))
        }),
        meaning: meanings.join(" "),
    }
}

/// The memory of engines that did not run, with a column for each number of processes.
fn memory<'a>(of: &[&'a EngineRow]) -> Engines<'a> {
    let numbers = without_duplicates(&of.iter().map(|row| row.processes).collect::<Vec<_>>());
    let first = of.iter().copied().filter(|row| row.processes == numbers[0]);
    let names = Rows::of(first).column("engine", |row| row.engine.clone());
    let bytes_at = |row: &EngineRow, processes: u32| {
        let here = of.iter().find(|other| other.engine == row.engine && other.processes == processes);
        here.and_then(|here| here.node_bytes_all_peers)
    };
    Engines {
        title: "Engines, memory of a node by number of processes".to_owned(),
        rows: numbers.iter().fold(names, |rows, &processes| {
            let cell = |row: &&EngineRow| bytes_at(row, processes).map_or_else(|| NOTHING.to_owned(), bytes);
            rows.column(count(processes.into()), cell)
        }),
        meaning: "After messages from every process to every other.".to_owned(),
    }
}

fn time_range([shortest, value, longest]: [f64; 3]) -> String {
    if shortest == longest {
        seconds(value)
    } else {
        format!("{} to {}", seconds(shortest), seconds(longest))
    }
}

pub fn facts(predicted: &Predicted) -> Vec<(&'static str, String)> {
    let provenance = &predicted.machine.provenance;
    let confidence = provenance.confidence.map_or(String::new(), |confidence| {
        format!("; intervals of {} % confidence, within one calibration", digits(confidence * 100.0))
    });
    vec![
        ("Of", predicted.subject.clone()),
        (
            "Machine",
            format!(
                "{}: {}; {}; {}{confidence}",
                predicted.machine.name,
                provenance.host,
                provenance.mpi,
                provenance.by()
            ),
        ),
        ("Nodes", nodes(predicted)),
        ("Network", predicted.network.clone()),
        ("Queue search", predicted.searched.clone()),
    ]
}

fn nodes(predicted: &Predicted) -> String {
    let layout = predicted.rows.first().map(|row| row.layout);
    layout.map_or(String::new(), |layout| {
        let sockets = counted(u64::from(layout.sockets.get()), "socket");
        format!("{} processes on {sockets} each, in the order of ranks", layout.ppn)
    })
}

pub fn notes(predicted: &Predicted) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    for lack in predicted.rows.iter().flat_map(|row| &row.prediction.missing) {
        let text = format!("The times omit {lack}.");
        if !missing.contains(&text) {
            missing.push(text);
        }
    }
    let notes = predicted.machine.provenance.notes.iter().chain(&predicted.notes).cloned();
    missing.into_iter().chain(notes).collect()
}
