use matchpoint_replay::analysis::call_sites::{compared, short};
use matchpoint_replay::analysis::derived::ratio;
use matchpoint_replay::format::{count, counted, share};
use matchpoint_replay::measurements::PlaceMeasurements;

use crate::report::Report;
use crate::report::document::html::captioned;

const ROWS: usize = 20;

const COLUMNS: [&str; 8] =
    ["Call site", "Ranks", "Receives", "Late", "Any source", "Any tag", "Compared", "Deepest"];

pub fn places(report: &Report<'_>) -> String {
    let measurements = report.measurements;
    let (all, Some(engine)) = (&measurements.places, measurements.engines.first()) else {
        return String::new();
    };
    if all.is_empty() {
        return String::new();
    }
    let caption = format!(
        "Call sites by the entries that `{}` compares for their receives. Late: posted after the message arrived. \
         Compared, deepest: entries in all searches, and in the longest search",
        engine.name
    );
    let rows: Vec<Vec<String>> = all.iter().take(ROWS).map(row).collect();
    let rest = match all.len().saturating_sub(ROWS) as u64 {
        0 => String::new(),
        rest => format!("<p class=\"about\">{} more: --json.</p>", counted(rest, "call site")),
    };
    let table = captioned(&caption, &COLUMNS, &rows);
    format!("<section id=\"places\"><h2>Call sites of receives</h2>{table}{rest}</section>")
}

/// The first cell has the name of the call site, and its source line or module.
fn row(place: &PlaceMeasurements) -> Vec<String> {
    let there = &place.receives;
    let of_posted = |part: u64| share(ratio(part as f64, there.posted as f64));
    vec![
        format!("{}\n{}", short(place), place.source.as_deref().unwrap_or(&place.module)),
        count(place.ranks),
        count(there.posted),
        of_posted(there.late),
        of_posted(there.any_source),
        of_posted(there.any_tag),
        count(compared(place)),
        count(there.found.attempts_max.max(there.sought.attempts_max)),
    ]
}
