//! Results for machines. `docs/bench.md` describes every member; members never change their meaning or disappear.

use std::io::{self, Write};

use matchpoint_bench::latency::{Ended, Latencies, Percentiles, Stage};
use matchpoint_bench::{Cell, Outcome, Results};
use serde_json::{Value, json};

/// Raised when a member changes its meaning.
pub const SCHEMA: u32 = 1;

/// Writes all results, and the load of the machine before they were measured, where it is known.
///
/// # Errors
/// Those of `out`.
pub fn write(results: &Results, load: Option<f64>) -> Value {
    serde_json::to_writer_pretty(&mut *out, &document(results, load))?;
    out.write_all(b"\n")
}

/// The same as a value.
pub fn document(results: &Results, load: Option<f64>) -> Value {
    json!({
        "cold": results.is_cold,
        "reference_ns": rounded(results.reference_ns),
        "reference_ns_min": rounded(results.reference_range_ns.0),
        "reference_ns_max": rounded(results.reference_range_ns.1),
        "floor_ns": rounded(results.floor_ns),
        "engines": results.engines,
        "results": results.cells.iter().map(cell).collect::<Vec<_>>(),
    })
}

fn cell(cell: &Cell) -> Value {
    let mut value = json!({
        "workload": cell.workload,
        "n": cell.n,
        "engine": cell.engine,
        "substitute": cell.substitute,
        "ns_median": Value::Null,
        "ns_min": Value::Null,
        "attempts_mean": cell.attempts_mean.map(rounded),
        "bytes_peak": cell.bytes_whole(),
    });
    if cell.bytes_whole().is_none() {
        value["bytes_above"] = json!(cell.bytes_peak);
    }
    match &cell.outcome {
        Outcome::Measured(figures) => {
            value["ns_median"] = json!(rounded(figures.ns_median));
            value["ns_min"] = json!(rounded(figures.ns_min));
            value["ns_p25"] = json!(rounded(figures.ns_p25));
            value["ns_p75"] = json!(rounded(figures.ns_p75));
            value["samples"] = json!(figures.samples);
            if let Some((post, arrive)) = figures.split {
                value["ns_post"] = json!(rounded(post));
                value["ns_arrive"] = json!(rounded(arrive));
            }
        }
        Outcome::TooSlow { above_ns, why } => {
            value["ns_above"] = json!(rounded(*above_ns));
            value["unfinished"] = json!(why);
        }
        Outcome::Differs(what) => value["differs"] = json!(what),
        Outcome::Full(when) => value["full"] = json!(when),
        Outcome::Wrong(what) => value["wrong"] = json!(what),
    }
    value
}

/// Writes what single calls took.
///
/// # Errors
/// Those of `out`.
pub fn write_latency(latencies: &Latencies, load: Option<f64>) -> Value {
    measured(load, json!({
        "entries": latencies.entries,
        "repetitions": latencies.repetitions,
        "clock_ns": latencies.clock_ns,
        "nothing": percentiles(&latencies.nothing),
        "engines": latencies.engines.iter().map(|engine| json!({
            "engine": engine.engine,
            "substitute": engine.substitute,
            "all": percentiles(&engine.all),
            "stages": engine.stages.iter().map(stage).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    }))
}

fn stage(stage: &Stage) -> Value {
    let mut value = percentiles(&stage.percentiles);
    value["stage"] = json!(stage.what);
    if let Some(ended) = &stage.ended {
        value["unfinished"] = json!(match ended {
            Ended::NotReached => "not reached",
            Ended::GivenUp(why) | Ended::Full(why) | Ended::Differs(why) | Ended::Wrong(why) => why,
        });
    }
    match &stage.ended {
        Some(Ended::Full(when)) => value["full"] = json!(when),
        Some(Ended::Differs(what)) => value["differs"] = json!(what),
        Some(Ended::Wrong(what)) => value["wrong"] = json!(what),
        Some(Ended::NotReached | Ended::GivenUp(_)) | None => {}
    }
    value
}

/// Of no calls there are none: 0 ns would be the best of all.
fn percentiles(of: &Percentiles) -> Value {
    let some = |ns: u32| (of.calls > 0).then_some(ns);
    json!({
        "calls": of.calls,
        "p50_ns": some(of.p50_ns),
        "p99_ns": some(of.p99_ns),
        "p9999_ns": some(of.p9999_ns),
        "max_ns": some(of.max_ns),
        "p9999_once_ns": some(of.p9999_once_ns),
    })
}

/// A thousandth of a nanosecond is less than anybody can measure.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
