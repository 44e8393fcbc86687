//! The report of `matchpoint bench gpu`: tables, CSV, JSON.

mod read;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use matchpoint_gpu::Algorithm;
use matchpoint_gpu::card::Description;
use matchpoint_gpu::figures::{Figure, Job, Measured, PUBLISHED, Subject};
use matchpoint_gpu::measure::{Mix, PostedOrder, Rate, Run};
use matchpoint_replay::format::{digits, with_spread};
use serde_json::{Value, json};

use crate::report::document::{Document, Rows};
use crate::report::schema;

pub use self::read::read;

#[derive(Clone, PartialEq, Debug)]
pub struct OnCard<'a> {
    pub card: Description,
    pub measured: Vec<(&'a Job, Measured)>,
    pub lacking: Vec<Lacking<'a>>,
    pub others: Vec<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Lacking<'a> {
    pub job: &'a Job,
    pub why: String,
    /// Whether the measurement failed. Otherwise the earlier result lacks the measurement.
    pub has_failed: bool,
}

impl OnCard<'_> {
    pub fn missing(&self) -> Option<String> {
        let first = self.lacking.first()?;
        let (lacking, all) = (self.lacking.len(), self.lacking.len() + self.measured.len());
        let of = |figure: &Figure| self.lacking.iter().filter(|one| one.job.figure == *figure).count();
        let figures = Figure::ALL.iter().filter(|figure| of(figure) > 0);
        let figures: Vec<String> = figures.map(|figure| format!("{figure:?} {}", of(figure))).collect();
        let verb = if lacking == 1 { "is" } else { "are" };
        Some(format!(
            "{lacking} of {all} measurements {verb} missing ({}); the first, `{}`: {}",
            figures.join(", "),
            first.job.label,
            first.why
        ))
    }

    pub fn has_failed(&self) -> bool {
        self.lacking.iter().any(|lacking| lacking.has_failed)
    }

    pub(super) fn is_whole(&self, figure: Figure) -> bool {
        self.lacking.iter().all(|lacking| lacking.job.figure != figure)
    }
}

pub fn document(on_card: &OnCard<'_>, svg: &str) -> Document {
    let OnCard { card, measured, .. } = on_card;
    let mut document = Document::new("graphics cards", "Matches per second on a graphics card");
    document.on_page().paragraph(
        "Batches in the memory of the card, medians of several launches; one multiprocessor unless it is written. Published \
         values are of other cards.",
    );
    document.item("Card", described(card));
    if let Some(missing) = on_card.missing() {
        document.item("Incomplete", missing);
    }
    document.html(svg);
    let is_measured = |figure: &Figure| measured.iter().any(|(job, _)| job.figure == *figure);
    for figure in Figure::ALL.into_iter().filter(is_measured) {
        let part = if on_card.is_whole(figure) { "" } else { ", in part" };
        document.section(format!("{}{part}", figure.title()));
        let of_figure = measured.iter().filter(|(job, _)| job.figure == figure);
        if figure == Figure::Fed {
            let fed = of_figure
                .filter_map(|(job, of)| if let Measured::Fed(of) = of { Some((job, of)) } else { None });
            let rows = Rows::of(fed)
                .column("", |(job, _)| job.label.clone())
                .column("by the host", |(_, of)| of_passes(&of.by_host, of.passes))
                .column("by the card", |(_, of)| of_passes(&of.by_card, of.passes))
                .column("latency, µs (99 %)", |(_, of)| {
                    format!("{} ({})", digits(of.latency_ns.0 / 1e3), digits(of.latency_ns.1 / 1e3))
                })
                .column("hybrid", |(_, of)| of_passes(&of.engine.1, of.passes));
            document.rows(rows);
            document
                .note("Medians of several passes, with the slowest and the fastest where there are some.");
        } else {
            let rates = of_figure
                .filter_map(|(job, of)| if let Measured::Rate(of) = of { Some((job, of)) } else { None });
            let rows = Rows::of(rates)
                .column("", |(job, _)| job.label.clone())
                .column("million matches/s", |(_, of)| millions(of.median))
                .column("slowest–fastest launch", |(_, of)| {
                    format!("{}–{}", millions(of.least), millions(of.most))
                });
            document.rows(rows);
        }
        if let Some(published) = figure.published() {
            let rate = digits(published / 1e6);
            document.note(format!("Published: {rate} million matches per second, GeForce GTX 1080."));
        }
    }
    for Lacking { job, why, .. } in &on_card.lacking {
        document.on_page().item(&format!("{:?}, {}", job.figure, job.label), format!("missing: {why}"));
    }
    let relaxations = relaxations(measured);
    if !relaxations.is_empty() {
        document.section("Relaxations, queues of 1024 entries (the paper's Table II)");
        let rows = Rows::of(relaxations)
            .column("", |(run, ..)| {
                format!("{}{}", run.algorithm.name(), if run.compacts { "" } else { ", none unexpected" })
            })
            .column("wildcards", |(_, wildcards, ..)| (*wildcards).to_owned())
            .column("order", |(_, _, order, _)| (*order).to_owned())
            .column("million matches/s", |(.., rate)| millions(*rate))
            .column("published, GTX 1080", |(run, ..)| {
                let published = PUBLISHED.iter().find(|of| of.algorithm() == Some(run.algorithm));
                let about = if run.compacts { "below" } else { "about" };
                published.map_or_else(String::new, |of| format!("{about} {}", millions(of.rate)))
            });
        document.rows(rows);
    }
    document
}

