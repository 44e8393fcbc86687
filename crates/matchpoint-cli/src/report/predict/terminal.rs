//! The prediction on a terminal: the answer, what it is of, tables.

use anstyle::Style;

use super::table;
use crate::format::{count, seconds, share};
use crate::predict::predicted::{EngineRow, LIBRARY, Predicted, Row};
use crate::report::terminal::layout::Page;

/// Engines are told for so many numbers of processes; JSON has all.
const ENGINE_TABLES: usize = 4;

/// The whole text.
pub fn render(predicted: &Predicted) -> String {
    let mut page = Page::default();
    page.paragraph(&answer(predicted), Style::new().bold());
    page.blank();
    for (label, text) in table::facts(predicted) {
        page.labelled(label, &text);
    }
    page.blank();
    if !predicted.rows.is_empty() {
        times(predicted, &mut page);
        traffic(predicted, &mut page);
    }
    if let [row] = &predicted.rows[..] {
        page.heading("Over processes");
        page.table(&["", "least", "mean", "most"], &table::spread(row));
        page.blank();
    }
    if !predicted.rows.is_empty() {
        knowledge(predicted, &mut page);
    }
    engines(predicted, &mut page);
    for note in table::notes(predicted) {
        page.item("Note", &note);
    }
    page.into_text()
}

fn longest(predicted: &Predicted) -> Option<&Row> {
    let total = |row: &Row| row.prediction.longest[1].total_s();
    predicted.rows.iter().max_by(|one, other| total(one).total_cmp(&total(other)))
}

/// One sentence: how long, and what most of it goes to.
pub(super) fn answer(predicted: &Predicted) -> String {
    let sending = longest(predicted).map(|row| (row, row.prediction.longest[1]));
    let Some((row, split)) = sending.filter(|(_, split)| split.total_s() > 0.0) else {
        return predicted.without_messages.clone();
    };
    let total = split.total_s();
    let parts = [
        ("transport", split.transport_s),
        ("queue search", split.queue_s),
        ("contention", split.contention_s),
    ];
    let (most, time) =
        parts.into_iter().fold(("", -1.0), |most, part| if part.1 > most.1 { part } else { most });
    let worst = row.prediction.worst;
    let which = match (predicted.rows.len(), predicted.command) {
        (1, _) => format!("Process {worst} takes longest: {}", seconds(total)),
        (_, "amg") => {
            let (operation, level) = (row.operation, &row.name);
            format!("{operation} on level {level} takes longest: {} at process {worst}", seconds(total))
        }
        (_, "trace") => format!("Phase {} takes longest: {} for process {worst}", row.name, seconds(total)),
        _ => {
            let processes = count(row.layout.processes.get().into());
            format!("It takes longest on {processes} processes: {} at process {worst}", seconds(total))
        }
    };
    format!("{which}, {} of it {most}.{}", share(time / total), library(predicted))
}

/// Of a trace: that its queue search is an engine's on this host, and what the machine's own library would take.
fn library(predicted: &Predicted) -> String {
    let time = |row: &EngineRow| row.time_s.map(|time| time[1]);
    let library = predicted.engines.iter().find(|row| row.engine == LIBRARY).and_then(time);
    let Some((first, library)) = predicted.engines.first().zip(library) else { return String::new() };
    let Some(own) = time(first) else { return String::new() };
    format!(
        " The queue search is that of `{}` on this host, {} over the whole run; the MPI library of {} would take {}.",
        first.engine,
        seconds(own),
        predicted.machine.name,
        seconds(library)
    )
}

fn header<'a>(predicted: &'a Predicted, columns: &[&'a str]) -> Vec<&'a str> {
    [predicted.row_name].into_iter().chain(columns.iter().copied()).collect()
}

fn lines(predicted: &Predicted, of: impl Fn(&Row) -> Vec<String>) -> Vec<Vec<String>> {
    let line = |row: &Row| [table::name(predicted, row)].into_iter().chain(of(row)).collect();
    predicted.rows.iter().map(line).collect()
}

fn times(predicted: &Predicted, page: &mut Page) {
    page.heading(table::TIMES);
    let rows = lines(predicted, table::times);
    let has_interval = rows.iter().any(|row| row.last().is_some_and(|interval| interval != "·"));
    let columns = &table::TIME_COLUMNS[..if has_interval { 5 } else { 4 }];
    page.wide_table(&header(predicted, columns), &rows);
    page.blank();
}

fn traffic(predicted: &Predicted, page: &mut Page) {
    page.wide_table(&header(predicted, &table::TRAFFIC_COLUMNS), &lines(predicted, table::traffic));
    page.footnote(table::TRAFFIC);
}

/// Transport under models that know less.
fn knowledge(predicted: &Predicted, page: &mut Page) {
    let known = |time: Option<f64>| time.map_or_else(|| "·".to_owned(), seconds);
    let of = |row: &Row| {
        let aware =
            row.prediction.processes.iter().map(|process| process.split.transport_s).fold(0.0, f64::max);
        vec![known(row.prediction.postal_s), known(row.prediction.max_rate_s), seconds(aware)]
    };
    page.heading("Most transport of a process, as models see it");
    page.table(&header(predicted, &["postal", "max-rate", "node-aware"]), &lines(predicted, of));
    page.blank();
}

fn engines(predicted: &Predicted, page: &mut Page) {
    let tables = table::engines(predicted);
    for (at, of) in tables.iter().take(ENGINE_TABLES).enumerate() {
        page.heading(&of.title);
        page.wide_table(&of.columns.iter().map(String::as_str).collect::<Vec<_>>(), &of.rows);
        // Tables alike have one legend.
        let next = tables.iter().take(ENGINE_TABLES).nth(at + 1);
        if next.is_some_and(|next| next.meaning == of.meaning) {
            page.blank();
        } else {
            page.footnote(&of.meaning);
        }
    }
    if tables.len() > ENGINE_TABLES {
        let more = tables.len() - ENGINE_TABLES;
        page.item("Note", &format!("engines of {more} further numbers of processes are in the JSON."));
    }
}
