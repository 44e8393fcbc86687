//! What `matchpoint bench --gpu` measured: for readers, for spreadsheets, for machines.

mod read;

use std::io::{self, Write};

use csv::Writer;
use matchpoint_gpu::card::Description;
use matchpoint_gpu::figures::{Figure, Job, Measured, PUBLISHED, What};
use matchpoint_gpu::measure::{Fed, Mix, Posted, Rate};
use matchpoint_gpu::{Algorithm, Recorded};
use serde_json::{Value, json};

use super::json::SCHEMA;
use crate::format::digits;
use crate::report::terminal::layout::Page;

pub use self::read::{OnCard, read};

/// The whole text, on a terminal of so many columns.
pub fn terminal(card: &Description, measured: &[(&Job, Measured)], width: usize) -> String {
    let mut page = Page::of_width(width);
    page.item("Card", &described(card));
    let is_measured = |figure: &Figure| measured.iter().any(|(job, _)| job.figure == *figure);
    for figure in Figure::ALL.into_iter().filter(is_measured) {
        page.heading(figure.title());
        if let Some(published) = figure.published() {
            page.item(
                "Published",
                &format!("{} million matches per second, GeForce GTX 1080", digits(published / 1e6)),
            );
        }
        let here = || measured.iter().filter(|(job, _)| job.figure == figure);
        if figure == Figure::Fed {
            let header = ["", "by the host", "by the card", "latency, µs (99 %)", "hybrid"];
            let rows: Vec<Vec<String>> =
                here().filter_map(|(job, measured)| Some(fed_row(job, fed(measured)?))).collect();
            page.wide_table(&header, &rows);
        } else {
            let header = ["", "million matches/s", "slowest–fastest launch"];
            let rows: Vec<Vec<String>> =
                here().filter_map(|(job, measured)| Some(rate_row(job, rate(measured)?))).collect();
            page.wide_table(&header, &rows);
        }
    }
    let table = relaxations(measured);
    if let Some((header, rows)) = table.split_first().filter(|(_, rows)| !rows.is_empty()) {
        page.heading("Relaxations, queues of 1024 entries (the paper's Table II)");
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        page.wide_table(&header, rows);
    }
    page.into_text()
}

