//! Tables: what every engine costs on every workload, and where each of them loses.

use matchpoint_bench::latency::{Ended, Latencies, Percentiles, Stage};
use matchpoint_bench::{Cell, Outcome, Results};

use super::standing::{self, Standing, best};
use super::tables::{self, NOTHING, attempts, rows, time};
use crate::format::{count, digits, duration_ns, in_place};
use crate::report::terminal::layout::Page;

/// The whole text, on a terminal of so many columns.
pub fn render(results: &Results, width: usize) -> String {
    let mut page = Page::of_width(width);
    page.section(if results.is_cold {
        "Nanoseconds per matched message, each call from cold caches"
    } else {
        "Nanoseconds per matched message (a post and an arrival)"
    });
    let rows = rows(results);
    let times: Vec<_> = rows.iter().map(|row| labelled(row, |cell| marked(cell, row))).collect();
    table(&mut page, results, &times);
    page.footnote(standing::LEGEND);
    page.section("Spread (p25–p75 of the repetitions)");
    let spreads: Vec<_> =
        rows.iter().map(|row| labelled(row, |cell| or_nothing(tables::spread(cell)))).collect();
    table(&mut page, results, &spreads);
    if results.engines.len() > 1 {
        page.section("Times the best of the row");
        let ratios: Vec<_> = rows.iter().map(|row| labelled(row, |cell| ratio(cell, row))).collect();
        table(&mut page, results, &ratios);
    }
    split(results, &rows, &mut page);
    page.section("Entries examined per matched message");
    let attempts: Vec<_> = rows.iter().map(|row| labelled(row, attempts)).collect();
    table(&mut page, results, &attempts);
    page.section("Memory at most; * leanest of those that did the whole workload");
    let memory = |row: &&[Cell]| labelled(row, |cell| tables::memory(cell, tables::leanest(row)));
    let memory: Vec<_> = rows.iter().map(memory).collect();
    table(&mut page, results, &memory);
    if results.engines.len() > 1 {
        losses(results, &mut page);
    }
    page.gap();
    for (what, text) in tables::unfinished(results) {
        page.item(what, &text);
    }
    for sentence in tables::substitutes(results) {
        page.item("Substitute", &format!("{sentence}."));
    }
    page.item("Reference", &tables::reference(results));
    page.into_text()
}

fn table(page: &mut Page, results: &Results, rows: &[Vec<String>]) {
    let names = tables::names(results);
    let header: Vec<&str> = ["workload"].into_iter().chain(names.iter().map(String::as_str)).collect();
    page.wide_table(&header, rows);
}

fn or_nothing(text: Option<String>) -> String {
    text.unwrap_or_else(|| NOTHING.to_owned())
}

fn labelled(row: &[Cell], text: impl Fn(&Cell) -> String) -> Vec<String> {
    let name = row.first().map(tables::label);
    name.into_iter().chain(row.iter().map(text)).collect()
}

/// A cell of the table of times.
fn marked(cell: &Cell, row: &[Cell]) -> String {
    format!("{}{}", Standing::of(cell, row).mark(), time(cell))
}

fn ratio(cell: &Cell, row: &[Cell]) -> String {
    match (&cell.outcome, best(row).map(|best| best.ns_median)) {
        (Outcome::Measured(figures), Some(best)) => {
            let standing = Standing::of(cell, row);
            let mark = if standing == Standing::Level { standing.mark() } else { "" };
            format!("{mark}{}", digits(figures.ns_median / best))
        }
        (Outcome::TooSlow { above_ns, .. }, Some(best)) => format!("> {}", digits(above_ns / best)),
        (Outcome::Full(_), _) => "full".to_owned(),
        (Outcome::Wrong(_), _) => "WRONG".to_owned(),
        _ => "·".to_owned(),
    }
}

fn losses(results: &Results, page: &mut Page) {
    page.section("Where each engine loses");
    for (engine, text) in standing::losses(results) {
        page.item(&engine, &text);
    }
}

