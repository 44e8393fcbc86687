//! The run report as JSON. `docs/reference/run.md` describes every member; members never change or disappear.

use serde_json::{Value, json};

use super::Run;
use super::verdict::Verdict;
use crate::report::schema::headed;

pub fn document(job: &Value, run: &Run, verdict: &Verdict) -> Value {
    let unmatched =
        run.unmatched.iter().map(|(why, processes)| json!({ "why": why, "processes": processes }));
    headed(json!({
        "job": job,
        "engine": run.engine,
        "replaced": run.replaced,
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
    }))
}
