//! Results for machines. `docs/bench.md` describes every member; members never change their meaning or disappear.

use std::io::{self, Write};

use matchpoint_bench::{Cell, Outcome, Results};
use serde_json::{Value, json};

/// Raised when a member changes its meaning.
pub const SCHEMA: u32 = 1;

/// Writes all results.
///
/// # Errors
/// Those of `out`.
pub fn write(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &document(results))?;
    out.write_all(b"\n")
}

/// The same as a value.
pub fn document(results: &Results) -> Value {
    json!({
        "schema": SCHEMA,
        "matchpoint": env!("CARGO_PKG_VERSION"),
        "host": results.host,
        "reference_ns": rounded(results.reference_ns),
        "reference_ns_min": rounded(results.reference_range_ns.0),
        "reference_ns_max": rounded(results.reference_range_ns.1),
        "engines": results.engines,
        "results": results.cells.iter().map(cell).collect::<Vec<_>>(),
    })
}

fn cell(cell: &Cell) -> Value {
    let mut value = json!({
        "workload": cell.workload,
        "n": cell.n,
        "engine": cell.engine,
        "ns_median": Value::Null,
        "ns_min": Value::Null,
        "attempts_mean": cell.attempts_mean.map(rounded),
        "bytes_peak": cell.bytes_peak,
    });
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
        Outcome::Wrong(what) => value["wrong"] = json!(what),
    }
    value
}

/// A thousandth of a nanosecond is less than anybody can measure.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
