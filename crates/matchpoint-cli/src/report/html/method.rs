//! The section about the measurement.

use matchpoint_replay::analysis::derived::ratio;
use matchpoint_replay::format::{count, counted, seconds, share};
use matchpoint_replay::measurements::ArrivalOrderResult;

use crate::report::escape::prose;
use crate::report::{Report, document};

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
