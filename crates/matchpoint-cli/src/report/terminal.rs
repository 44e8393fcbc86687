//! The summary on a terminal: answer, advice, details, limitations.

mod facts;
mod statistics;
mod tables;

use super::Report;
use super::document::{Document, WIDTH, answer_style};
use crate::advice::{Advice, Kind};

/// The whole summary.
pub fn render(report: &Report<'_>) -> String {
    let mut document = Document::default();
    document.lead(&report.verdict.text, answer_style(report.verdict.answer));
    facts::write(report, &mut document);
    tables::write(report, &mut document);
    findings(report, Kind::Change, "Advice", &mut document);
    findings(report, Kind::Trust, "How far to trust this", &mut document);
    document.gap();
    let measurements = report.measurements;
    for note in &measurements.trace.notes {
        document.item("Note", note);
    }
    document.item(
        "Measured",
        format!(
            "engines replayed and timed on {}; arrivals `{}`, LogGP {}.",
            measurements.host, measurements.arrivals.mode, measurements.arrivals.loggp
        ),
    );
    document.text(WIDTH)
}

fn findings(report: &Report<'_>, kind: Kind, heading: &str, document: &mut Document) {
    let of_kind: Vec<&Advice> = report.advice.iter().filter(|advice| advice.kind == kind).collect();
    if !of_kind.is_empty() {
        document.section(heading);
        of_kind.iter().for_each(|advice| document.item(&advice.title, &advice.text));
    }
}
