//! Measurements of engines on the standard workloads as a table (`bench` in Python).

use std::ffi::OsString;

use matchpoint_bench::results::Timing;
use matchpoint_bench::{Cell, Outcome};
use matchpoint_cli::bench as command;
use matchpoint_cli::cli::{Bench, Command};
use matchpoint_cli::report::columns::Columns;
use matchpoint_replay::Progress;
use pyo3::prelude::*;

use crate::errors::{other_command, parse};
use crate::table::Table;
use crate::wait;

/// Measures engines. `words`: the arguments of the command line.
#[pyfunction]
#[pyo3(signature = (words, notify = None))]
pub(crate) fn bench(
    py: Python<'_>,
    words: Vec<OsString>,
    notify: Option<&Bound<'_, PyAny>>,
) -> PyResult<Table> {
    let Command::Bench(Bench { measurement: None, engines: arguments }) = parse(words)? else {
        return Err(other_command());
    };
    let progress = Progress::default();
    let results = wait::run_parallel(py, &progress, notify, || command::results(&arguments, &progress))?;
    let cells = || results.cells.iter();
    let time = |field: fn(&Timing) -> f64| move |cell: &Cell| timing(cell).map(field);
    Columns::default()
        .text("workload", cells().map(|cell| &cell.workload))
        .unsigned("n", cells().map(|cell| cell.n as u64))
        .text("engine", cells().map(|cell| &cell.engine))
        .optional_text("substitute", cells().map(|cell| cell.substitute.clone()))
        .text("outcome", cells().map(outcome))
        .optional_float("ns_median", cells().map(time(|timing| timing.ns_median)))
        .optional_float("ns_min", cells().map(time(|timing| timing.ns_min)))
        .optional_float("ns_p25", cells().map(time(|timing| timing.ns_p25)))
        .optional_float("ns_p75", cells().map(time(|timing| timing.ns_p75)))
        .unsigned("samples", cells().map(|cell| timing(cell).map_or(0, |timing| timing.samples as u64)))
        .optional_float("attempts_mean", cells().map(|cell| cell.attempts_mean))
        .unsigned("bytes_peak", cells().map(|cell| cell.bytes_peak))
        .try_into()
}

fn timing(cell: &Cell) -> Option<&Timing> {
    match &cell.outcome {
        Outcome::Measured(timing) => Some(timing),
        _ => None,
    }
}

fn outcome(cell: &Cell) -> &'static str {
    match cell.outcome {
        Outcome::Measured(_) => "measured",
        Outcome::TooSlow { .. } => "too_slow",
        Outcome::Differs(_) => "differs",
        Outcome::Full(_) => "full",
        Outcome::Wrong(_) => "wrong",
    }
}
