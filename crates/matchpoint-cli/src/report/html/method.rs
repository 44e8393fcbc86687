//! How this was measured.

use matchpoint_replay::measurements::UnderArrivals;

use super::escape::{escape, prose};
use crate::derived::ratio;
use crate::format::{count, counted, seconds, share};
use crate::report::Report;

pub fn method(report: &Report<'_>) -> String {
    let measurements = report.measurements;
    let (arrivals, totals) = (&measurements.arrivals, &measurements.totals);
    let mut facts = vec![
        ("Arrivals", format!("<code>{}</code>{}", arrivals.mode, compared(report))),
        ("Network (LogGP)", format!("<code>{}</code>", escape(&arrivals.loggp.to_string()))),
        ("Host of the timings", escape(&measurements.host)),
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
    let items = facts.iter().map(|(name, value)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>"));
    let notes = measurements.trace.notes.iter().map(|note| format!("<li>{}</li>", prose(note)));
    format!(
        "<dl class=\"list\">{}</dl><ul class=\"notes\">{}</ul>",
        items.collect::<String>(),
        notes.collect::<String>()
    )
}

fn compared(report: &Report<'_>) -> String {
    let measurements = report.measurements;
    if measurements.arrivals.compared.is_empty() {
        return String::new();
    }
    let under = |of: &UnderArrivals| {
        format!(
            "<code>{}</code> {} and {}",
            of.mode,
            share(of.unexpected_share),
            counted(of.unexpected_longest, "message")
        )
    };
    let all: Vec<_> = measurements.arrivals.compared.iter().map(under).collect();
    format!("; late receives and the longest unexpected queue: {}", all.join(", "))
}
