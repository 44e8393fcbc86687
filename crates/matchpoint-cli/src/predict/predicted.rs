//! What a prediction comes to. Plain data: reports are made from it, and nothing else.

use matchpoint_model::{Exchange, Layout, Machine, Prediction};
use serde::Serialize;

/// The name of the row for the MPI library that the machine was measured under.
pub const LIBRARY: &str = "MPI library";

/// All of it.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// The command: `spmv`, `spgemm`, `amg`, `trace`.
    pub command: &'static str,
    /// What it is of, in words, and how much there is of it.
    pub subject: String,
    /// The parameters.
    pub machine: Machine,
    /// The network, in words.
    pub network: String,
    /// How queues were searched, in words.
    pub searched: String,
    /// What a row stands for: `processes`, `level`, `phase`.
    pub row_name: &'static str,
    /// One exchange each; none of a trace without messages.
    pub rows: Vec<Row>,
    /// The answer where no row has a message: that there is none, or that nobody can tell.
    pub without_messages: String,
    /// What engines would do, for each number of processes.
    pub engines: Vec<EngineRow>,
    /// What a reader should know: full sentences.
    pub notes: Vec<String>,
}

/// An exchange, costed.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name: a number of processes, a level, a phase.
    pub name: String,
    /// What is done: `spmv`, `spgemm`, `trace`.
    pub operation: &'static str,
    /// Rows and entries of the matrix, if there is one.
    pub matrix: Option<(u64, u64)>,
    /// Which process lies where.
    pub layout: Layout,
    /// Messages of all processes.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What it costs.
    pub prediction: Prediction,
}

impl Row {
    /// Of an exchange.
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

/// What an engine would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EngineRow {
    /// Its name.
    pub engine: String,
    /// Number of processes.
    pub processes: u32,
    /// What it was given: messages at one process.
    pub messages: u64,
    /// Entries that it compares if they come in the opposite order of their receives; `None` where that was not played.
    pub attempts_reversed: Option<u64>,
    /// Entries that it compares if they come in the order of their receives.
    pub attempts_in_order: Option<u64>,
    /// Entries that it compares with what was traced, at all ranks.
    pub attempts_recorded: Option<u64>,
    /// Of a trace: time of matching at the process that takes longest for it, shortest, likely and longest, in seconds.
    pub time_s: Option<[f64; 3]>,
    /// Where the time is from, in words.
    pub time_from: Option<&'static str>,
    /// Memory of all engines of a node after what was played.
    pub node_bytes: Option<u64>,
    /// The same once every process had a message from every other; `None` where that was not played.
    pub node_bytes_all_peers: Option<u64>,
}
