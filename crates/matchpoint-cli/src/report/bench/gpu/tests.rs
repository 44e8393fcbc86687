//! Tests of the report of cards: every form, and reading.

use matchpoint::event::script;
use matchpoint_gpu::figures::{jobs, recorded_jobs};
use matchpoint_gpu::measure::Fed;

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

/// Every job, with invented results.
fn measured(jobs: &[Job]) -> OnCard<'_> {
    let rate = |median: f64| Rate { median, least: 0.9 * median, most: 1.1 * median, matches: 1024 };
    let of = |job: &Job| match job.what {
        Subject::Fed(entries) => Measured::Fed(Fed {
            entries,
            passes: 7,
            by_host: rate(1e6),
            by_card: rate(2e6),
            latency_ns: (13_000.0, 15_000.0),
            engine: ("hybrid".to_owned(), rate(3e7)),
        }),
        _ => Measured::Rate(rate(4.5e8)),
    };
    let measured = jobs.iter().map(|job| (job, of(job))).collect();
    OnCard { card: card(), measured, lacking: Vec::new(), others: Vec::new() }
}

fn in_part(jobs: &[Job], figure: Figure) -> OnCard<'_> {
    let mut on_card = measured(jobs);
    on_card.measured.retain(|(job, _)| job.figure != figure);
    let lacking = jobs.iter().filter(|job| job.figure == figure);
    let why = || "it fell off the bus".to_owned();
    on_card.lacking = lacking.map(|job| Lacking { job, why: why(), has_failed: true }).collect();
    on_card
}

fn written(on_card: &OnCard<'_>) -> Value {
    json(on_card, Some(0.25))
}

fn table(on_card: &OnCard<'_>) -> Vec<csv::StringRecord> {
    let mut table = Vec::new();
    csv(on_card, &mut table).unwrap();
    csv::Reader::from_reader(&table[..]).records().map(Result::unwrap).collect()
}

#[test]
fn every_measurement_is_in_every_form() {
    let mut jobs = jobs();
    let events = script::parse("post r1 0/*/1\npost r2 0/3/1\narrive m1 0/3/1").unwrap();
    jobs.extend(recorded_jobs("trace:x", &[events]).unwrap());
    let on_card = measured(&jobs);
    let page = document(&on_card, "").text(100);
    assert!(page.contains("A card, 132 multiprocessors of up to 1980 MHz"), "{page}");
    assert!(page.contains("CUDA 13.1") && page.contains("1.00 (0.900–1.10)"), "{page}");
    assert!(!page.contains("Incomplete") && !page.contains("in part"), "{page}");
    let (rows, document) = (table(&on_card), written(&on_card));
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
        assert_eq!((row[20].is_empty(), &row[26], &result["missing"]), (!is_fed, "", &Value::Null));
    }
}

#[test]
fn missing_measurements_are_in_every_form() {
    let jobs = jobs();
    for figure in [Figure::Hash, Figure::Fed] {
        let on_card = in_part(&jobs, figure);
        let count = on_card.lacking.len();
        let missing = format!("{count} of {} measurements are missing ({figure:?} {count})", jobs.len());
        let said = on_card.missing().unwrap();
        assert!(said.starts_with(&missing) && said.ends_with(": it fell off the bus"), "{said}");
        let page = document(&on_card, "").text(1000);
        assert!(page.contains(&missing), "{page}");
        let (rows, document) = (table(&on_card), written(&on_card));
        assert_eq!((rows.len(), &document["measurements"]), (jobs.len(), &json!(jobs.len())));
        assert_eq!(document["missing"], count);
        let why = "it fell off the bus";
        let is_empty = |row: &&csv::StringRecord| row.iter().skip(11).take(15).all(str::is_empty);
        assert_eq!(rows.iter().filter(|row| &row[26] == why).filter(is_empty).count(), count);
        let of = |result: &&Value| result["missing"] == why && result["rate"].is_null();
        assert_eq!(document["results"].as_array().unwrap().iter().filter(of).count(), count);
        assert_eq!(read(&document, &jobs), Ok(on_card));
    }
}

#[test]
fn gpu_json_is_read_again() {
    let jobs = jobs();
    let before = measured(&jobs);
    let mut document = written(&before);
    assert_eq!(read(&document, &jobs), Ok(before));
    document["results"].as_array_mut().unwrap().truncate(100);
    let error = read(&document, &jobs).unwrap_err();
    assert_eq!(error, format!("100 of {} results", jobs.len()));
    document.as_object_mut().unwrap().remove("measurements");
    let on_card = read(&document, &jobs).unwrap();
    assert_eq!((on_card.measured.len(), on_card.lacking.len()), (100, jobs.len() - 100));
    assert!(!on_card.has_failed() && on_card.missing().unwrap().ends_with("not in this result"));
    let on_card = read(&document, &jobs[..10]).unwrap();
    assert_eq!((on_card.others.len(), on_card.missing()), (90, None));
    let error = read(&document, &jobs[100..]).unwrap_err();
    assert!(error.contains("100 others, such as Matrix, `64 entries`"), "{error}");
    document["results"] = json!([]);
    assert_eq!(read(&document, &jobs), Err("no measurements".to_owned()));
}

#[test]
fn single_pass_rates_are_named() {
    let jobs = jobs();
    let mut document = written(&measured(&jobs));
    let results = document["results"].as_array_mut().unwrap();
    let fed = results.iter_mut().find(|result| result["figure"] == "Fed").unwrap().as_object_mut().unwrap();
    for key in ["passes", "by_host_least", "by_host_most", "by_card_least", "hybrid_most", "matches"] {
        fed.remove(key).unwrap();
    }
    let page = super::document(&read(&document, &jobs).unwrap(), "").text(100);
    let row = page.lines().find(|line| line.starts_with("batches of 1 ")).unwrap();
    assert!(row.contains("1.00") && !row.contains("–"), "{row}");
}

/// Each block has a multiprocessor, unlike in the paper, so labels have the number of blocks.
#[test]
fn one_multiprocessor_has_one_block() {
    for job in jobs() {
        let Subject::Stream(run) = job.what else { continue };
        let words = format!(", {} multiprocessors", run.blocks);
        assert_eq!(job.label.contains("multiprocessor"), run.blocks != 1, "{}", job.label);
        assert!(run.blocks == 1 || job.label.ends_with(&words), "{}", job.label);
        assert_eq!((job.fits(run.blocks), job.fits(run.blocks - 1)), (true, run.blocks == 1));
    }
    for figure in [Figure::Partitioned, Figure::Hash] {
        assert!(figure.title().contains("one block to a multiprocessor"), "{}", figure.title());
    }
}

#[test]
fn damaged_result_is_named() {
    let jobs = jobs();
    let document = written(&measured(&jobs));
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
        (1, "label", document["results"][0]["label"].clone(), "duplicate"),
    ] {
        let mut damaged = document.clone();
        damaged["results"][at][key] = value;
        let error = read(&damaged, &jobs).unwrap_err();
        assert!(error.contains(says), "{error}");
        assert!(read(&damaged, &jobs[..1]).is_err(), "{key}");
    }
}
