//! Bars of measured and modelled times, as in the paper's figures 10 and 11.

use std::fmt::Write;

use matchpoint_calibrate::validation::{Application, Row, Step, Validated};
use matchpoint_replay::format::seconds;

use crate::report::escape::escape;
use crate::report::predict::bars::{legend, reach, strip};

/// One chart for each application. If the times of operations differ much, each operation has a scale.
pub(super) fn of_applications(validated: &Validated) -> String {
    let mut html = String::new();
    for application in Application::ALL {
        let rows: Vec<&Row> = validated.rows.iter().filter(|row| row.application == application).collect();
        if !rows.is_empty() {
            let scale = if application.is_volume() { "; separate scale per pair" } else { "" };
            let title = escape(application.title());
            let _ = write!(html, "<h2>{title}: measured above, modelled below{scale}</h2>");
            html.push_str(&chart(&rows));
        }
    }
    let measured = "<li><i class=\"k5\"></i><span>measured</span></li>";
    let modelled = "<li><i class=\"mark\"></i><span>modelled with the counted attempts</span></li>";
    html + &legend(measured, modelled)
}

fn chart(rows: &[&Row]) -> String {
    let longest = |row: &&Row| row.interval.1.max(row.split.total_s()).max(row.measured.high_s);
    let longest_of_all = rows.iter().map(longest).fold(0.0, f64::max);
    let mut html = "<table class=\"bars split pairs\"><tbody>".to_owned();
    for row in rows {
        let whole = if row.application.is_volume() { longest(row) } else { longest_of_all };
        let measured = row.measured.typical_s;
        let _ = write!(
            html,
            "<tr><th scope=\"rowgroup\" rowspan=\"2\">{}</th><td class=\"n\">{}</td><td class=\"b\"><span \
             class=\"parts\"><i class=\"k5\" style=\"width:{:.3}%\" title=\"measured: {}\"></i>{}</span></td></tr>",
            escape(&name(row)),
            seconds(measured),
            measured / whole * 100.0,
            seconds(measured),
            reach(row.measured.low_s, row.measured.high_s, whole)
        );
        let _ = write!(
            html,
            "<tr class=\"below\"><td class=\"n\">{}</td><td class=\"b\"><span class=\"parts\">{}{}{}</span></td></tr>",
            seconds(row.split.total_s()),
            strip(&row.split, whole),
            reach(row.interval.0, row.interval.1, whole),
            mark(row, whole)
        );
    }
    html + "</tbody></table>"
}

fn name(row: &Row) -> String {
    match row.application {
        Application::Spmv | Application::Spgemm => format!("level {}", row.name),
        _ => row.name.clone(),
    }
}

/// The end of the bar with the counted attempts.
fn mark(row: &Row, whole: f64) -> String {
    row.modelled[Step::Attempts as usize].map_or(String::new(), |time| {
        let title = format!("with the counted attempts: {}", seconds(time));
        format!("<span class=\"mark\" style=\"left:{:.3}%\" title=\"{title}\"></span>", time / whole * 100.0)
    })
}
