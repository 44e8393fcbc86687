//! Times as bars, as in the paper's figures 10 and 11.

use std::fmt::Write;

use matchpoint_model::Split;
use matchpoint_replay::analysis::derived::ratio;
use matchpoint_replay::format::seconds;

use super::table;
use crate::predict::predicted::{Predicted, Row};
use crate::report::escape::escape;

/// A part of a time: CSS class, name, and seconds.
type Part = (&'static str, &'static str, fn(&Split) -> f64);

const PARTS: [Part; 3] = [
    ("k0", "transport", |split| split.transport_s),
    ("k2", "queue search", |split| split.queue_s),
    ("k4", "contention", |split| split.contention_s),
];

/// One chart for each operation, with one scale for all rows.
pub(super) fn of_operations(predicted: &Predicted) -> String {
    let mut operations: Vec<&str> = predicted.rows.iter().map(|row| row.operation).collect();
    operations.dedup();
    let mut html = String::new();
    for operation in operations {
        let rows: Vec<&Row> = predicted.rows.iter().filter(|row| row.operation == operation).collect();
        let _ = write!(html, "<h2>{}, {}</h2>", escape(operation), table::TIMES.to_lowercase());
        html.push_str(&chart(predicted, &rows));
    }
    html + &legend("", "")
}

/// The legend of the colours, between two more items.
pub(in crate::report) fn legend(first: &str, last: &str) -> String {
    let parts =
        PARTS.map(|(class, name, _)| format!("<li><i class=\"{class}\"></i><span>{name}</span></li>"));
    format!("<ul class=\"legend\">{first}{}{last}</ul>", parts.concat())
}

/// The parts of a time. The width of the bar is `whole` seconds.
pub(in crate::report) fn strip(split: &Split, whole: f64) -> String {
    let mut strip = String::new();
    for (class, name, of) in PARTS {
        let _ = write!(
            strip,
            "<i class=\"{class}\" style=\"width:{:.3}%\" title=\"{name}: {}\"></i>",
            ratio(of(split), whole) * 100.0,
            seconds(of(split))
        );
    }
    strip
}

/// A line over the bar from one time to another. Empty for equal times.
pub(in crate::report) fn reach(from_s: f64, to_s: f64, whole: f64) -> String {
    let [from, to] = [from_s, to_s].map(|time| ratio(time, whole) * 100.0);
    match to > from {
        true => format!("<span class=\"reach\" style=\"left:{from:.3}%;width:{:.3}%\"></span>", to - from),
        false => String::new(),
    }
}

fn chart(predicted: &Predicted, rows: &[&Row]) -> String {
    let longest = |row: &&Row| row.prediction.longest[2].total_s().max(row.prediction.longest[1].total_s());
    let scale = rows.iter().map(longest).fold(0.0, f64::max);
    let mut html = "<table class=\"bars split\"><tbody>".to_owned();
    for row in rows {
        let [shortest, split, longest] = &row.prediction.longest;
        let strip = strip(split, scale) + &reach(shortest.total_s(), longest.total_s(), scale);
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{} {}</th><td class=\"n\">{}</td><td class=\"b\"><span class=\"parts\">{strip}\
             </span></td></tr>",
            predicted.row_name,
            escape(&row.name),
            seconds(split.total_s())
        );
    }
    html + "</tbody></table>"
}