/// A card in words.
pub(super) fn described(card: &Description) -> String {
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

/// The paper's Table II with ours beside it, its heading first: what each relaxation is worth where everything matches. Where
/// messages may be unexpected, what is left has to be put together after each batch.
pub(super) fn relaxations(measured: &[(&Job, Measured)]) -> Vec<Vec<String>> {
    const HEADER: [&str; 5] = ["", "wildcards", "order", "million matches/s", "published, GTX 1080"];
    let row = |algorithm: Algorithm, wildcards: &str, order: &str, compacts: bool| {
        let (_, measured) = measured.iter().find(|(job, _)| match job.what {
            What::Stream(run) => {
                let is_so = (run.algorithm, run.compacts) == (algorithm, compacts);
                job.figure == Figure::Unexpected && is_so && run.mix.matched_percent == 100
            }
            _ => false,
        })?;
        let unexpected = if compacts { "" } else { ", none unexpected" };
        let published = PUBLISHED.iter().find(|published| published.algorithm() == Some(algorithm));
        let about = if compacts { "below" } else { "about" };
        let words = [
            format!("{}{unexpected}", algorithm.name()),
            wildcards.to_owned(),
            order.to_owned(),
            digits(rate(measured)?.median / 1e6),
            published
                .map_or_else(String::new, |published| format!("{about} {}", digits(published.rate / 1e6))),
        ];
        Some(words.to_vec())
    };
    let rows = [
        (Algorithm::Matrix, "all", "yes"),
        (Algorithm::Partitioned, "any tag", "yes"),
        (Algorithm::Hash, "none", "no"),
        (Algorithm::Ordered, "all", "yes"),
    ];
    let rows = rows.into_iter().flat_map(|(algorithm, wildcards, order)| {
        [true, false].map(|compacts| row(algorithm, wildcards, order, compacts))
    });
    [HEADER.map(str::to_owned).to_vec()].into_iter().chain(rows.flatten()).collect()
}

fn rate(measured: &Measured) -> Option<&Rate> {
    if let Measured::Rate(rate) = measured { Some(rate) } else { None }
}

fn fed(measured: &Measured) -> Option<&Fed> {
    if let Measured::Fed(fed) = measured { Some(fed) } else { None }
}

fn rate_row(job: &Job, rate: &Rate) -> Vec<String> {
    let millions = |rate: f64| digits(rate / 1e6);
    vec![
        job.label.clone(),
        millions(rate.median),
        format!("{}–{}", millions(rate.least), millions(rate.most)),
    ]
}

fn fed_row(job: &Job, fed: &Fed) -> Vec<String> {
    let microseconds = |nanoseconds: f64| digits(nanoseconds / 1e3);
    vec![
        job.label.clone(),
        digits(fed.by_host / 1e6),
        digits(fed.by_card / 1e6),
        format!("{} ({})", microseconds(fed.latency_ns.0), microseconds(fed.latency_ns.1)),
        digits(fed.engine.1 / 1e6),
    ]
}

/// What is measured, in columns. What an application did has shares of its own in place of those that were asked for.
struct Columns {
    algorithm: &'static str,
    blocks: Option<u32>,
    entries: usize,
    queues: usize,
    envelopes: usize,
    posted: &'static str,
    matched_percent: f64,
    wildcard_percent: f64,
    compacts: bool,
}

impl Columns {
    fn of(algorithm: &'static str, blocks: Option<u32>, compacts: bool, mix: Mix) -> Columns {
        Columns {
            algorithm,
            blocks,
            entries: mix.entries,
            queues: mix.queues,
            envelopes: mix.envelopes,
            posted: posted(mix.posted),
            matched_percent: f64::from(mix.matched_percent),
            wildcard_percent: 2.0 * mix.wildcard_percent,
            compacts,
        }
    }

    fn of_recorded(algorithm: Algorithm, entries: usize, batches: &Recorded) -> Columns {
        let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        Columns {
            algorithm: algorithm.name(),
            blocks: Some(1),
            entries,
            queues: 1,
            envelopes: batches.distinct(),
            posted: "recorded",
            matched_percent: percent(batches.matches, batches.messages()),
            wildcard_percent: percent(batches.wildcards(), batches.receives()),
            compacts: false,
        }
    }
}

fn columns(job: &Job) -> Columns {
    match &job.what {
        What::Stream(run) => Columns::of(run.algorithm.name(), Some(run.blocks), run.compacts, run.mix),
        What::WholeCard(mix) => Columns::of("gpu_ordered", None, false, *mix),
        What::Fed(entries) => Columns::of("gpu_ordered", Some(1), true, Mix::of(*entries)),
        What::Recorded { algorithm, entries, batches } => Columns::of_recorded(*algorithm, *entries, batches),
    }
}

fn posted(posted: Posted) -> &'static str {
    match posted {
        Posted::InOrder => "in_order",
        Posted::AtRandom => "at_random",
        Posted::Reversed => "reversed",
    }
}

