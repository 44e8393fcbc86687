//! Common parts of the terminal and HTML reports.

use matchpoint_model::{Prediction, ProcessCost, Split};
use matchpoint_replay::format::{bytes, count, counted, digits, seconds};

use crate::predict::predicted::{EngineRow, Predicted, Row};

pub const TIMES: &str = "Time of the slowest process";

pub const TIME_COLUMNS: [&str; 5] = ["transport", "queue search", "contention", "total", "interval"];

pub const TRAFFIC_COLUMNS: [&str; 6] = ["messages", "bytes", "sent", "received", "hops", "on a link"];

pub const TRAFFIC: &str = "messages, bytes: of all processes. sent, received: most messages of one process. hops: \
                           links per byte between nodes, mean. on a link: bytes on the busiest link.";

/// The name of a row. If the operations of the rows differ, also the operation.
pub fn name(predicted: &Predicted, row: &Row) -> String {
    let differs = predicted.rows.iter().any(|other| other.operation != row.operation);
    if differs { format!("{} {}", row.operation, row.name) } else { row.name.clone() }
}

pub fn times(row: &Row) -> Vec<String> {
    let [_, split, _] = row.prediction.longest;
    vec![
        seconds(split.transport_s),
        unless(row.prediction.lacks_queue(), split.queue_s),
        unless(row.prediction.lacks_contention(), split.contention_s),
        seconds(split.total_s()),
        interval(&row.prediction),
    ]
}

fn unless(is_unknown: bool, time_s: f64) -> String {
    if is_unknown { "unknown".to_owned() } else { seconds(time_s) }
}

pub fn interval(prediction: &Prediction) -> String {
    let [shortest, value, longest] = prediction.longest.map(|split| split.total_s());
    if shortest == value && value == longest {
        return "·".to_owned();
    }
    format!("{} to {}", seconds(shortest), seconds(longest))
}

pub fn traffic(row: &Row) -> Vec<String> {
    let most = |of: fn(&ProcessCost) -> u64| row.prediction.processes.iter().map(of).max().unwrap_or(0);
    vec![
        count(row.messages),
        bytes(row.bytes),
        count(most(|process| process.sent)),
        count(most(|process| process.received)),
        digits(row.prediction.hops_mean),
        bytes(row.prediction.link_bytes as u64),
    ]
}

/// Minimum, mean and maximum over the processes.
pub fn spread(row: &Row) -> Vec<Vec<String>> {
    let line = |name: &str, of: &dyn Fn(&ProcessCost) -> f64, shown: &dyn Fn(f64) -> String| {
        let values = || row.prediction.processes.iter().map(of);
        let mean = values().sum::<f64>() / row.prediction.processes.len().max(1) as f64;
        let least = values().fold(f64::INFINITY, f64::min);
        vec![name.to_owned(), shown(least), shown(mean), shown(values().fold(0.0, f64::max))]
    };
    let bytes = |value: f64| bytes(value as u64);
    let time = |of: fn(&Split) -> f64| move |process: &ProcessCost| of(&process.split);
    vec![
        line("messages sent", &|process| process.sent as f64, &digits),
        line("messages received", &|process| process.received as f64, &digits),
        line("bytes sent", &|process| process.sent_bytes as f64, &bytes),
        line("… between nodes", &|process| process.off_node_bytes as f64, &bytes),
        line("hops of a byte", &|process| process.hops_mean, &digits),
        line("transport", &time(|split| split.transport_s), &seconds),
        line("queue search", &time(|split| split.queue_s), &|time_s| {
            unless(row.prediction.lacks_queue(), time_s)
        }),
        line("contention", &time(|split| split.contention_s), &|time_s| {
            unless(row.prediction.lacks_contention(), time_s)
        }),
        line("total", &time(Split::total_s), &seconds),
    ]
}

/// A table for each number of processes with replayed engines. One more table has the memory of engines on other
/// numbers of processes.
pub struct Engines {
    pub title: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
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
    (ALL_PEERS, "memory of a node after messages from every process to every other", all_peers),
];

const ALL_PEERS: &str = "all peers";

fn all_peers(row: &EngineRow) -> Option<String> {
    row.node_bytes_all_peers.map(bytes)
}

pub fn engines(predicted: &Predicted) -> Vec<Engines> {
    let (played, others): (Vec<&EngineRow>, Vec<&EngineRow>) =
        predicted.engines.iter().partition(|row| row.node_bytes.is_some() || row.time_s.is_some());
    let mut numbers: Vec<u32> = played.iter().map(|row| row.processes).collect();
    numbers.dedup();
    let mut tables: Vec<Engines> = numbers.into_iter().map(|number| engines_of(&played, number)).collect();
    tables.extend((!others.is_empty()).then(|| memory(&others)));
    tables
}

/// A table without its empty columns.
fn engines_of(played: &[&EngineRow], processes: u32) -> Engines {
    let of: Vec<&EngineRow> = played.iter().copied().filter(|row| row.processes == processes).collect();
    let columns: Vec<Column> =
        ENGINE_COLUMNS.into_iter().filter(|(.., cell)| of.iter().any(|row| cell(row).is_some())).collect();
    let row = |row: &&EngineRow| {
        let cells = columns.iter().map(|(.., cell)| cell(row).unwrap_or_else(|| "·".to_owned()));
        [row.engine.clone()].into_iter().chain(cells).collect()
    };
    let meanings: Vec<String> =
        columns.iter().map(|(name, meaning, _)| format!("{name}: {meaning}.")).collect();
    Engines {
        title: format!(
            "Engines, {} processes: {} messages at the process that receives most",
            count(processes.into()),
            count(of.first().map_or(0, |row| row.messages))
        ),
        columns: ["engine"]
            .into_iter()
            .chain(columns.iter().map(|(name, ..)| *name))
            .map(str::to_owned)
            .collect(),
        rows: of.iter().map(row).collect(),
        meaning: meanings.join(" "),
    }
}

/// The memory of engines that did not run, with a column for each number of processes.
fn memory(of: &[&EngineRow]) -> Engines {
    let (mut engines, mut numbers): (Vec<&str>, Vec<u32>) = Default::default();
    for row in of {
        if !engines.contains(&row.engine.as_str()) {
            engines.push(&row.engine);
        }
        if !numbers.contains(&row.processes) {
            numbers.push(row.processes);
        }
    }
    let cell = |engine: &str, number: u32| {
        let of = of.iter().find(|row| row.engine == engine && row.processes == number);
        of.and_then(|row| all_peers(row)).unwrap_or_else(|| "·".to_owned())
    };
    let row = |engine: &&str| {
        let cells = numbers.iter().map(|&number| cell(engine, number));
        [(*engine).to_owned()].into_iter().chain(cells).collect()
    };
    Engines {
        title: "Engines, memory of a node by number of processes".to_owned(),
        columns: ["engine".to_owned()]
            .into_iter()
            .chain(numbers.iter().map(|&number| count(number.into())))
            .collect(),
        rows: engines.iter().map(row).collect(),
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
