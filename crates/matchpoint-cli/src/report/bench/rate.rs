//! The message-rate benchmark in tables: for readers, for spreadsheets, for machines.

use std::io::{self, Write};

use csv::Writer;
use matchpoint_bench::rate::{NO_MATCHING, Rate, Rates, Scenario, published};
use serde_json::{Value, json};

use super::json::SCHEMA;
use super::tables::substitute;
use crate::format::{digits, in_place};
use crate::report::terminal::layout::Page;

/// The whole text, on a terminal of so many columns.
pub fn terminal(rates: &Rates, width: usize) -> String {
    let mut page = Page::of_width(width);
    for (window, work_ns) in charts(rates) {
        page.heading(&format!(
            "Million messages per second, window {window}, {work_ns} ns of protocol work each (p25–p75)"
        ));
        let header: Vec<&str> = ["engine"]
            .into_iter()
            .chain(rates.options.scenarios.iter().map(|scenario| scenario.title()))
            .collect();
        page.wide_table(&header, &table(rates, window, work_ns, text));
    }
    compare(rates, &mut page);
    let counts = |rate: &Rate| rate.counted.iter().any(|(_, count)| *count > 0.0);
    if rates.rates.iter().any(counts) {
        page.heading("What engines count, for each message");
    }
    for rate in &rates.rates {
        let counted: Vec<String> = rate
            .counted
            .iter()
            .filter(|(_, count)| *count > 0.0)
            .map(|(name, count)| format!("{name} {}", digits(*count)))
            .collect();
        if !counted.is_empty() {
            let what = format!(
                "{}, {}, window {}, work {} ns",
                label(rate),
                rate.scenario.title(),
                rate.window,
                rate.work_ns
            );
            page.item(&what, &counted.join(", "));
        }
    }
    let mut told: Vec<String> = Vec::new();
    for rate in &rates.rates {
        if let Some(sentence) = substitute(&rate.engine, rate.substitute.as_deref()) {
            if !told.contains(&sentence) {
                page.item("Substitute", &format!("{sentence}."));
                told.push(sentence);
            }
        }
    }
    page.heading("Published: window 128, other hardware (BlueField-3 under RDMA traffic), not to be compared in absolute terms");
    let rows: Vec<Vec<String>> = published::LINES
        .iter()
        .map(|(name, points)| {
            let points = points.iter().map(|(threads, rate)| format!("{rate} ({threads})"));
            vec![(*name).to_owned(), points.collect::<Vec<_>>().join("  ")]
        })
        .chain(published::CONTROLS.iter().map(|(name, rate)| vec![(*name).to_owned(), rate.to_string()]))
        .collect();
    page.wide_table(&["", "million messages per second (threads)"], &rows);
    page.item(
        "Here",
        &format!(
            "{} processors; {} messages in a sequence{}, {} sequences in a repetition, {} repetitions, {} receives in \
             front{}. Receives are posted before the time begins; it ends when the last message is delivered.",
            rates.processors,
            rates.options.messages,
            if rates.options.windows.iter().any(|&window| rates.options.messages_in(window) > rates.options.messages) {
                ", as many times that as fit into a window"
            } else {
                ""
            },
            rates.options.repeats,
            rates.options.repetitions,
            rates.options.depth,
            if rates.options.cold { ", caches flushed before messages arrive" } else { "" },
        ),
    );
    page.into_text()
}

/// Whether threads pay: the best that several made of the best that one made.
fn compare(rates: &Rates, page: &mut Page) {
    let rows: Vec<Vec<String>> = charts(rates)
        .into_iter()
        .map(|(window, work_ns)| {
            let cells = rates.options.scenarios.iter().map(|&scenario| {
                let here = rates.rates.iter().filter(|rate| {
                    (rate.window, rate.work_ns, rate.scenario) == (window, work_ns, scenario)
                        && rate.full.is_none()
                        && rate.wrong.is_none()
                });
                paid(here)
            });
            [format!("window {window}, {work_ns} ns")].into_iter().chain(cells).collect()
        })
        .collect();
    if rows.iter().all(|row| row[1..].iter().all(String::is_empty)) {
        return;
    }
    page.heading("Do threads pay? The best rate of several ÷ the best of one (threads)");
    let header = [""].into_iter().chain(rates.options.scenarios.iter().map(|scenario| scenario.title()));
    page.wide_table(&header.collect::<Vec<_>>(), &rows);
    page.footnote("Above 1 they do; ≈: the spreads overlap, so that neither is faster.");
}

