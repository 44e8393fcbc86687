//! The page around the picture of times: all that a terminal is told.

use std::fmt::Write;

use matchpoint_bench::{Cell, Outcome, Results};

use super::document::document;
use super::{busy, svg};
use crate::format::digits;
use crate::report::bench::standing::{self, Standing, best};
use crate::report::bench::tables::{
    NOTHING, attempts, label, leanest, memory, names, reference, rows, split, spread, substitutes, time,
    unfinished, with_halves,
};
use crate::report::html::escape::escape;

/// A cell, as HTML, and its class, if any.
type Shown = (String, &'static str);

pub(super) fn render(results: &Results, load: Option<f64>) -> String {
    let rows = rows(results);
    let caches = if results.is_cold { ", each call from cold caches" } else { "" };
    let mut body = format!(
        "<h1>What matching costs, engine by engine</h1>\n\
         <p>Nanoseconds per matched message: one post and one arrival{caches}. Measured on {}.{}</p>\n",
        escape(&matchpoint_replay::host::host()),
        busy(load),
    );
    for sentence in substitutes(results) {
        let _ = writeln!(body, "<p>{}.</p>", escape(&sentence));
    }
    let _ = writeln!(
        body,
        "{}<p class=\"note\">Points are medians, the strokes through them spreads: from the time that a quarter of the \
         repetitions were faster than to the one that a quarter were slower than. An arrow: given up there, it costs more.</p>",
        svg(results)
    );
    let legend = escape(standing::LEGEND);
    section(&mut body, "Every workload", &legend, &table(results, &rows, timed));
    let late = with_halves(&rows);
    if !late.is_empty() {
        let halves = |cell: &Cell, _: &[Cell]| plain(split(cell));
        let what = "Nanoseconds, where they can be timed apart.";
        section(&mut body, "Post + arrival", what, &table(results, &late, halves));
    }
    let examined = |cell: &Cell, _: &[Cell]| plain(Some(attempts(cell)));
    let what = "Posted and unexpected together, for each matched message.";
    section(&mut body, "Entries examined", what, &table(results, &rows, examined));
    let what = "The most that the engine held; * leanest of those that did the whole workload.";
    section(&mut body, "Memory at most", what, &table(results, &rows, held));
    if results.engines.len() > 1 {
        let losses = standing::losses(results);
        list(&mut body, "Where each engine loses", losses.iter().map(|(name, text)| (name.as_str(), text)));
    }
    let notes = unfinished(results);
    if !notes.is_empty() {
        list(&mut body, "Without figures", notes.iter().map(|(what, text)| (*what, text)));
    }
    let _ = write!(body, "<p>Reference: {}</p>", escape(&reference(results)));
    document("engines", &body)
}

fn section(body: &mut String, title: &str, what: &str, table: &str) {
    let _ =
        write!(body, "<h2>{title}</h2>\n<p class=\"note\">{what}</p>\n<div class=\"scroll\">{table}</div>\n");
}

fn list<'a>(body: &mut String, title: &str, items: impl Iterator<Item = (&'a str, &'a String)>) {
    let _ = write!(body, "<h2>{title}</h2>\n<ul>");
    for (name, text) in items {
        let _ = write!(body, "<li><b>{}</b>: {}</li>", escape(name), escape(text));
    }
    body.push_str("</ul>\n");
}

/// Workloads downwards, engines to the right.
fn table(results: &Results, rows: &[&[Cell]], shown: impl Fn(&Cell, &[Cell]) -> Shown) -> String {
    let mut html = "<table><thead><tr><th scope=\"col\">workload</th>".to_owned();
    for engine in &names(results) {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escape(engine));
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows {
        let name = row.first().map(label).unwrap_or_default();
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escape(&name));
        for cell in *row {
            let (text, class) = shown(cell, row);
            let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
            let _ = write!(html, "<td{class}>{text}</td>");
        }
        html.push_str("</tr>");
    }
    html + "</tbody></table>"
}

fn plain(text: Option<String>) -> Shown {
    (escape(text.as_deref().unwrap_or(NOTHING)), "")
}

/// The time, and below it how it spreads, and how many times the best it is.
fn timed(cell: &Cell, row: &[Cell]) -> Shown {
    let standing = Standing::of(cell, row);
    let mut html = format!("{}{}", standing.mark(), escape(&time(cell)));
    if let Some(spread) = spread(cell) {
        let _ = write!(html, "<small>{}</small>", escape(&spread));
    }
    if let (Standing::Behind, Outcome::Measured(figures), Some(best)) = (standing, &cell.outcome, best(row)) {
        let _ = write!(html, "<small>× {}</small>", digits(figures.ns_median / best.ns_median));
    }
    (html, if standing == Standing::Behind { "" } else { "best" })
}

fn held(cell: &Cell, row: &[Cell]) -> Shown {
    let text = memory(cell, leanest(row));
    let class = if text.starts_with('*') { "best" } else { "" };
    (escape(&text), class)
}