fn described(card: &Description) -> String {
    format!(
        "{}, {} multiprocessors of up to {} MHz, memory of up to {} MHz, CUDA {}.{}",
        card.name,
        card.multiprocessors,
        card.clock_khz / 1000,
        card.memory_clock_khz / 1000,
        card.driver_version / 1000,
        card.driver_version % 1000 / 10
    )
}

/// Table II of the paper next to Matchpoint's order, if every message matches. Each run, its wildcards, its order,
/// and matches per second.
fn relaxations(measured: &[(&Job, Measured)]) -> Vec<(Run, &'static str, &'static str, f64)> {
    let rows = [
        (Algorithm::Matrix, "all", "yes"),
        (Algorithm::Partitioned, "any tag", "yes"),
        (Algorithm::Hash, "none", "no"),
        (Algorithm::Ordered, "all", "yes"),
    ];
    let rate = |algorithm: Algorithm, compacts: bool| {
        measured.iter().find_map(|(job, measured)| match (&job.what, measured) {
            (Subject::Stream(run), Measured::Rate(rate)) => {
                let is_so = (run.algorithm, run.compacts) == (algorithm, compacts);
                let is_whole = job.figure == Figure::Unexpected && run.mix.matched_percent == 100;
                (is_so && is_whole).then_some((*run, rate.median))
            }
            _ => None,
        })
    };
    let rows = rows.into_iter().flat_map(|row| [true, false].map(|compacts| (row, compacts)));
    rows.filter_map(|((algorithm, wildcards, order), compacts)| {
        let (run, rate) = rate(algorithm, compacts)?;
        Some((run, wildcards, order, rate))
    })
    .collect()
}

fn millions(rate: f64) -> String {
    digits(rate / 1e6)
}

fn of_passes(rate: &Rate, passes: usize) -> String {
    match passes {
        0 | 1 => digits(rate.median / 1e6),
        _ => with_spread([rate.median, rate.least, rate.most].map(|rate| rate / 1e6)),
    }
}

/// A recorded job has measured shares instead of requested ones.
fn of_job(job: &Job) -> Value {
    let of = |algorithm: &str, blocks: Option<u32>, compacts: bool, mix: Mix| {
        json!({
            "algorithm": algorithm,
            "blocks": blocks,
            "entries": mix.entries,
            "queues": mix.queues,
            "envelopes": mix.envelopes,
            "posted": posted(mix.posted),
            "matched_percent": f64::from(mix.matched_percent),
            "wildcard_percent": 2.0 * mix.wildcard_percent,
            "compacted": compacts,
        })
    };
    match &job.what {
        Subject::Stream(run) => of(run.algorithm.name(), Some(run.blocks), run.compacts, run.mix),
        Subject::WholeCard(mix) => of("gpu_ordered", None, false, *mix),
        Subject::Fed(entries) => of("gpu_ordered", Some(1), true, Mix::of(*entries)),
        Subject::Recorded { algorithm, entries, batches } => {
            let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
            json!({
                "algorithm": algorithm.name(),
                "blocks": 1,
                "entries": entries,
                "queues": 1,
                "envelopes": batches.distinct(),
                "posted": "recorded",
                "matched_percent": percent(batches.matches, batches.messages()),
                "wildcard_percent": percent(batches.wildcards(), batches.receives()),
                "compacted": false,
            })
        }
    }
}