/// Writes a row for each measurement; rates are matches per second.
///
/// # Errors
/// Those of `out`.
pub fn csv(measured: &[(&Job, Measured)], out: &mut dyn Write) -> io::Result<()> {
    let mut table = Writer::from_writer(out);
    table.write_record([
        "figure",
        "label",
        "algorithm",
        "blocks",
        "entries",
        "queues",
        "envelopes",
        "posted",
        "matched_percent",
        "wildcard_percent",
        "compacted",
        "rate",
        "rate_least",
        "rate_most",
        "by_host",
        "by_card",
        "latency_ns",
        "latency_p99_ns",
        "hybrid",
    ])?;
    for (job, measured) in measured {
        let of = columns(job);
        let mut row = vec![
            format!("{:?}", job.figure),
            job.label.clone(),
            of.algorithm.to_owned(),
            of.blocks.map_or_else(|| "all".to_owned(), |blocks| blocks.to_string()),
            of.entries.to_string(),
            of.queues.to_string(),
            of.envelopes.to_string(),
            of.posted.to_owned(),
            of.matched_percent.to_string(),
            of.wildcard_percent.to_string(),
            of.compacts.to_string(),
        ];
        let figures = match measured {
            Measured::Rate(rate) => {
                [Some(rate.median), Some(rate.least), Some(rate.most), None, None, None, None, None]
            }
            Measured::Fed(fed) => {
                let (median, p99) = fed.latency_ns;
                let fed = [fed.by_host, fed.by_card, median, p99, fed.engine.1].map(Some);
                [None, None, None, fed[0], fed[1], fed[2], fed[3], fed[4]]
            }
        };
        row.extend(figures.map(|figure| figure.map(|figure| format!("{figure:.0}")).unwrap_or_default()));
        table.write_record(row)?;
    }
    table.flush()
}

