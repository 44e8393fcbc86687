//! Reasons for an inconclusive verdict.

use crate::Measurements;
use crate::analysis::derived::engine_label;
use crate::analysis::verdict::{Answer, NEGLIGIBLE, Verdict, WORTHWHILE};
use crate::format;

/// Part of the ranks, and of the calls, that the answer *No* requires in the trace.
const SEEN: f64 = 0.5;

/// Part of the run time outside `MPI_Init` and `MPI_Finalize`, below which a longer run may give another answer.
const OWN: f64 = 0.5;

/// A sentence with a reason for *Cannot tell*, and a sentence with an action.
#[derive(Clone, PartialEq, Debug)]
pub struct Inconclusive {
    pub reason: String,
    pub action: String,
}

impl Inconclusive {
    fn new(reason: String, action: impl Into<String>) -> Self {
        Inconclusive { reason, action: action.into() }
    }
}

/// How the durations of the traced calls affect the share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallTimes {
    /// The durations are unknown, so both ends of the range decide.
    Unknown,
    /// The durations narrow the range, but do not decide.
    Open,
    /// The durations determine the share.
    Decide,
}

pub fn inconclusive(
    measurements: &Measurements,
    verdict: &Verdict,
    call_times: CallTimes,
) -> Option<Inconclusive> {
    full(measurements)
        .or_else(|| unseen(measurements, verdict))
        .or_else(|| setup(verdict, call_times))
        .or_else(|| range(verdict, call_times))
}

fn full(measurements: &Measurements) -> Option<Inconclusive> {
    let engine = measurements.engines.first().filter(|engine| engine.full)?;
    Some(Inconclusive::new(
        format!("the table of {} was full, so only a part of the replay was timed.", engine_label(engine)),
        "Use a larger table, or another engine.",
    ))
}

fn range(verdict: &Verdict, call_times: CallTimes) -> Option<Inconclusive> {
    let threshold = between(verdict.low, verdict.high)?;
    let decides = match call_times {
        CallTimes::Decide => return None,
        CallTimes::Open => "The times of the traced calls do not decide",
        CallTimes::Unknown => "The memory that the program uses between its calls decides",
    };
    Some(Inconclusive::new(
        format!("{} is within the range of the share.", format::share(threshold)),
        format!(
            "{decides}: the share is near {} if caches stay warm, and near {} if they become cold.",
            format::share(verdict.low),
            format::share(verdict.high)
        ),
    ))
}

fn setup(verdict: &Verdict, call_times: CallTimes) -> Option<Inconclusive> {
    let (low, high) = verdict.range_without_setup;
    let share = format::share(verdict.share_without_setup);
    let range = format::share_range(low, high);
    let range = if range == share { String::new() } else { format!(" ({range})") };
    let same = match call_times {
        CallTimes::Decide => Answer::to(verdict.share_without_setup) == verdict.answer,
        _ => between(low, high).is_none() && Answer::to(low) == Answer::to(verdict.low),
    };
    (is_mostly_setup(verdict) && !same).then(|| {
        Inconclusive::new(
            format!(
                "MPI_Init and MPI_Finalize took {} of the run.",
                format::share(1.0 - verdict.share / verdict.share_without_setup)
            ),
            format!("Without MPI_Init and MPI_Finalize, the share is {share}{range}. Trace a longer run."),
        )
    })
}

pub fn is_mostly_setup(verdict: &Verdict) -> bool {
    verdict.share > 0.0 && verdict.share <= OWN * verdict.share_without_setup
}

fn unseen(measurements: &Measurements, verdict: &Verdict) -> Option<Inconclusive> {
    if verdict.answer != Answer::No {
        return None;
    }
    let trace = &measurements.trace;
    let ranks = u64::from(trace.ranks);
    let seen = ranks.saturating_sub(trace.missing.len() as u64);
    if (seen as f64) < SEEN * ranks as f64 {
        return Some(Inconclusive::new(
            format!("the trace contains {} of {}.", format::count(seen), format::counted(ranks, "rank")),
            "Trace all ranks.",
        ));
    }
    unseen_messages(measurements).or_else(|| unseen_calls(measurements, verdict))
}

/// Most messages went to ranks without a trace, where searches may be longest.
fn unseen_messages(measurements: &Measurements) -> Option<Inconclusive> {
    let arrived: u64 = measurements.ranks.iter().map(|rank| rank.messages).sum();
    let all = arrived + measurements.arrivals.lost_messages;
    (arrived as f64 / (all.max(1) as f64) < SEEN && all > 0).then(|| {
        Inconclusive::new(
            format!(
                "the trace contains the receivers of {} of {}.",
                format::count(arrived),
                format::counted(all, "message"),
            ),
            "Trace the ranks that receive most messages.",
        )
    })
}

fn unseen_calls(measurements: &Measurements, verdict: &Verdict) -> Option<Inconclusive> {
    let trace = &measurements.trace;
    let calls = trace.calls + missing_calls(measurements);
    if calls == trace.calls {
        return None;
    }
    if trace.calls as f64 >= SEEN * calls as f64 && if_all_searched(measurements, verdict) < NEGLIGIBLE {
        return None;
    }
    Some(Inconclusive::new(
        format!("the trace contains {} of {}.", format::count(trace.calls), format::counted(calls, "call")),
        if trace.calls_cut_off > 0 {
            COPY_AGAIN
        } else {
            "Use a tracer that records every receive and probe."
        },
    ))
}

pub fn early(measurements: &Measurements, rank: u32, share: f64) -> Inconclusive {
    Inconclusive::new(
        format!("the calls of rank {rank} end early, and cost {}.", format::share(share)),
        if measurements.trace.calls_cut_off > 0 { COPY_AGAIN } else { "Trace a run that ends normally." },
    )
}

const COPY_AGAIN: &str = "Copy the trace again.";

/// The first gap of an incomplete trace.
pub fn gaps(measurements: &Measurements) -> Option<Inconclusive> {
    let trace = &measurements.trace;
    let missing = trace.missing.len() as u64;
    let (absent, early) = (missing_calls(measurements), trace.ended_early.len() as u64);
    let (reason, action) = if missing > 0 {
        let ranks = format::counted(trace.ranks.into(), "rank");
        let are = if missing == 1 { "is" } else { "are" };
        (format!("{} of {ranks} {are} missing.", format::count(missing)), "Trace all ranks.")
    } else if absent > 0 {
        let calls = format::counted(trace.calls + absent, "call");
        (format!("{} of {calls} are missing.", format::count(absent)), "Trace all calls.")
    } else if early > 0 {
        let ranks = format::counted(early, "rank");
        (format!("the calls of {ranks} end early."), "Trace a run that ends normally.")
    } else {
        return None;
    };
    Some(Inconclusive::new(reason, action))
}

fn missing_calls(measurements: &Measurements) -> u64 {
    measurements.trace.calls_left_out.saturating_add(measurements.trace.calls_cut_off)
}

/// The highest share of matching, if the missing calls searched queues as the recorded calls do.
pub fn if_all_searched(measurements: &Measurements, verdict: &Verdict) -> f64 {
    let totals = &measurements.totals;
    let searches = totals.sends + totals.receives + totals.probes_found + totals.probes_missed;
    let more = missing_calls(measurements) as f64 / searches.max(1) as f64;
    (verdict.high * (1.0 + more)).min(1.0)
}

/// The first threshold between two shares.
fn between(low: f64, high: f64) -> Option<f64> {
    [NEGLIGIBLE, WORTHWHILE].into_iter().find(|threshold| low < *threshold && *threshold <= high)
}
