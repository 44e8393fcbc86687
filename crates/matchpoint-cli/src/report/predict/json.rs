//! Predictions as JSON. `docs/reference/predict.md` describes every member; members never change or disappear.

use matchpoint_model::{Machine, Prediction, ProcessCost, Split};
use serde_json::{Value, json};

use crate::predict::predicted::{EngineRow, Predicted, Row};
use crate::report::schema::headed;

/// Maximum number of processes in the JSON. The sums include all processes.
const PROCESSES_LISTED: usize = 1 << 16;

pub fn document(predicted: &Predicted) -> Value {
    headed(json!({
        "command": predicted.command,
        "of": predicted.subject,
        "machine": machine(&predicted.machine),
        "network": predicted.network,
        "queue_search": predicted.searched,
        "rows": predicted.rows.iter().map(row).collect::<Vec<_>>(),
        "engines": predicted.engines.iter().map(engine).collect::<Vec<_>>(),
        "notes": super::table::notes(predicted),
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
