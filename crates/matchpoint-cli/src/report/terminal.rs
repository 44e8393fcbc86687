//! The summary on a terminal: answer, advice, details, limitations.

pub(super) mod facts;
mod statistics;
pub(super) mod tables;

use matchpoint_replay::analysis::advice::{Advice, Kind};

use super::Report;
use super::document::{Document, WIDTH, answer_style};

pub fn render(report: &Report<'_>) -> String {
    let mut document = Document::default();
    let verdict = &report.verdict;
    document.lead(&verdict.headline, answer_style(verdict.answer));
    let details = verdict.text.strip_prefix(&verdict.headline).unwrap_or_default().trim_start();
    if !details.is_empty() {
        document.paragraph(details);
    }
    findings(report, Kind::Change, "What to do", &mut document);
    document.gap();
    facts::write(report, &mut document);
    tables::write(report, &mut document);
    findings(report, Kind::Limitation, "Limitations", &mut document);
    document.gap();
    let measurements = report.measurements;
    for note in &measurements.trace.notes {
        document.item("Note", note);
    }
    document.item(
        "Measured",
        format!(
            "on {}; arrival order `{}`, LogGP {}.",
            measurements.host, measurements.arrivals.mode, measurements.arrivals.loggp
        ),
    );
    document.text(WIDTH)
}

fn findings(report: &Report<'_>, kind: Kind, heading: &str, document: &mut Document) {
    let of_kind: Vec<&Advice> = report.advice.iter().filter(|advice| advice.kind == kind).collect();
    if !of_kind.is_empty() {
        document.section(heading);
        of_kind.iter().for_each(|advice| finding(advice, document));
    }
}

/// The command is on one line, so that users can copy the line.
fn finding(advice: &Advice, document: &mut Document) {
    let quoted = advice.command.as_ref().map(|command| (command, format!(" `{command}`")));
    match quoted.and_then(|(command, quoted)| Some((command, advice.text.strip_suffix(&quoted)?))) {
        Some((command, text)) => {
            document.item(&advice.title, text);
            document.command(command);
        }
        None => document.item(&advice.title, &advice.text),
    }
}