fn split(results: &Results, rows: &[&[Cell]], page: &mut Page) {
    let late = tables::with_halves(rows);
    let halves = late.iter().map(|row| labelled(row, |cell| or_nothing(tables::split(cell))));
    if !late.is_empty() {
        page.section("The same, post + arrival, where they can be timed apart");
        table(page, results, &halves.collect::<Vec<_>>());
    }
}

/// What single calls took, on a terminal of so many columns.
pub fn latency(latencies: &Latencies, width: usize) -> String {
    let mut page = Page::of_width(width);
    let heading = format!(
        "Single calls, queues of up to {} entries; the shortest of {} times each",
        count(latencies.entries as u64),
        latencies.repetitions
    );
    page.section(&heading);
    let mut rows = Vec::new();
    for engine in &latencies.engines {
        let is_whole = engine.stages.iter().all(|stage| stage.ended.is_none());
        let name = in_place(&engine.engine, engine.substitute.as_deref());
        let name = if is_whole { name } else { format!("{name}, as far as it came") };
        rows.push(percentiles(&name, &engine.all));
        let stages = engine.stages.iter();
        rows.extend(stages.map(|stage| percentiles(&format!("  {}", called(stage)), &stage.percentiles)));
    }
    rows.push(percentiles("(no engine: the clock alone)", &latencies.nothing));
    page.wide_table(&["", "calls", "p50", "p99", "p99.99", "longest", "once"], &rows);
    page.footnote(&format!(
        "once: the p99.99 of the first of the {} times alone, with whatever interrupted it; the columns before it are of \
         the shortest.",
        latencies.repetitions
    ));
    for engine in &latencies.engines {
        for stage in &engine.stages {
            if let Some((what, text)) = unfinished(stage) {
                page.item(what, &format!("{}, {}: {text}", engine.engine, stage.what));
            }
        }
        let not_reached = engine.stages.iter().filter(|stage| stage.ended == Some(Ended::NotReached));
        let not_reached: Vec<&str> = not_reached.map(|stage| stage.what).collect();
        if !not_reached.is_empty() {
            page.item("Not reached", &format!("{}: {}", engine.engine, not_reached.join("; ")));
        }
    }
    for of in &latencies.engines {
        if let Some(sentence) = tables::substitute(&of.engine, of.substitute.as_deref()) {
            page.item("Substitute", &format!("{sentence}."));
        }
    }
    let clock =
        format!("two looks at the clock take {}; that is subtracted.", duration_ns(latencies.clock_ns));
    page.item("Clock", &clock);
    page.into_text()
}

/// A stage, and what its figures are not to be taken for.
fn called(stage: &Stage) -> String {
    match &stage.ended {
        Some(Ended::Full(_)) => format!("{}, until full", stage.what),
        Some(Ended::Differs(_)) => format!("{}, until it differs", stage.what),
        Some(Ended::Wrong(_)) => format!("{}, until WRONG", stage.what),
        Some(Ended::NotReached | Ended::GivenUp(_)) | None => stage.what.to_owned(),
    }
}

/// Why a stage has not all of its calls, if it was reached: a title, and a sentence.
fn unfinished(stage: &Stage) -> Option<(&'static str, String)> {
    Some(match stage.ended.as_ref()? {
        Ended::NotReached => return None,
        Ended::GivenUp(why) => ("Given up", why.clone()),
        Ended::Full(when) => ("Full", tables::full(when)),
        Ended::Differs(what) => ("Differs", tables::differs(what)),
        Ended::Wrong(what) => ("WRONG", format!("{what}.")),
    })
}

fn percentiles(name: &str, of: &Percentiles) -> Vec<String> {
    let times = [of.p50_ns, of.p99_ns, of.p9999_ns, of.max_ns, of.p9999_once_ns];
    let times =
        times.into_iter().map(|ns| if of.calls == 0 { "·".to_owned() } else { duration_ns(ns.into()) });
    [name.to_owned(), count(of.calls as u64)].into_iter().chain(times).collect()
}
