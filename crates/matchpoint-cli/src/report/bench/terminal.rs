//! Tables: what every engine costs on every workload, and where each of them loses.

use anstyle::Style;
use matchpoint_bench::{Cell, Outcome, Results};

use crate::format::{bytes, digits};
use crate::report::terminal::layout::Page;

/// The whole text.
pub fn render(results: &Results) -> String {
    let mut page = Page::default();
    page.heading(
        "Nanoseconds per matched message (one post and one arrival), median; * is the best of its row",
    );
    let rows = rows(results);
    let times: Vec<_> = rows.iter().map(|row| labelled(row, |cell| time(cell, best(row)))).collect();
    table(&mut page, results, &times);
    if results.engines.len() > 1 {
        page.heading("Times the best of the row");
        let ratios: Vec<_> = rows.iter().map(|row| labelled(row, |cell| ratio(cell, best(row)))).collect();
        table(&mut page, results, &ratios);
    }
    page.heading("Entries examined per matched message");
    let attempts: Vec<_> = rows.iter().map(|row| labelled(row, attempts)).collect();
    table(&mut page, results, &attempts);
    page.heading("Memory at most");
    let memory: Vec<_> = rows.iter().map(|row| labelled(row, |cell| bytes(cell.bytes_peak))).collect();
    table(&mut page, results, &memory);
    if results.engines.len() > 1 {
        losses(results, &rows, &mut page);
    }
    let (low, high) = results.reference_range_ns;
    let reference = format!(
        "Reference: {} ns ({} to {}) for two plain linked lists at depth 0 on this machine, now.",
        digits(results.reference_ns),
        digits(low),
        digits(high)
    );
    page.paragraph(&reference, Style::new());
    page.into_text()
}

/// The cells of one workload, engine by engine.
fn rows(results: &Results) -> Vec<&[Cell]> {
    results.cells.chunks(results.engines.len().max(1)).collect()
}

fn table(page: &mut Page, results: &Results, rows: &[Vec<String>]) {
    let header: Vec<&str> =
        ["workload"].into_iter().chain(results.engines.iter().map(String::as_str)).collect();
    page.table(&header, rows);
}

fn labelled(row: &[Cell], text: impl Fn(&Cell) -> String) -> Vec<String> {
    let name = row.first().map(|cell| format!("{}:{}", cell.workload, cell.n));
    name.into_iter().chain(row.iter().map(text)).collect()
}

fn best(row: &[Cell]) -> Option<f64> {
    row.iter().filter_map(|cell| cell.outcome.ns()).min_by(f64::total_cmp)
}

fn time(cell: &Cell, best: Option<f64>) -> String {
    match &cell.outcome {
        Outcome::Measured(figures) => {
            let mark = if best == Some(figures.ns_median) { "*" } else { "" };
            format!("{mark}{}", digits(figures.ns_median))
        }
        Outcome::TooSlow { above_ns, .. } => format!("> {}", digits(*above_ns)),
        Outcome::Wrong(_) => "WRONG".to_owned(),
    }
}

fn ratio(cell: &Cell, best: Option<f64>) -> String {
    match (&cell.outcome, best) {
        (Outcome::Measured(figures), Some(best)) => digits(figures.ns_median / best),
        (Outcome::TooSlow { above_ns, .. }, Some(best)) => format!("> {}", digits(above_ns / best)),
        (Outcome::Wrong(_), _) => "WRONG".to_owned(),
        _ => "·".to_owned(),
    }
}

fn attempts(cell: &Cell) -> String {
    cell.attempts_mean.map_or_else(|| "·".to_owned(), digits)
}

fn losses(results: &Results, rows: &[&[Cell]], page: &mut Page) {
    page.heading("Where each engine loses");
    for (at, engine) in results.engines.iter().enumerate() {
        let behind = rows.iter().filter_map(|row| {
            let (cell, best) = (row.get(at)?, best(row)?);
            let (above, ns) = match &cell.outcome {
                Outcome::Measured(figures) => ("", figures.ns_median),
                Outcome::TooSlow { above_ns, .. } => ("more than ", *above_ns),
                Outcome::Wrong(_) => return None,
            };
            Some((ns / best, above, format!("{}:{}", cell.workload, cell.n)))
        });
        let worst = behind.max_by(|one, other| one.0.total_cmp(&other.0));
        let text = match worst {
            Some((ratio, above, workload)) if ratio > 1.0 => {
                format!("{above}{} times the best on {workload}", digits(ratio))
            }
            Some(_) => "nowhere: it is the best on every workload here".to_owned(),
            None => "no figures".to_owned(),
        };
        page.item(engine, &text);
    }
    page.blank();
}