/// That of one scenario, if there is something to compare.
fn paid<'a>(here: impl Iterator<Item = &'a Rate>) -> String {
    let (mut several, mut alone): (Option<&Rate>, Option<&Rate>) = (None, None);
    for rate in here.filter(|rate| rate.engine != NO_MATCHING) {
        let best = match rate.threads {
            Some(2..) => &mut several,
            _ => &mut alone,
        };
        if best.is_none_or(|best| best.median < rate.median) {
            *best = Some(rate);
        }
    }
    let (Some(several), Some(alone)) = (several, alone) else { return String::new() };
    let overlap = several.p25 <= alone.p75 && alone.p25 <= several.p75;
    let ratio = digits(several.median / alone.median.max(f64::MIN_POSITIVE));
    format!("{}{ratio} ({})", if overlap { "≈ " } else { "" }, several.threads.unwrap_or(0))
}

/// An engine, who matched in its place, and its threads.
pub(super) fn label(rate: &Rate) -> String {
    let name = in_place(&rate.engine, rate.substitute.as_deref());
    rate.threads.map_or_else(|| name.clone(), |threads| format!("{name} ×{threads}"))
}

/// Windows, each with each amount of work.
pub(super) fn charts(rates: &Rates) -> Vec<(usize, u32)> {
    let windows = rates.options.windows.iter();
    windows.flat_map(|&window| rates.options.work_ns.iter().map(move |&work_ns| (window, work_ns))).collect()
}

/// Engines downwards, scenarios to the right.
fn table(rates: &Rates, window: usize, work_ns: u32, text: fn(&Rate) -> String) -> Vec<Vec<String>> {
    let of = |scenario: Scenario| {
        let is_here =
            move |rate: &&Rate| rate.window == window && rate.work_ns == work_ns && rate.scenario == scenario;
        rates.rates.iter().filter(is_here)
    };
    let Some(&first) = rates.options.scenarios.first() else { return Vec::new() };
    let row = |(at, rate): (usize, &Rate)| {
        let cells = rates
            .options
            .scenarios
            .iter()
            .map(|&scenario| of(scenario).nth(at).map(text).unwrap_or_default());
        let same = rates.options.scenarios.iter().filter_map(|&scenario| of(scenario).nth(at));
        let named = same.into_iter().find(|rate| rate.substitute.is_some()).unwrap_or(rate);
        [label(named)].into_iter().chain(cells).collect()
    };
    of(first).enumerate().map(row).collect()
}

fn text(rate: &Rate) -> String {
    match rate {
        Rate { wrong: Some(_), .. } => return "WRONG".to_owned(),
        Rate { full: Some(_), .. } => return "full".to_owned(),
        _ => {}
    }
    format!("{} ({}–{})", digits(rate.median), digits(rate.p25), digits(rate.p75))
}

/// Writes a row for each engine in each scenario.
///
/// # Errors
/// Those of `out`.
pub fn csv(rates: &Rates, out: &mut dyn Write) -> io::Result<()> {
    let mut counts: Vec<&str> = Vec::new();
    for (name, _) in rates.rates.iter().flat_map(|rate| &rate.counted) {
        if !counts.contains(name) {
            counts.push(name);
        }
    }
    let mut table = Writer::from_writer(out);
    let fixed = [
        "window",
        "work_ns",
        "scenario",
        "engine",
        "threads",
        "rate_millions_per_s",
        "rate_p25",
        "rate_p75",
        "samples",
        "substitute",
    ];
    let of_each: Vec<String> = counts.iter().map(|name| format!("{name}_per_message")).collect();
    table.write_record(fixed.into_iter().chain(of_each.iter().map(String::as_str)))?;
    for rate in &rates.rates {
        let mut row = vec![
            rate.window.to_string(),
            rate.work_ns.to_string(),
            rate.scenario.name().to_owned(),
            rate.engine.clone(),
            rate.threads.map(|threads| threads.to_string()).unwrap_or_default(),
            figure(rate, rate.median),
            figure(rate, rate.p25),
            figure(rate, rate.p75),
            rate.samples.to_string(),
            rate.substitute.clone().unwrap_or_default(),
        ];
        for name in &counts {
            let count = rate.counted.iter().find(|(of, _)| of == name);
            row.push(count.map(|(_, count)| format!("{count:.6}")).unwrap_or_default());
        }
        table.write_record(row)?;
    }
    table.flush()
}