/// Writes all of it as JSON.
///
/// # Errors
/// Those of `out`.
pub fn json(
    card: &Description,
    measured: &[(&Job, Measured)],
    load: Option<f64>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let published: serde_json::Map<String, Value> = Figure::ALL
        .iter()
        .filter_map(|figure| Some((format!("{figure:?}"), json!(figure.published()?))))
        .collect();
    let document = json!({
        "schema": SCHEMA,
        "matchpoint": env!("CARGO_PKG_VERSION"),
        "host": matchpoint_replay::host::host(),
        "load": load,
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
        "results": measured.iter().map(|(job, measured)| result(job, measured)).collect::<Vec<_>>(),
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n")
}

fn result(job: &Job, measured: &Measured) -> Value {
    let of = columns(job);
    let mut value = json!({
        "figure": format!("{:?}", job.figure),
        "label": job.label,
        "algorithm": of.algorithm,
        "blocks": of.blocks,
        "entries": of.entries,
        "queues": of.queues,
        "envelopes": of.envelopes,
        "posted": of.posted,
        "matched_percent": of.matched_percent,
        "wildcard_percent": of.wildcard_percent,
        "compacted": of.compacts,
    });
    match measured {
        Measured::Rate(rate) => {
            value["rate"] = json!(rate.median);
            value["rate_least"] = json!(rate.least);
            value["rate_most"] = json!(rate.most);
            value["matches"] = json!(rate.matches);
        }
        Measured::Fed(fed) => {
            value["by_host"] = json!(fed.by_host);
            value["by_card"] = json!(fed.by_card);
            value["latency_ns"] = json!(fed.latency_ns.0);
            value["latency_p99_ns"] = json!(fed.latency_ns.1);
            value["hybrid"] = json!(fed.engine.1);
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use matchpoint::event::script;
    use matchpoint_gpu::figures::{jobs, recorded_jobs};

    use super::*;

    fn card() -> Description {
        Description {
            name: "A card".to_owned(),
            compute_capability: (9, 0),
            multiprocessors: 132,
            clock_khz: 1_980_000,
            memory_clock_khz: 3_201_000,
            l2_bytes: 1 << 25,
            memory_bytes: 1 << 36,
            driver_version: 13_010,
        }
    }

    /// Every job, as if it had been measured.
    fn measured(jobs: &[Job]) -> Vec<(&Job, Measured)> {
        let of = |job: &Job| match job.what {
            What::Fed(entries) => Measured::Fed(Fed {
                entries,
                by_host: 1e6,
                by_card: 2e6,
                latency_ns: (13_000.0, 15_000.0),
                engine: ("hybrid".to_owned(), 3e7),
            }),
            _ => Measured::Rate(Rate { median: 4.5e8, least: 4e8, most: 5e8, matches: 1024 }),
        };
        jobs.iter().map(|job| (job, of(job))).collect()
    }

    #[test]
    fn every_measurement_is_in_every_form() {
        let mut jobs = jobs();
        let events = script::parse("post r1 0/*/1\npost r2 0/3/1\narrive m1 0/3/1").unwrap();
        jobs.extend(recorded_jobs("trace:x", &[events]).unwrap());
        let measured = measured(&jobs);
        let page = terminal(&card(), &measured, 100);
        assert!(page.contains("A card, 132 multiprocessors of up to 1980 MHz"), "{page}");
        assert!(page.contains("CUDA 13.1"), "{page}");
        let mut table = Vec::new();
        csv(&measured, &mut table).unwrap();
        let mut rows = csv::Reader::from_reader(&table[..]);
        let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
        let mut document = Vec::new();
        json(&card(), &measured, Some(0.25), &mut document).unwrap();
        let document: Value = serde_json::from_slice(&document).unwrap();
        let results = document["results"].as_array().unwrap();
        assert_eq!((rows.len(), results.len()), (jobs.len(), jobs.len()));
        for ((job, row), result) in jobs.iter().zip(&rows).zip(results) {
            assert_eq!((&row[1], result["label"].as_str()), (&*job.label, Some(&*job.label)));
            assert!(page.contains(&job.label), "{}", job.label);
            if job.figure == Figure::Recorded {
                assert_eq!((&row[7], &row[8], &row[9]), ("recorded", "100", "50"));
            }
            let is_fed = job.figure == Figure::Fed;
            assert_eq!((row[11].is_empty(), row[14].is_empty()), (is_fed, !is_fed), "{row:?}");
        }
    }

    #[test]
    fn what_was_written_is_read_again() {
        let jobs = jobs();
        let before = measured(&jobs);
        let mut document = Vec::new();
        json(&card(), &before, Some(0.25), &mut document).unwrap();
        let mut document: Value = serde_json::from_slice(&document).unwrap();
        assert_eq!(read(&document, &jobs), Ok((card(), before)));
        document["results"] = json!([]);
        assert_eq!(read(&document, &jobs), Err("it has none of the measurements".to_owned()));
    }

    /// One that is damaged is named, whether it is drawn or not.
    #[test]
    fn a_damaged_result_is_named() {
        let jobs = jobs();
        let mut document = Vec::new();
        json(&card(), &measured(&jobs), Some(0.25), &mut document).unwrap();
        let document: Value = serde_json::from_slice(&document).unwrap();
        let fed = jobs.iter().position(|job| job.figure == Figure::Fed).unwrap();
        let number = fed + 1;
        for (at, key, value, says) in [
            (
                1,
                "rate",
                json!("fast"),
                "number 2 of its `results` (Matrix, `128 entries`) has \"fast\" in place of a figure as `rate`",
            ),
            (1, "rate_least", Value::Null, "has nothing in place of a figure as `rate_least`"),
            (1, "matches", json!(1.5), "has 1.5 in place of a figure as `matches`"),
            (1, "rate_most", json!(-1.0), "has -1.0 in place of a figure as `rate_most`"),
            (0, "label", json!(7), "number 1 of its `results` has no text `label`"),
            (
                fed,
                "hybrid",
                json!([]),
                &format!("number {number} of its `results` (Fed, `batches of 1`) has [] in"),
            ),
            (1, "label", document["results"][0]["label"].clone(), "twice"),
        ] {
            let mut damaged = document.clone();
            damaged["results"][at][key] = value;
            let error = read(&damaged, &jobs).unwrap_err();
            assert!(error.contains(says), "{error}");
            assert!(read(&damaged, &jobs[..1]).is_err(), "{key}");
        }
    }
}
