//! The report as one HTML file, without network or server.
//!
//! Text and charts are static HTML. The script draws the two maps from data in the page, and moves a cursor over every
//! chart.

mod chart;
mod data;
mod head;
mod queues;
mod ranks;
mod traffic;

use matchpoint_replay::analysis::derived::ratio;
use matchpoint_replay::format::{count, counted, seconds, share};
use matchpoint_replay::measurements::ArrivalOrderResult;

use super::escape::prose;
use super::terminal::tables;
use super::{Report, document};
use crate::report::document::Document;
use crate::report::document::html::file;

const PAGE: &str = include_str!("page.html");
const CALL_SITES: usize = 20;

const SCRIPT: &[&str] =
    &[include_str!("cursor.js"), include_str!("map.js"), include_str!("columns.js"), include_str!("main.js")];

pub fn render(report: &Report<'_>) -> String {
    let main = fill(PAGE, |name| match name {
        "verdict" => head::verdict(report),
        "facts" => head::facts(report),
        "advice" => head::advice(report),
        "heat" => queues::heat(report),
        "lengths" => queues::lengths(report),
        "depths" => queues::depths(report),
        "engines" => ranks::engines(report),
        "times" => ranks::times(report),
        "worst" => ranks::worst(report),
        "calls" => traffic::calls(report),
        "receives" => traffic::receives(report),
        "tags" => traffic::tags(report),
        "peers" => traffic::peers(report),
        "matrix" => traffic::matrix(report),
        "places" => places(report),
        "method" => method(report),
        "data" => data::json(report),
        unknown => unreachable!("the page has no place for `{unknown}`"),
    });
    file(&report.measurements.trace.path, &head::trace(report), &main, &SCRIPT.concat())
}

fn places(report: &Report<'_>) -> String {
    let (false, Some(engine)) = (report.measurements.places.is_empty(), report.measurements.engines.first())
    else {
        return String::new();
    };
    let mut document = Document::default();
    tables::places(report, engine, CALL_SITES, &mut document);
    format!("<section id=\"places\"><h2>Call sites of receives</h2>{}</section>", document.fragment())
}

/// Replaces every `{{name}}` of the template. Replacement texts are not searched.
fn fill(template: &str, part: impl Fn(&str) -> String) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("every {{ of the template is closed");
        filled.push_str(before);
        filled.push_str(&part(name));
        rest = after;
    }
    filled + rest
}

pub fn method(report: &Report<'_>) -> String {
    let measurements = report.measurements;
    let (arrivals, totals) = (&measurements.arrivals, &measurements.totals);
    let mut facts = vec![
        ("Arrival order", format!("`{}`{}", arrivals.mode, compared(report))),
        ("Network (LogGP)", format!("`{}`", arrivals.loggp)),
        ("Timed on", measurements.host.clone()),
        ("Written by", format!("matchpoint {}", env!("CARGO_PKG_VERSION"))),
        (
            "Run time",
            format!(
                "{} recorded, {} in the replay",
                seconds(measurements.elapsed_s),
                seconds(measurements.replayed_s)
            ),
        ),
    ];
    if totals.recorded_wildcards > 0 {
        let reproduced = ratio(totals.reproduced_wildcards as f64, totals.recorded_wildcards as f64);
        let of = count(totals.recorded_wildcards);
        facts.push(("Wildcards reproduced", format!("{} of {of}", share(reproduced))));
    }
    let notes: String =
        measurements.trace.notes.iter().map(|note| format!("<li>{}</li>", prose(note))).collect();
    format!("{}<ul class=\"notes\">{notes}</ul>", document::html::facts("list", &facts))
}

fn compared(report: &Report<'_>) -> String {
    let measurements = report.measurements;
    if measurements.arrivals.compared.is_empty() {
        return String::new();
    }
    let under = |of: &ArrivalOrderResult| {
        format!(
            "`{}` {} and {}",
            of.mode,
            share(of.unexpected_share),
            counted(of.unexpected_longest, "message")
        )
    };
    let all: Vec<_> = measurements.arrivals.compared.iter().map(under).collect();
    format!("; late receives and the longest unexpected queue: {}", all.join(", "))
}
