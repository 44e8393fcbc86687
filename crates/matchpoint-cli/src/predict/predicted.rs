//! A prediction. Plain data, the only input of its reports.

use matchpoint_model::{Exchange, Layout, Machine, Prediction};
use serde::Serialize;

/// Name of the row for the machine's MPI library.
pub const LIBRARY: &str = "MPI library";

#[derive(Clone, Debug)]
pub struct Predicted {
    /// Command: `spmv`, `spgemm`, `amg`, `trace`.
    pub command: &'static str,
    pub subject: String,
    pub machine: Machine,
    pub network: String,
    pub searched: String,
    /// Meaning of a row: `processes`, `level`, `phase`.
    pub row_name: &'static str,
    /// One exchange each; empty for a trace without messages.
    pub rows: Vec<Row>,
    /// The answer if no row has a message.
    pub without_messages: String,
    /// Costs of engines, for each number of processes.
    pub engines: Vec<EngineRow>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Row {
    /// Name: a number of processes, a level, a phase.
    pub name: String,
    /// Operation: `spmv`, `spgemm`, `trace`.
    pub operation: &'static str,
    /// Rows and entries of the matrix, if any.
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
    /// Attempts if messages arrive in reversed order; `None` if not played.
    pub attempts_reversed: Option<u64>,
    pub attempts_in_order: Option<u64>,
    /// Attempts with the traced messages, at all ranks.
    pub attempts_recorded: Option<u64>,
    /// For a trace: matching time at the slowest process, in seconds: low, likely, high.
    pub time_s: Option<[f64; 3]>,
    pub time_from: Option<&'static str>,
    /// Memory of all engines of a node after the messages.
    pub node_bytes: Option<u64>,
    /// That memory after a message from every other process; `None` if not played.
    pub node_bytes_all_peers: Option<u64>,
}
