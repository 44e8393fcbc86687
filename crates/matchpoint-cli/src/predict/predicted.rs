//! A prediction, which is the only input of its reports.

use matchpoint_model::{Exchange, Layout, Machine, Prediction};
use serde::Serialize;

pub const LIBRARY: &str = "MPI library";

#[derive(Clone, Debug)]
pub struct Predicted {
    pub command: &'static str,
    pub subject: String,
    pub machine: Machine,
    pub network: String,
    pub searched: String,
    /// Meaning of a row: `processes`, `level` or `phase`.
    pub row_name: &'static str,
    /// Rows, each about one exchange. Empty for a trace without messages.
    pub rows: Vec<Row>,
    /// The answer if no row has a message.
    pub without_messages: String,
    pub engines: Vec<EngineRow>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Row {
    /// A number of processes, a level, or a phase.
    pub name: String,
    pub operation: &'static str,
    pub matrix: Option<(u64, u64)>,
    pub layout: Layout,
    pub messages: u64,
    pub bytes: u64,
    pub prediction: Prediction,
}

impl Row {
    pub fn new(
        name: impl Into<String>,
        operation: &'static str,
        layout: Layout,
        exchange: &Exchange,
        prediction: Prediction,
    ) -> Self {
        Row {
            name: name.into(),
            operation,
            matrix: None,
            layout,
            messages: exchange.count(),
            bytes: exchange.bytes(),
            prediction,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EngineRow {
    pub engine: String,
    pub processes: u32,
    /// Messages at the process that receives most.
    pub messages: u64,
    /// `None`: the engine did not run.
    pub attempts_reversed: Option<u64>,
    pub attempts_in_order: Option<u64>,
    /// Attempts at all ranks with the messages of the trace.
    pub attempts_recorded: Option<u64>,
    /// Matching time of a trace at the slowest process, in seconds: low, likely, high.
    pub time_s: Option<[f64; 3]>,
    pub time_from: Option<&'static str>,
    /// Memory of all engines on a node, in bytes.
    pub node_bytes: Option<u64>,
    /// Memory of all engines on a node after a message from every other process, in bytes. `None`: the engine did not
    /// run.
    pub node_bytes_all_peers: Option<u64>,
}
