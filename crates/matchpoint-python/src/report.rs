//! The analysis of a trace as a report with tables (`analyze` in Python).

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use matchpoint_cli::analyze as command;
use matchpoint_cli::cli::Command;
use matchpoint_cli::failure::Failure;
use matchpoint_cli::report::columns::Columns;
use matchpoint_cli::report::{self, csv, html, json};
use matchpoint_replay::analysis::advice::Kind;
use matchpoint_replay::analysis::verdict;
use matchpoint_replay::{Measurements, Progress};
use pyo3::prelude::*;

use crate::errors::{exception, other_command, parse};
use crate::table::{Table, escape_html};
use crate::wait;

/// Analyzes a trace. `words`: the arguments of the command line.
#[pyfunction]
#[pyo3(signature = (words, notify = None))]
pub(crate) fn analyze(
    py: Python<'_>,
    words: Vec<OsString>,
    notify: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report> {
    let Command::Analyze(arguments) = parse(words)? else { return Err(other_command()) };
    let progress = Progress::default();
    let measurements = wait::run_parallel(py, &progress, notify, || command::measure(&arguments, &progress))?;
    Ok(Report { measurements })
}

/// Answer of a report: the cost of matching.
#[pyclass(module = "matchpoint_mpi", frozen)]
pub struct Verdict(verdict::Verdict);

#[pymethods]
impl Verdict {
    /// "no", "a_little", "yes", "no_messages" or "cannot_tell".
    #[getter]
    fn answer(&self) -> &'static str {
        self.0.answer.name()
    }

    /// Cost of matching ÷ run time, at the rank with the largest share; 0 to 1.
    #[getter]
    fn share(&self) -> f64 {
        self.0.share
    }

    /// The share with warm caches.
    #[getter]
    fn share_low(&self) -> f64 {
        self.0.low
    }

    /// The share with cold caches.
    #[getter]
    fn share_high(&self) -> f64 {
        self.0.high
    }

    /// The rank with the largest share.
    #[getter]
    fn rank(&self) -> u32 {
        self.0.rank
    }

    /// Time in the replay, in seconds, at which the rank searches its longest queue.
    #[getter]
    fn at_s(&self) -> f64 {
        self.0.at_s
    }

    /// The answer in one sentence.
    #[getter]
    fn headline(&self) -> &str {
        &self.0.headline
    }

    /// The answer with its details.
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    fn __str__(&self) -> &str {
        &self.0.text
    }

    fn __repr__(&self) -> String {
        format!("<Verdict {}: share {:.4} at rank {}>", self.0.answer.name(), self.0.share, self.0.rank)
    }
}

/// Report of a trace: the result of `analyze`.
///
/// The tables have the columns of the files of `matchpoint analyze --csv`. Units are part of the names.
#[pyclass(module = "matchpoint_mpi", frozen)]
pub struct Report {
    measurements: Measurements,
}

impl Report {
    fn evaluate(&self) -> report::Report<'_> {
        report::Report::new(&self.measurements)
    }

    fn table(&self, file: &str) -> PyResult<Table> {
        let table = csv::TABLES.iter().find(|table| table.file == file);
        let table = table.expect("csv::TABLES has the file of each table");
        (table.columns)(&self.evaluate()).try_into()
    }

    fn findings(&self, kind: Kind) -> PyResult<Table> {
        let report = self.evaluate();
        let findings = || report.advice.iter().filter(|item| item.kind == kind);
        let columns = Columns::default()
            .text("title", findings().map(|item| &item.title))
            .text("text", findings().map(|item| &item.text));
        if kind == Kind::Limitation {
            return columns.try_into();
        }
        columns
            .optional_float("saving_ns", findings().map(|item| item.saving.map(|saving| saving.ns)))
            .optional_float("saving_share", findings().map(|item| item.saving.map(|saving| saving.share)))
            .try_into()
    }

    fn html_page(&self) -> String {
        html::render(&self.evaluate())
    }
}

#[pymethods]
impl Report {
    /// Answer: the cost of matching as a share of the run time.
    #[getter]
    fn verdict(&self) -> Verdict {
        Verdict(self.evaluate().verdict)
    }

    /// Recommended changes: title, text, saving in ns (at most), and the saving as a share of the run time.
    #[getter]
    fn recommendations(&self) -> PyResult<Table> {
        self.findings(Kind::Change)
    }

    /// Limitations of the results: title and text.
    #[getter]
    fn limitations(&self) -> PyResult<Table> {
        self.findings(Kind::Limitation)
    }

    /// One row per rank: counts, queue lengths, and the time and memory of each engine.
    #[getter]
    fn ranks(&self) -> PyResult<Table> {
        self.table("ranks.csv")
    }

    /// Maximum queue length per rank, queue and interval of the replay; start_s in seconds.
    #[getter]
    fn timeline(&self) -> PyResult<Table> {
        self.table("timeline.csv")
    }

    /// Histogram of searches by compared entries, per engine, queue and outcome.
    #[getter]
    fn depths(&self) -> PyResult<Table> {
        self.table("depth.csv")
    }

    /// One row per engine: times in ns, compared entries, memory in bytes.
    #[getter]
    fn engines(&self) -> PyResult<Table> {
        self.table("engines.csv")
    }

    /// Messages and bytes per pair of sender and receiver; pairs without messages are absent.
    #[getter]
    fn matrix(&self) -> PyResult<Table> {
        self.table("matrix.csv")
    }

    /// Calls per MPI function.
    #[getter]
    fn calls(&self) -> PyResult<Table> {
        self.table("calls.csv")
    }

    /// Sends per tag, for the 32 most frequent tags.
    #[getter]
    fn tags(&self) -> PyResult<Table> {
        self.table("tags.csv")
    }

    /// Call sites of receives; without rows if the trace contains no call sites.
    #[getter]
    fn sites(&self) -> PyResult<Table> {
        self.table("sites.csv")
    }

    /// Path of the trace.
    #[getter]
    fn path(&self) -> &str {
        &self.measurements.trace.path
    }

    /// The report as one HTML page. Writes the page to `path`, if given, and returns the page.
    #[pyo3(signature = (path = None))]
    fn to_html(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<String> {
        let page = py.detach(|| self.html_page());
        if let Some(path) = path {
            let failed = |error| exception(Failure::writing(&path, &error));
            fs::write(&path, &page).map_err(failed)?;
        }
        Ok(page)
    }

    /// All results as JSON text, as `matchpoint analyze --json` writes.
    fn to_json(&self) -> PyResult<String> {
        let mut text = Vec::new();
        json::write(&self.evaluate(), &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn __str__(&self) -> String {
        self.evaluate().verdict.text
    }

    fn __repr__(&self) -> String {
        let item = &self.measurements.trace;
        format!("<Report of '{}': {} ranks, {} calls>", item.path, item.ranks, item.calls)
    }

    /// The HTML page in a frame, because the page has its own styles and scripts.
    fn _repr_html_(&self, py: Python<'_>) -> String {
        let page = py.detach(|| escape_html(&self.html_page()));
        format!("<iframe srcdoc=\"{page}\" style=\"width: 100%; height: 45em; border: 0\"></iframe>")
    }
}
