//! The message-rate benchmark: tables, CSV, JSON.

pub(super) mod notes;

use std::io::{self, Write};

use matchpoint_bench::rate::{Rate, Rates, Scenario, published};
use matchpoint_replay::format::{in_place, with_spread};
use serde_json::{Value, json};

use super::plot::key::Key;
use super::tables::measured_on;
use crate::report::document::{Document, Rows};
use crate::report::schema::{self, measured};

pub fn document(rates: &Rates, load: Option<f64>, svg: &str) -> Document {
    let mut document = Document::new("message rate", "Messages matched and delivered, by threads");
    document.on_page().paragraph(measured_on(load));
    document.html(svg);
    document.on_page().note(
        "Points and levels: medians. Strokes: spreads (p25–p75). Published rates are from other hardware, not \
         comparable in absolute terms.",
    );
    for (short, full) in Key::of(rates).entries() {
        document.on_page().item(&short, full);
    }
    for (window, work_ns) in charts(rates) {
        document
            .section(format!("Million messages per second (p25–p75): window {window}, --work-ns {work_ns}"));
        document.rows(table(rates, window, work_ns));
    }
    document.note(notes::legend(rates));
    if let Some(paid) = notes::paid(rates) {
        document.section("Gain of threads: best rate of several ÷ best rate of one (threads)");
        document.rows(paid);
        document.note("Above 1: threads are faster. ≈: the spreads overlap.");
    }
    counted(rates, &mut document);
    document.gap();
    for sentence in notes::substitutes(rates) {
        document.item("Substitute", format!("{sentence}."));
    }
    document.section(
        "Published: window 128, other hardware (BlueField-3 with RDMA traffic), not comparable in absolute terms",
    );
    document.rows(published_rows());
    document.item("Here", notes::here(rates));
    document
}

/// Counts for a page. A terminal would show hundreds of lines.
fn counted(rates: &Rates, document: &mut Document) {
    // If an engine counts, its counts of 0 are shown too.
    if rates.rates.iter().all(|rate| rate.counted.is_empty()) {
        return;
    }
    document.on_terminal().note("Counts per message: --json, --csv and the page of --plot.");
    document.on_page().section("Counts of engines, per message");
    for (what, counts) in notes::counted(rates) {
        document.on_page().item(&what, counts);
    }
}

fn published_rows() -> Rows<(&'static str, String)> {
    let lines = published::LINES.iter().map(|(name, points)| {
        let points = points.iter().map(|(threads, rate)| format!("{rate} ({threads})"));
        (*name, points.collect::<Vec<_>>().join("  "))
    });
    let controls = published::CONTROLS.iter().map(|(name, rate)| (*name, rate.to_string()));
    Rows::of(lines.chain(controls))
        .column("", |(name, _)| (*name).to_owned())
        .column("million messages per second (threads)", |(_, rates)| rates.clone())
}

pub(super) fn label(rate: &Rate) -> String {
    let name = in_place(&rate.engine, rate.substitute.as_deref());
    rate.threads.map_or_else(|| name.clone(), |threads| format!("{name} ×{threads}"))
}

pub(super) fn charts(rates: &Rates) -> Vec<(usize, u32)> {
    let windows = rates.options.windows.iter();
    windows.flat_map(|&window| rates.options.work_ns.iter().map(move |&work_ns| (window, work_ns))).collect()
}

fn table(rates: &Rates, window: usize, work_ns: u32) -> Rows<(usize, &Rate)> {
    let of = |scenario: Scenario| {
        let here = (window, work_ns, scenario);
        rates.rates.iter().filter(move |rate| (rate.window, rate.work_ns, rate.scenario) == here)
    };
    let scenarios = || rates.options.scenarios.iter().copied();
    let rows = Rows::of(scenarios().take(1).flat_map(of).enumerate()).column("engine", |&(at, rate)| {
        let mut same = scenarios().filter_map(|scenario| of(scenario).nth(at));
        label(same.find(|rate| rate.substitute.is_some()).unwrap_or(rate))
    });
    scenarios().fold(rows, |rows, scenario| {
        rows.column(scenario.title(), |&(at, _)| of(scenario).nth(at).map(text).unwrap_or_default())
    })
}

fn text(rate: &Rate) -> String {
    match without(rate) {
        Some(why) => why.to_owned(),
        None => with_spread(rate.rate.values()),
    }
}

fn without(rate: &Rate) -> Option<&'static str> {
    match rate {
        Rate { wrong: Some(_), .. } => Some("WRONG"),
        Rate { full: Some(_), .. } => Some("full"),
        _ => None,
    }
}

pub fn csv(rates: &Rates, out: &mut dyn Write) -> io::Result<()> {
    let mut counts: Vec<&str> = Vec::new();
    for (name, _) in rates.rates.iter().flat_map(|rate| &rate.counted) {
        if !counts.contains(name) {
            counts.push(name);
        }
    }
    let fixed =
        "window work_ns scenario engine threads rate_millions_per_s rate_p25 rate_p75 samples substitute";
    let fixed = fixed.split(' ').map(|name| (name.to_owned(), format!("/{name}")));
    let of_each = counts.iter().map(|name| (format!("{name}_per_message"), format!("/per_message/{name}")));
    let columns: Vec<(String, String)> = fixed.chain(of_each).collect();
    let decimals = |name: &str| if name.ends_with("_per_message") { 6 } else { 4 };
    let cell = |name: &str, value: &Value| schema::cell(value, decimals(name));
    schema::members(&columns, rates.rates.iter().map(|rate| json!(rate)), cell, out)
}

pub fn json(rates: &Rates, load: Option<f64>) -> Value {
    let mut document = json!(rates);
    document["published"] = published_rates();
    measured(load, document)
}

fn published_rates() -> Value {
    let lines = published::LINES.iter().map(|(scenario, points)| {
        let points =
            points.iter().map(|(threads, rate)| json!({"threads": threads, "rate_millions_per_s": rate}));
        // `scenario` has the title. `scenario_id` is the id in `rates`.
        let id = Scenario::ALL.iter().find(|of| of.title() == *scenario).map(|of| of.name());
        json!({"scenario": scenario, "scenario_id": id, "points": points.collect::<Vec<_>>()})
    });
    let controls = published::CONTROLS.iter();
    let controls = controls.map(|(name, rate)| json!({"control": name, "rate_millions_per_s": rate}));
    json!({
        "hardware": "BlueField-3 with RDMA traffic, window 128: not comparable in absolute terms",
        "lines": lines.collect::<Vec<_>>(),
        "controls": controls.collect::<Vec<_>>(),
    })
}
