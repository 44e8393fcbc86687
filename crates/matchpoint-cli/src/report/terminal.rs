//! The summary on a terminal: the answer first, then what it rests on, on one screen.
//!
//! Styles are always written; the stream drops them where nobody sees colours.

mod facts;
pub(in crate::report) mod layout;
mod statistics;
mod tables;

use anstyle::{AnsiColor, Style};

use super::Report;
use crate::advice::{Advice, Kind};
use crate::verdict::Answer;
use layout::Page;

/// The whole summary.
pub fn render(report: &Report<'_>) -> String {
    let mut page = Page::default();
    page.paragraph(&report.verdict.text, answer_style(report.verdict.answer));
    page.blank();
    facts::write(report, &mut page);
    page.blank();
    tables::write(report, &mut page);
    findings(report, Kind::Change, "Advice", &mut page);
    findings(report, Kind::Trust, "How far to trust this", &mut page);
    notes(report, &mut page);
    page.into_text()
}

fn answer_style(answer: Answer) -> Style {
    let bold = Style::new().bold();
    match answer {
        Answer::Unknown => bold,
        Answer::No | Answer::NoMessages => bold.fg_color(Some(AnsiColor::Green.into())),
        Answer::Little => bold.fg_color(Some(AnsiColor::Yellow.into())),
        Answer::Yes => bold.fg_color(Some(AnsiColor::Red.into())),
    }
}

fn findings(report: &Report<'_>, kind: Kind, heading: &str, page: &mut Page) {
    let of_kind: Vec<&Advice> = report.advice.iter().filter(|advice| advice.kind == kind).collect();
    if of_kind.is_empty() {
        return;
    }
    page.heading(heading);
    for advice in of_kind {
        page.item(&advice.title, &advice.text);
    }
    page.blank();
}

fn notes(report: &Report<'_>, page: &mut Page) {
    let measurements = report.measurements;
    for note in &measurements.trace.notes {
        page.item("Note", note);
    }
    page.item(
        "Measured",
        &format!(
            "engines replayed and timed on {}; arrivals `{}`, LogGP {}.",
            measurements.host, measurements.arrivals.mode, measurements.arrivals.loggp
        ),
    );
}
