//! When the measurements do not tell: why, and what would decide.

use matchpoint_replay::Measurements;

use crate::derived::who;
use crate::format;
use crate::verdict::{Answer, NEGLIGIBLE, Verdict, WORTHWHILE};

/// A share of the ranks, and of the calls, that must be in the trace for a *No*: what is not there may be worse.
const SEEN: f64 = 0.5;

/// A share of the run that must be the program's own: where MPI's beginning and end have more of it, longer runs differ.
const OWN: f64 = 0.5;

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
        .or_else(|| unseen(measurements, verdict))
        .or_else(|| setup(verdict))
        .or_else(|| range(verdict))
}

/// The engine stopped in the middle.
fn full(measurements: &Measurements) -> Option<Doubt> {
    let engine = measurements.engines.first().filter(|engine| engine.full)?;
    Some(Doubt {
        why: format!("the table of {} was full, so that only part of the replay was timed.", who(engine)),
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

/// MPI's own beginning and end took half of the run or more, and of the rest the answer would be another.
fn setup(verdict: &Verdict) -> Option<Doubt> {
    let (low, high) = verdict.range_without_setup;
    let same = between(low, high).is_none() && Answer::to(low) == Answer::to(verdict.low);
    (is_mostly_setup(verdict) && !same).then(|| Doubt {
        why: format!(
            "MPI_Init and MPI_Finalize took {} of the run.",
            format::share(1.0 - verdict.share / verdict.share_without_setup)
        ),
        decides: format!(
            "Of the time between them it is {} ({}). A run that goes on for longer would decide.",
            format::share(verdict.share_without_setup),
            format::share_range(low, high)
        ),
    })
}

/// Whether `MPI_Init` and `MPI_Finalize` took half of the run time of the rank that the verdict is about, or more.
pub fn is_mostly_setup(verdict: &Verdict) -> bool {
    verdict.share > 0.0 && verdict.share <= OWN * verdict.share_without_setup
}

/// The trace shows less than half of the run, and what it does not show might cost more.
fn unseen(measurements: &Measurements, verdict: &Verdict) -> Option<Doubt> {
    if Answer::to(verdict.high) != Answer::No {
        return None;
    }
    let trace = &measurements.trace;
    let ranks = u64::from(trace.ranks);
    let seen = ranks.saturating_sub(trace.missing.len() as u64);
    if (seen as f64) < SEEN * ranks as f64 {
        return Some(Doubt {
            why: format!("the trace shows {} of {}.", format::count(seen), format::counted(ranks, "rank")),
            decides: "A trace of all ranks would decide.".to_owned(),
        });
    }
    unseen_messages(measurements).or_else(|| unseen_calls(measurements, verdict))
}

/// Most messages went to ranks that are missing: who has most to search is not in the trace.
fn unseen_messages(measurements: &Measurements) -> Option<Doubt> {
    let arrived: u64 = measurements.ranks.iter().map(|rank| rank.messages).sum();
    let all = arrived + measurements.arrivals.lost_messages;
    (arrived as f64 / (all.max(1) as f64) < SEEN && all > 0).then(|| Doubt {
        why: format!(
            "of {} the trace shows where {} {} searched for.",
            format::counted(all, "message"),
            format::count(arrived),
            if arrived == 1 { "is" } else { "are" },
        ),
        decides: "A trace of the ranks that they went to would decide.".to_owned(),
    })
}

fn unseen_calls(measurements: &Measurements, verdict: &Verdict) -> Option<Doubt> {
    let trace = &measurements.trace;
    let calls = trace.calls + calls_not_there(measurements);
    if trace.calls as f64 >= SEEN * calls as f64 && if_all_searched(measurements, verdict) < NEGLIGIBLE {
        return None;
    }
    Some(Doubt {
        why: format!("the trace shows {} of {}.", format::count(trace.calls), format::counted(calls, "call")),
        decides: if trace.calls_cut_off > 0 {
            "A whole copy of the trace would decide.".to_owned()
        } else {
            "A trace that leaves out no receives and probes would decide.".to_owned()
        },
    })
}

/// What is not in the trace, for which reason nothing can be said of what it does not show.
pub fn gaps(measurements: &Measurements) -> Option<Doubt> {
    let trace = &measurements.trace;
    let missing = trace.missing.len() as u64;
    let (left_out, early) = (calls_not_there(measurements), trace.ended_early.len() as u64);
    let (why, decides) = if missing > 0 {
        let ranks = format::counted(trace.ranks.into(), "rank");
        let are = if missing == 1 { "is" } else { "are" };
        (format!("{} of {ranks} {are} missing from it.", format::count(missing)), "A trace of all ranks")
    } else if left_out > 0 {
        let calls = format::counted(trace.calls + left_out, "call");
        (format!("it has {} of {calls}.", format::count(trace.calls)), "A trace of all calls")
    } else if early > 0 {
        let ranks = format::counted(early, "rank");
        (format!("the calls of {ranks} end early: what followed is not known."), "A trace of a run that ends")
    } else {
        return None;
    };
    Some(Doubt { why, decides: format!("{decides} would decide.") })
}

/// Calls of which the trace says that they were made, and not which they were.
fn calls_not_there(measurements: &Measurements) -> u64 {
    measurements.trace.calls_left_out.saturating_add(measurements.trace.calls_cut_off)
}

/// What matching would cost at most, had every call that the trace does not have searched a queue as those in the trace
/// do.
pub fn if_all_searched(measurements: &Measurements, verdict: &Verdict) -> f64 {
    let totals = &measurements.totals;
    let searches = totals.sends + totals.receives + totals.probes_found + totals.probes_missed;
    let more = calls_not_there(measurements) as f64 / searches.max(1) as f64;
    (verdict.high * (1.0 + more)).min(1.0)
}

/// The first threshold between two shares.
fn between(low: f64, high: f64) -> Option<f64> {
    [NEGLIGIBLE, WORTHWHILE].into_iter().find(|threshold| low < *threshold && *threshold <= high)
}