/// What was measured; nothing, of an engine whose table was full.
fn figure(rate: &Rate, of: f64) -> String {
    rate.full.as_ref().map_or_else(|| format!("{of:.4}"), |_| String::new())
}

/// Writes all of it as JSON.
///
/// # Errors
/// Those of `out`.
pub fn json(rates: &Rates, load: Option<f64>, out: &mut dyn Write) -> io::Result<()> {
    let options = &rates.options;
    let document = json!({
        "schema": SCHEMA,
        "matchpoint": env!("CARGO_PKG_VERSION"),
        "host": matchpoint_replay::host::host(),
        "load": load,
        "processors": rates.processors,
        "messages": options.messages,
        "repeats": options.repeats,
        "repetitions": options.repetitions,
        "depth": options.depth,
        "cold": options.cold,
        "published": published_rates(),
        "rates": rates.rates.iter().map(rate).collect::<Vec<_>>(),
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n")
}

/// What the paper published, in million messages per second: other hardware, not to be compared in absolute terms.
fn published_rates() -> Value {
    let lines = published::LINES.iter().map(|(scenario, points)| {
        let points =
            points.iter().map(|(threads, rate)| json!({"threads": threads, "rate_millions_per_s": rate}));
        json!({"scenario": scenario, "points": points.collect::<Vec<_>>()})
    });
    let controls = published::CONTROLS.iter();
    let controls = controls.map(|(name, rate)| json!({"control": name, "rate_millions_per_s": rate}));
    json!({
        "hardware": "BlueField-3 under RDMA traffic, window 128: not comparable in absolute terms",
        "lines": lines.collect::<Vec<_>>(),
        "controls": controls.collect::<Vec<_>>(),
    })
}

fn rate(rate: &Rate) -> Value {
    let counted: serde_json::Map<String, Value> =
        rate.counted.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
    let measured = |of: f64| rate.full.is_none().then_some(of);
    let mut value = json!({
        "window": rate.window,
        "messages": rate.messages,
        "work_ns": rate.work_ns,
        "scenario": rate.scenario.name(),
        "engine": rate.engine,
        "substitute": rate.substitute,
        "threads": rate.threads,
        "rate_millions_per_s": measured(rate.median),
        "rate_p25": measured(rate.p25),
        "rate_p75": measured(rate.p75),
        "samples": rate.samples,
        "per_message": counted,
    });
    if let Some(full) = &rate.full {
        value["full"] = json!(full);
    }
    if let Some(wrong) = &rate.wrong {
        value["wrong"] = json!(wrong);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(engine: &str, threads: Option<usize>, median: f64) -> Rate {
        Rate {
            window: 128,
            messages: 100,
            work_ns: 0,
            scenario: Scenario::NoConflict,
            engine: engine.to_owned(),
            substitute: None,
            threads,
            median,
            p25: median - 1.0,
            p75: median + 1.0,
            samples: 9,
            counted: Vec::new(),
            full: None,
            wrong: None,
        }
    }

    /// Two threads of an engine that are no faster than its one do not pay, however slow the others are.
    #[test]
    fn several_threads_are_compared_with_the_best_that_one_makes() {
        let mut rates = vec![
            rate(NO_MATCHING, None, 500.0),
            rate("list", None, 100.0),
            rate("parallel", Some(1), 200.0),
            rate("parallel", Some(2), 150.0),
        ];
        assert_eq!(paid(rates.iter()), "0.750 (2)");
        rates.push(rate("parallel", Some(4), 400.0));
        assert_eq!(paid(rates.iter()), "2.00 (4)");
        assert_eq!(paid(rates[..3].iter()), "", "nobody has several");
    }
}
