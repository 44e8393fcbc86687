//! Where in the application receives are posted.

use std::fmt::Write;

use matchpoint_replay::measurements::PlaceMeasurements;

use super::escape::escape;
use crate::derived::ratio;
use crate::format::{count, counted, share};
use crate::places::{compared, short};
use crate::report::Report;

/// Rows of the table.
const ROWS: usize = 20;

const COLUMNS: [&str; 7] = ["Ranks", "Receives", "Late", "Any source", "Any tag", "Compared", "Deepest"];

/// A section, if the trace has call sites.
pub fn places(report: &Report<'_>) -> String {
    let measurements = report.measurements;
    let (all, Some(engine)) = (&measurements.places, measurements.engines.first()) else {
        return String::new();
    };
    if all.is_empty() {
        return String::new();
    }
    let name = escape(&engine.name);
    let mut html = format!(
        "<section id=\"places\"><h2>Where receives are posted</h2><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Places in the application\"><table class=\"grid\"><caption>The places in the application for whose \
         receives <code>{name}</code> compares most. Late: the message was there first. Compared, deepest: entries in all \
         searches, and in the longest</caption><thead><tr><th scope=\"col\">Place</th>"
    );
    for column in COLUMNS {
        let _ = write!(html, "<th scope=\"col\">{column}</th>");
    }
    html.push_str("</tr></thead><tbody>");
    all.iter().take(ROWS).for_each(|place| html.push_str(&row(place)));
    let rest = all.len().saturating_sub(ROWS) as u64;
    let rest = match rest {
        0 => String::new(),
        _ => format!("<p class=\"about\">And {}, in the JSON.</p>", counted(rest, "place")),
    };
    html + "</tbody></table></div>" + &rest + "</section>"
}

fn row(place: &PlaceMeasurements) -> String {
    let there = &place.receives;
    let of_posted = |part: u64| share(ratio(part as f64, there.posted as f64));
    let cells = [
        count(place.ranks),
        count(there.posted),
        of_posted(there.late),
        of_posted(there.any_source),
        of_posted(there.any_tag),
        count(compared(place)),
        count(there.found.attempts_max.max(there.sought.attempts_max)),
    ];
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    let whole = escape(place.source.as_deref().unwrap_or(&place.module));
    format!("<tr><th scope=\"row\" title=\"{whole}\">{}</th>{cells}</tr>", escape(&short(place)))
}
