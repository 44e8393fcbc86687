//! Predictions of the cost models as tables (`predict` in Python).

use std::ffi::OsString;

use matchpoint_cli::cli::Command;
use matchpoint_cli::predict::predicted::{EngineRow, Row};
use matchpoint_cli::predict::{self as command, Predicted};
use matchpoint_cli::report::columns::Columns;
use matchpoint_cli::report::predict::table::notes;
use matchpoint_model::{ProcessCost, Split};
use matchpoint_replay::Progress;
use pyo3::prelude::*;

use crate::errors::{other_command, parse};
use crate::table::Table;
use crate::wait;

/// Predicts the cost of messages. `words`: the arguments of the command line.
#[pyfunction]
#[pyo3(signature = (words, notify = None))]
pub(crate) fn predict(
    py: Python<'_>,
    words: Vec<OsString>,
    notify: Option<&Bound<'_, PyAny>>,
) -> PyResult<Prediction> {
    let Command::Predict(arguments) = parse(words)? else { return Err(other_command()) };
    let progress = Progress::default();
    let predicted = wait::run_parallel(py, &progress, notify, || command::predict(&arguments, &progress))?;
    Ok(Prediction(predicted))
}

/// Predicted cost of messages: the result of `predict`.
#[pyclass(module = "matchpoint_mpi", frozen)]
pub struct Prediction(Predicted);

impl Prediction {
    fn all_rows(&self) -> impl Iterator<Item = &Row> + Clone {
        self.0.rows.iter()
    }
}

/// Indices of predicted times: with all parameters at the lower end, the value or the upper end of their
/// intervals. The order is that of `matchpoint_model::End::ALL`.
const SHORTEST: usize = 0;
const VALUE: usize = 1;
const LONGEST: usize = 2;

fn split(row: &Row, end: usize) -> &Split {
    &row.prediction.longest[end]
}

#[pymethods]
impl Prediction {
    /// One row per level, phase or number of processes: messages, bytes, and times of the slowest process in s.
    ///
    /// `total_low_s` and `total_high_s` are the ends of the interval of the machine's parameters. Parts of the time
    /// that the machine file lacks are null.
    #[getter]
    fn rows(&self) -> PyResult<Table> {
        let rows = || self.all_rows();
        let queue = |row: &Row| (!row.prediction.lacks_queue()).then(|| split(row, VALUE).queue_s);
        let contention =
            |row: &Row| (!row.prediction.lacks_contention()).then(|| split(row, VALUE).contention_s);
        Columns::default()
            .text(self.0.row_name, rows().map(|row| &row.name))
            .text("operation", rows().map(|row| row.operation))
            .unsigned(
                if self.0.row_name == "processes" { "processes_used" } else { "processes" },
                rows().map(|row| row.layout.processes.get()),
            )
            .unsigned("messages", rows().map(|row| row.messages))
            .unsigned("bytes", rows().map(|row| row.bytes))
            .float("transport_s", rows().map(|row| split(row, VALUE).transport_s))
            .optional_float("queue_s", rows().map(queue))
            .optional_float("contention_s", rows().map(contention))
            .float("total_s", rows().map(|row| split(row, VALUE).total_s()))
            .float("total_low_s", rows().map(|row| split(row, SHORTEST).total_s()))
            .float("total_high_s", rows().map(|row| split(row, LONGEST).total_s()))
            .unsigned("worst_process", rows().map(|row| row.prediction.worst))
            .try_into()
    }

    /// One row per process of each row of `rows`: messages, bytes, and times in s.
    #[getter]
    fn processes(&self) -> PyResult<Table> {
        let all: Vec<(&Row, usize, &ProcessCost)> = self
            .all_rows()
            .flat_map(|row| row.prediction.processes.iter().enumerate().map(move |(at, of)| (row, at, of)))
            .collect();
        let costs = || all.iter();
        Columns::default()
            .text(self.0.row_name, costs().map(|(row, ..)| &row.name))
            .text("operation", costs().map(|(row, ..)| row.operation))
            .unsigned("process", costs().map(|(_, at, _)| *at as u64))
            .unsigned("sent", costs().map(|(.., cost)| cost.sent))
            .unsigned("sent_bytes", costs().map(|(.., cost)| cost.sent_bytes))
            .unsigned("off_node_bytes", costs().map(|(.., cost)| cost.off_node_bytes))
            .unsigned("received", costs().map(|(.., cost)| cost.received))
            .unsigned("received_bytes", costs().map(|(.., cost)| cost.received_bytes))
            .float("transport_s", costs().map(|(.., cost)| cost.split.transport_s))
            .float("queue_s", costs().map(|(.., cost)| cost.split.queue_s))
            .float("contention_s", costs().map(|(.., cost)| cost.split.contention_s))
            .try_into()
    }

    /// Engines at the process that receives most: attempts, times in s, and memory in bytes; null if not played.
    #[getter]
    fn engines(&self) -> PyResult<Table> {
        let engines = || self.0.engines.iter();
        let number = |count: Option<u64>| count.map(|number| number as f64);
        let time = |end: usize| move |row: &EngineRow| row.time_s.map(|time| time[end]);
        Columns::default()
            .text("engine", engines().map(|row| &row.engine))
            .unsigned("processes", engines().map(|row| row.processes))
            .unsigned("messages", engines().map(|row| row.messages))
            .optional_float("attempts_reversed", engines().map(|row| number(row.attempts_reversed)))
            .optional_float("attempts_in_order", engines().map(|row| number(row.attempts_in_order)))
            .optional_float("attempts_recorded", engines().map(|row| number(row.attempts_recorded)))
            .optional_float("time_s", engines().map(time(VALUE)))
            .optional_float("time_low_s", engines().map(time(SHORTEST)))
            .optional_float("time_high_s", engines().map(time(LONGEST)))
            .optional_float("node_bytes", engines().map(|row| number(row.node_bytes)))
            .optional_float("node_bytes_all_peers", engines().map(|row| number(row.node_bytes_all_peers)))
            .try_into()
    }

    /// Name of the machine.
    #[getter]
    fn machine(&self) -> &str {
        &self.0.machine.name
    }

    /// Description of the input.
    #[getter]
    fn subject(&self) -> &str {
        &self.0.subject
    }

    /// Limitations: missing parameters, and other notes.
    #[getter]
    fn notes(&self) -> Vec<String> {
        notes(&self.0)
    }

    fn __repr__(&self) -> String {
        format!("<Prediction {} of {}: {} rows>", self.0.command, self.0.subject, self.0.rows.len())
    }
}