fn posted(posted: PostedOrder) -> &'static str {
    match posted {
        PostedOrder::InOrder => "in_order",
        PostedOrder::AtRandom => "at_random",
        PostedOrder::Reversed => "reversed",
    }
}

const COLUMNS: &str = "figure label algorithm blocks entries queues envelopes posted matched_percent wildcard_percent compacted \
                       rate rate_least rate_most by_host by_card latency_ns latency_p99_ns hybrid \
                       passes by_host_least by_host_most by_card_least by_card_most hybrid_least hybrid_most missing";

/// Rates are matches per second.
pub fn csv(on_card: &OnCard<'_>, out: &mut dyn Write) -> io::Result<()> {
    let columns: Vec<_> = COLUMNS.split(' ').map(|name| (name.to_owned(), format!("/{name}"))).collect();
    let cell = |name: &str, value: &Value| match value {
        Value::Null if name == "blocks" => "all".to_owned(),
        Value::Number(share) if name.ends_with("_percent") => share.as_f64().unwrap_or(0.0).to_string(),
        value => schema::cell(value, 0),
    };
    schema::members(&columns, results(on_card), cell, out)
}

pub fn json(on_card: &OnCard<'_>, load: Option<f64>) -> Value {
    let OnCard { card, lacking, .. } = on_card;
    let results: Vec<Value> = results(on_card).collect();
    let published: serde_json::Map<String, Value> = Figure::ALL
        .iter()
        .filter_map(|figure| Some((format!("{figure:?}"), json!(figure.published()?))))
        .collect();
    schema::measured(
        load,
        json!({
            "card": {
                "name": card.name,
                "compute_capability": format!("{}.{}", card.compute_capability.0, card.compute_capability.1),
                "multiprocessors": card.multiprocessors,
                "clock_khz": card.clock_khz,
                "memory_clock_khz": card.memory_clock_khz,
                "l2_bytes": card.l2_bytes,
                "memory_bytes": card.memory_bytes,
                "driver_version": card.driver_version,
            },
            "published_gtx_1080": published,
            "measurements": results.len(),
            "missing": lacking.len(),
            "results": results,
        }),
    )
}

fn results(on_card: &OnCard<'_>) -> impl Iterator<Item = Value> {
    let measured = on_card.measured.iter().map(|(job, measured)| result(job, Some(measured), None));
    measured.chain(on_card.lacking.iter().map(|one| result(one.job, None, Some(&one.why))))
}

fn result(job: &Job, measured: Option<&Measured>, missing: Option<&str>) -> Value {
    let mut value = of_job(job);
    value["figure"] = json!(format!("{:?}", job.figure));
    value["label"] = json!(job.label);
    value["missing"] = json!(missing);
    match measured {
        Some(Measured::Rate(rate)) => {
            value["rate"] = json!(rate.median);
            value["rate_least"] = json!(rate.least);
            value["rate_most"] = json!(rate.most);
            value["matches"] = json!(rate.matches);
        }
        Some(Measured::Fed(fed)) => {
            value["passes"] = json!(fed.passes);
            for (key, rate) in
                [("by_host", &fed.by_host), ("by_card", &fed.by_card), ("hybrid", &fed.engine.1)]
            {
                value[key] = json!(rate.median);
                value[format!("{key}_least")] = json!(rate.least);
                value[format!("{key}_most")] = json!(rate.most);
            }
            value["matches"] = json!(fed.by_host.matches);
            value["latency_ns"] = json!(fed.latency_ns.0);
            value["latency_p99_ns"] = json!(fed.latency_ns.1);
        }
        None => value["rate"] = Value::Null,
    }
    value
}
