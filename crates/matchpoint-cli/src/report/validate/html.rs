//! The validation as one HTML file that needs nothing else: for each operation a bar that was measured beside one that was
//! modelled, split as in the paper's figures 10 and 11, and tables.

use std::fmt::Write;

use super::table;
use crate::format::seconds;
use crate::predict::Validated;
use crate::predict::validate::validated::{Application, Row, Step};
use crate::report::html::escape::{escape, prose};
use crate::report::html::table::table_of;
use crate::report::predict::html::{PARTS, page, reach, strip};

/// The whole file.
pub fn render(validated: &Validated) -> String {
    let sections = [bars(validated), errors(validated), tables(validated), method(validated)].join("\n");
    page(&validated.subject, "Do the models hold?", &table::answer(validated), &sections)
}

/// One chart for each application, its operations on one scale; or each on its own, where that would show the longest only.
fn bars(validated: &Validated) -> String {
    let mut html = "<section>".to_owned();
    for application in Application::ALL {
        let rows: Vec<&Row> = validated.rows.iter().filter(|row| row.application == application).collect();
        if !rows.is_empty() {
            let scale = if application.is_volume() { "; each pair has a scale of its own" } else { "" };
            let title = escape(application.title());
            let _ = write!(html, "<h2>{title}: measured above, modelled below{scale}</h2>");
            html.push_str(&chart(&rows));
        }
    }
    html.push_str("<ul class=\"legend\"><li><i class=\"k5\"></i><span>measured</span></li>");
    for (class, name, _) in PARTS {
        let _ = write!(html, "<li><i class=\"{class}\"></i><span>{name}</span></li>");
    }
    html + "<li><i class=\"mark\"></i><span>modelled with the entries that were compared</span></li></ul></section>"
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

/// `level 2`, or as it is called.
fn name(row: &Row) -> String {
    match row.application {
        Application::Spmv | Application::Spgemm => format!("level {}", row.name),
        _ => row.name.clone(),
    }
}

/// Where the bar ends if queue search takes what was compared.
fn mark(row: &Row, whole: f64) -> String {
    row.modelled[Step::Attempts as usize].map_or(String::new(), |time| {
        let title = format!("with the entries compared: {}", seconds(time));
        format!("<span class=\"mark\" style=\"left:{:.3}%\" title=\"{title}\"></span>", time / whole * 100.0)
    })
}

fn errors(validated: &Validated) -> String {
    let mut html = format!(
        "<section><h2>How far models are off</h2>{}<p class=\"about\">{}</p>",
        table_of(&table::error_columns(), &table::errors(validated)),
        escape(table::ERRORS)
    );
    let reasons = table::reasons(validated);
    if !reasons.is_empty() {
        html.push_str("<h3>Where a model is worse than the one before</h3>");
        html.push_str(&list(&reasons));
    }
    html + "</section>"
}

fn list(sentences: &[String]) -> String {
    let items: String = sentences.iter().map(|sentence| format!("<li>{}</li>", prose(sentence))).collect();
    format!("<ul class=\"notes\">{items}</ul>")
}

fn tables(validated: &Validated) -> String {
    format!(
        "<section><h2>Measured times</h2>{}<p class=\"about\">{}</p></section><section><h2>Modelled \
         times</h2>{}</section><section><h2>How far queues were searched</h2>{}<p class=\"about\">{}</p></section>",
        table_of(&table::MEASURED_COLUMNS, &table::measured(validated, |_| true)),
        escape(table::TIMES),
        table_of(&table::modelled_columns(), &table::modelled(validated, |_| true)),
        table_of(&table::SEARCH_COLUMNS, &table::searches(validated)),
        escape(table::SEARCHES)
    )
}

fn method(validated: &Validated) -> String {
    let mut html = "<section id=\"method\"><h2>How this was measured</h2><dl class=\"list\">".to_owned();
    for (name, text) in table::facts(validated) {
        let _ = write!(html, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&text));
    }
    html + "</dl>" + &list(&validated.notes) + "</section>"
}
