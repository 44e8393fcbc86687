//! Results for machines. `docs/run.md` describes every member; members never change their meaning or disappear.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::Run;
use super::verdict::Verdict;

/// Raised when a member changes its meaning.
pub const SCHEMA: u32 = 1;

/// Writes it.
///
/// # Errors
/// Those of `out`.
pub fn write(job: &Value, run: &Run, verdict: &Verdict, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &document(job, run, verdict))?;
    out.write_all(b"\n")
}

/// The same as a value. `job` is what was known before it ran.
pub fn document(job: &Value, run: &Run, verdict: &Verdict) -> Value {
    let unmatched =
        run.unmatched.iter().map(|(why, processes)| json!({ "why": why, "processes": processes }));
    json!({
        "schema": SCHEMA,
        "matchpoint": env!("CARGO_PKG_VERSION"),
        "job": job,
        "engine": run.engine,
        "verdict": {
            "answer": verdict.answer.name(),
            "share": verdict.share,
            "rank": verdict.rank,
            "text": verdict.text,
        },
        "processes": {
            "expected": run.expected,
            "matched": run.ranks.len(),
            "idle": run.idle,
            "unmatched": unmatched.collect::<Vec<_>>(),
            "unfinished": run.unfinished(),
        },
        "ranks": run.ranks,
    })
}
