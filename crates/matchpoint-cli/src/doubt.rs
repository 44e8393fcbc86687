//! When the measurements do not tell: why, and what would decide.

use matchpoint_replay::Measurements;

use crate::format;
use crate::verdict::{Answer, NEGLIGIBLE, SLOWER, Verdict, WORTHWHILE};

/// A share of the ranks, and of the calls, that must be in the trace for a *No*: what is not there may be worse.
const SEEN: f64 = 0.5;

/// Why there is no answer, and what would give one: a sentence each.
#[derive(Clone, PartialEq, Debug)]
pub struct Doubt {
    /// The reason.
    pub why: String,
    /// What would decide.
    pub decides: String,
}

/// What stands against the answer that the share of the recorded time would give.
pub fn doubt(measurements: &Measurements, verdict: &Verdict) -> Option<Doubt> {
    full(measurements)
        .or_else(|| waiting(measurements, verdict))
        .or_else(|| range(verdict))
        .or_else(|| unseen(measurements, verdict))
}

/// The engine stopped in the middle.
fn full(measurements: &Measurements) -> Option<Doubt> {
    let engine = measurements.engines.first().filter(|engine| engine.full)?;
    Some(Doubt {
        why: format!("the table of `{}` was full, so that only part of the replay was timed.", engine.name),
        decides: "A larger table, or another engine, would decide.".to_owned(),
    })
}

/// Between warm and cold caches lies a threshold.
fn range(verdict: &Verdict) -> Option<Doubt> {
    let threshold = between(verdict.low, verdict.high)?;
    Some(Doubt {
        why: format!("{} lies within the range of what matching costs.", format::share(threshold)),
        decides: format!(
            "It is nearer {} where caches stay warm between the calls, and nearer {} where computing empties them: how \
             much memory the program works through there decides.",
            format::share(verdict.low),
            format::share(verdict.high)
        ),
    })
}

/// The run took much longer than its replay, and of the replay's time the answer would be another.
fn waiting(measurements: &Measurements, verdict: &Verdict) -> Option<Doubt> {
    let (low, high) = verdict.range_of_replay;
    let slower = measurements.elapsed_s / measurements.replayed_s;
    let same = between(low, high).is_none() && Answer::to(low) == Answer::to(verdict.low);
    if !slower.is_finite() || slower < SLOWER || same {
        return None;
    }
    Some(Doubt {
        why: format!("the traced run took {} times as long as its replay.", format::digits(slower)),
        decides: format!(
            "Of the replay's time it is {} ({}). A trace taken with a core for each process, on the network that you \
             mean, would decide.",
            format::share(verdict.share_of_replay),
            format::share_range(low, high)
        ),
    })
}

/// The trace shows less than half of the run, and what it does not show might cost more.
fn unseen(measurements: &Measurements, verdict: &Verdict) -> Option<Doubt> {
    if Answer::to(verdict.high) != Answer::No {
        return None;
    }
    let trace = &measurements.trace;
    let seen = trace.ranks as usize - trace.missing.len().min(trace.ranks as usize);
    if (seen as f64) < SEEN * f64::from(trace.ranks) {
        return Some(Doubt {
            why: format!("the trace shows {seen} of {}.", format::counted(trace.ranks.into(), "rank")),
            decides: "A trace of all ranks would decide.".to_owned(),
        });
    }
    let calls = trace.calls + trace.calls_left_out;
    if trace.calls as f64 >= SEEN * calls as f64 && if_all_searched(measurements, verdict) < NEGLIGIBLE {
        return None;
    }
    Some(Doubt {
        why: format!("the trace shows {} of {}.", format::count(trace.calls), format::counted(calls, "call")),
        decides: "A trace that leaves out no receives and probes would decide.".to_owned(),
    })
}

/// What matching would cost at most, had every call that the tracer left out searched a queue as those in the trace do.
pub fn if_all_searched(measurements: &Measurements, verdict: &Verdict) -> f64 {
    let totals = &measurements.totals;
    let searches = totals.sends + totals.receives + totals.probes_found + totals.probes_missed;
    let more = measurements.trace.calls_left_out as f64 / searches.max(1) as f64;
    (verdict.high * (1.0 + more)).min(1.0)
}

/// The first threshold between two shares.
fn between(low: f64, high: f64) -> Option<f64> {
    [NEGLIGIBLE, WORTHWHILE].into_iter().find(|threshold| low < *threshold && *threshold <= high)
}
