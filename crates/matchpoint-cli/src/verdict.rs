//! Is matching the problem? The share of the run time that it costs, and one sentence.
//!
//! The cost is that of the first engine's own operations, replayed on this host: on warm caches (the low end) and on
//! cold ones (the high end). A rank's share is its cost ÷ its recorded run time, and the verdict is about the rank
//! with the largest. Between both ends the geometric mean is taken, since what caches do to a search is a factor.

use matchpoint_replay::Measurements;
use matchpoint_replay::measurements::{EngineAtRank, EngineMeasurements, RankMeasurements};

use crate::derived::between;
use crate::format;

/// Below this share of the run time nothing that is done about matching can be noticed: run times vary by more.
pub const NEGLIGIBLE: f64 = 0.01;

/// Above this share matching is worth work: a better engine gives back what a compiler upgrade would.
pub const WORTHWHILE: f64 = 0.05;

/// Recorded run time ÷ replayed run time from which on the share of the former says little: the run was mostly
/// waiting, on shared cores or in polling, and what it waited for is not what a user would run on.
pub const SLOWER: f64 = 4.0;

/// The answer in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The measurements do not tell.
    Unknown,
    /// There is no message, so there is no matching.
    NoMessages,
    /// Under [`NEGLIGIBLE`].
    No,
    /// Between both.
    Little,
    /// Over [`WORTHWHILE`].
    Yes,
}

/// The answer with its numbers. All of them are finite.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// The answer.
    pub answer: Answer,
    /// Share of the run time of `rank` that matching costs.
    pub share: f64,
    /// The same, caches warm.
    pub low: f64,
    /// The same, caches cold.
    pub high: f64,
    /// Cost at `rank` ÷ run time of the replay, whose computing is the trace's and whose network LogGP's; at most 1.
    pub share_of_replay: f64,
    /// The rank with the largest share.
    pub rank: u32,
    /// When it searched its longest queue.
    pub at_s: f64,
    /// The answer in words.
    pub text: String,
}

/// Judges.
pub fn verdict(measurements: &Measurements) -> Verdict {
    let Some(engine) = measurements.engines.first() else {
        return without(Answer::Unknown, "Unknown: no engine was replayed.");
    };
    if measurements.totals.sends == 0 && measurements.totals.receives == 0 {
        return without(
            Answer::NoMessages,
            "No messages: the trace has no point-to-point message, so there is nothing to match \
             and no engine can change its run time.",
        );
    }
    match worst(measurements, engine) {
        Some(worst) => judged(measurements, engine, &worst),
        None => without(
            Answer::Unknown,
            "Unknown: the trace records no run time to compare the cost of matching with.",
        ),
    }
}

struct Worst<'a> {
    rank: &'a RankMeasurements,
    low: f64,
    high: f64,
}

impl Worst<'_> {
    fn share(&self) -> f64 {
        between(self.low, self.high)
    }
}

fn worst<'a>(measurements: &'a Measurements, engine: &EngineMeasurements) -> Option<Worst<'a>> {
    let ranks = measurements.ranks.iter().zip(&engine.ranks);
    ranks.filter_map(|(rank, cost)| shares(rank, cost)).max_by(|a, b| a.share().total_cmp(&b.share()))
}

fn shares<'a>(rank: &'a RankMeasurements, cost: &EngineAtRank) -> Option<Worst<'a>> {
    let share = |ns: f64| ns / (rank.elapsed_s * 1e9);
    let (warm, cold) = (share(cost.match_ns), share(cost.match_cold_ns));
    // On a noisy machine a short replay may come out slower warm than cold: the range is what counts.
    (warm.is_finite() && cold.is_finite()).then(|| Worst { rank, low: warm.min(cold), high: warm.max(cold) })
}

fn judged(measurements: &Measurements, engine: &EngineMeasurements, worst: &Worst<'_>) -> Verdict {
    let share = worst.share();
    let answer = match share {
        below if below < NEGLIGIBLE => Answer::No,
        below if below < WORTHWHILE => Answer::Little,
        _ => Answer::Yes,
    };
    Verdict {
        answer,
        share,
        low: worst.low,
        high: worst.high,
        share_of_replay: share_of_replay(measurements, worst),
        rank: worst.rank.rank,
        at_s: worst.rank.worst_at_s,
        text: text(measurements, engine, worst, answer),
    }
}

fn text(
    measurements: &Measurements,
    engine: &EngineMeasurements,
    worst: &Worst<'_>,
    answer: Answer,
) -> String {
    let opening = match answer {
        Answer::Little => "A little",
        Answer::Yes => "Yes",
        Answer::No | Answer::NoMessages | Answer::Unknown => "No",
    };
    let share = format::share(worst.share());
    let range = format::share_range(worst.low, worst.high);
    let range = if range == share { String::new() } else { format!(" ({range})") };
    format!(
        "{opening}: with engine `{}`, matching costs {share}{range} of the run time of the worst rank, {}{}.{}",
        engine.name,
        worst.rank.rank,
        longest_search(worst.rank),
        caveat(measurements, worst)
    )
}

fn longest_search(rank: &RankMeasurements) -> String {
    if rank.worst_length == 0 {
        return "; no queue that is searched there has an entry".to_owned();
    }
    let entries = if rank.worst_length == 1 { "entry" } else { "entries" };
    format!(
        "; the longest queue searched there has {} {entries}, at {}",
        format::count(rank.worst_length),
        format::seconds(rank.worst_at_s)
    )
}

fn share_of_replay(measurements: &Measurements, worst: &Worst<'_>) -> f64 {
    let share = worst.share() * worst.rank.elapsed_s / measurements.replayed_s;
    if share.is_finite() { share.min(1.0) } else { 0.0 }
}

/// What the user must know before believing the answer.
fn caveat(measurements: &Measurements, worst: &Worst<'_>) -> String {
    let mut caveats = String::new();
    let share = share_of_replay(measurements, worst);
    if measurements.elapsed_s >= SLOWER * measurements.replayed_s && share >= NEGLIGIBLE {
        let factor = measurements.elapsed_s / measurements.replayed_s;
        caveats += &format!(
            " But the traced run took {} times as long as its replay: of the replay's time it is {}.",
            format::digits(factor),
            format::share(share)
        );
    }
    if !measurements.trace.missing.is_empty() {
        let missing = measurements.trace.missing.len();
        let verb = if missing == 1 { "is" } else { "are" };
        caveats +=
            &format!(" {missing} of {} ranks {verb} missing from the trace.", measurements.trace.ranks);
    }
    if measurements.trace.calls_left_out > 0 {
        let left_out = format::counted(measurements.trace.calls_left_out, "call");
        caveats += &format!(" The tracer left out {left_out}.");
    }
    caveats
}

fn without(answer: Answer, text: &str) -> Verdict {
    let text = text.to_owned();
    Verdict { answer, share: 0.0, low: 0.0, high: 0.0, share_of_replay: 0.0, rank: 0, at_s: 0.0, text }
}
