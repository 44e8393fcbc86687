//! The prediction as one HTML file that needs nothing else: bars split as in the paper's figures 10 and 11, and tables.

use std::fmt::Write;

use matchpoint_model::Split;

use super::{table, terminal};
use crate::derived::ratio;
use crate::format::seconds;
use crate::predict::predicted::{Predicted, Row};
use crate::report::html::escape::{escape, prose};
use crate::report::html::table::table_of;

const SHARED_STYLE: &str = include_str!("../html/style.css");
const STYLE: &str = include_str!("style.css");

/// A part of a time: the class of its colour, its name, how long it is.
type Part = (&'static str, &'static str, fn(&Split) -> f64);

/// What times go to.
pub(in crate::report) const PARTS: [Part; 3] = [
    ("k0", "transport", |split| split.transport_s),
    ("k2", "queue search", |split| split.queue_s),
    ("k4", "contention", |split| split.contention_s),
];

/// The whole file.
pub fn render(predicted: &Predicted) -> String {
    let rows =
        if predicted.rows.is_empty() { String::new() } else { bars(predicted) + "\n" + &tables(predicted) };
    let sections = [rows, engines(predicted), method(predicted)].join("\n");
    page(&predicted.subject, "What will messages cost?", &terminal::answer(predicted), &sections)
}

/// A page that needs nothing else: its subject, the question and its answer, and sections, which are HTML.
pub(in crate::report) fn page(subject: &str, question: &str, answer: &str, sections: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Matchpoint: {title}</title>\n<style>\n{SHARED_STYLE}{STYLE}</style>\n</head>\n<body>\n\
         <header class=\"top\"><p class=\"brand\">Matchpoint</p><p class=\"trace\"><b>{title}</b></p></header>\n\
         <main id=\"main\">\n<section class=\"hero\"><h1>{}</h1>\n\
         <p class=\"lead\">{}</p></section>\n{sections}\n</main>\n</body>\n</html>\n",
        escape(question),
        escape(answer),
        title = escape(subject),
    )
}

/// One chart for each operation, all rows of it on one scale.
fn bars(predicted: &Predicted) -> String {
    let mut operations: Vec<&str> = predicted.rows.iter().map(|row| row.operation).collect();
    operations.dedup();
    let mut html = "<section>".to_owned();
    for operation in operations {
        let rows: Vec<&Row> = predicted.rows.iter().filter(|row| row.operation == operation).collect();
        let _ = write!(html, "<h2>{}, {}</h2>", escape(operation), table::TIMES.to_lowercase());
        html.push_str(&chart(predicted, &rows));
    }
    html.push_str("<ul class=\"legend\">");
    for (class, name, _) in PARTS {
        let _ = write!(html, "<li><i class=\"{class}\"></i><span>{name}</span></li>");
    }
    html + "</ul></section>"
}

/// The parts of a time, one after the other, of which `whole` seconds fill the width.
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

/// A line over the parts, from one time to another, if they differ.
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

fn tables(predicted: &Predicted) -> String {
    let lines = |of: fn(&Row) -> Vec<String>| -> Vec<Vec<String>> {
        let line = |row: &Row| [table::name(predicted, row)].into_iter().chain(of(row)).collect();
        predicted.rows.iter().map(line).collect()
    };
    let columns = |columns: &[&'static str]| [&[predicted.row_name], columns].concat();
    let mut html = format!(
        "<section><h2>Times</h2>{}</section><section><h2>Messages</h2>{}<p class=\"about\">{}</p></section>",
        table_of(&columns(&table::TIME_COLUMNS), &lines(table::times)),
        table_of(&columns(&table::TRAFFIC_COLUMNS), &lines(table::traffic)),
        table::TRAFFIC
    );
    if let [row] = &predicted.rows[..] {
        let spread = table_of(&["", "least", "mean", "most"], &table::spread(row));
        let _ = write!(html, "<section><h2>Over processes</h2>{spread}</section>");
    }
    html
}

fn engines(predicted: &Predicted) -> String {
    let tables = table::engines(predicted);
    if tables.is_empty() {
        return String::new();
    }
    let mut html = "<section><h2>Engines</h2>".to_owned();
    for of in &tables {
        let columns: Vec<&str> = of.columns.iter().map(String::as_str).collect();
        let _ = write!(
            html,
            "<h3>{}</h3>{}<p class=\"about\">{}</p>",
            escape(&of.title),
            table_of(&columns, &of.rows),
            escape(&of.meaning)
        );
    }
    html + "</section>"
}

fn method(predicted: &Predicted) -> String {
    let mut html = "<section id=\"method\"><h2>How this was computed</h2><dl class=\"list\">".to_owned();
    for (name, text) in table::facts(predicted) {
        let _ = write!(html, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&text));
    }
    html.push_str("</dl><ul class=\"notes\">");
    for note in table::notes(predicted) {
        let _ = write!(html, "<li>{}</li>", prose(&note));
    }
    html + "</ul></section>"
}
