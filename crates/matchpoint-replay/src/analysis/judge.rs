//! The verdict: the share of the run time that matching costs, and the answer.
//!
//! The cost is the time of the first engine for the replayed operations: with warm caches (low end) and with cold
//! caches (high end). The share of a rank is its cost ÷ its recorded run time. The verdict is about the rank with the
//! largest share. Ranks that end early count only if all ranks end early. The likely cost is the geometric mean of both
//! ends. If the cost of an entry in the traced library is known, the durations of the traced calls give the likely
//! cost.
//!
//! The answer is *Cannot tell*, with a reason ([`inconclusive`]), unless both ends give the same answer or the
//! durations determine the share.

use crate::Measurements;
use crate::analysis::derived::{
    engine_label, index_of, likely_cost_ns, rank_cost_ns, shared_ns, whole_ranks,
};
use crate::analysis::inconclusive::{self, CallTimes, Inconclusive};
use crate::analysis::stand_in::{bare, searches_as};
use crate::analysis::verdict::{Answer, FASTER, NEGLIGIBLE, Other, REFERENCE, Verdict};
use crate::format;
use crate::measurements::{EngineAtRank, EngineMeasurements, RankMeasurements};

pub fn judge(measurements: &Measurements) -> Verdict {
    let Some(engine) = measurements.engines.first() else {
        return without(Answer::Unknown, "no engine was replayed.");
    };
    if measurements.totals.sends == 0 && measurements.totals.receives == 0 {
        return without_messages(measurements);
    }
    match worst(measurements, engine, whole_ranks(measurements)) {
        Some(worst) => judged(measurements, engine, &worst),
        None => without(Answer::Unknown, "the trace contains no run times."),
    }
}

fn without_messages(measurements: &Measurements) -> Verdict {
    match inconclusive::gaps(measurements) {
        Some(Inconclusive { reason, action }) => without(
            Answer::Unknown,
            &format!("the trace contains no point-to-point message, and {reason} {action}"),
        ),
        None => without(
            Answer::NoMessages,
            "the trace contains no point-to-point message, so no engine can change the run time.",
        ),
    }
}

struct Worst<'a> {
    rank: &'a RankMeasurements,
    low: f64,
    share: f64,
    high: f64,
    /// Whether the durations of calls bound most of the likely cost.
    is_bounded: bool,
}

fn worst<'a>(
    measurements: &Measurements,
    engine: &EngineMeasurements,
    ranks: impl Iterator<Item = (usize, &'a RankMeasurements)>,
) -> Option<Worst<'a>> {
    let shared_ns = shared_ns(measurements, engine);
    let ranks = ranks.filter_map(|(index, rank)| shares(rank, engine.ranks.get(index)?, shared_ns));
    // Of equal ranks, the first, which is also first in the table of the worst ranks.
    ranks.reduce(|worst, rank| if rank.share > worst.share { rank } else { worst })
}

/// The share of a rank that ends early, if its answer is not *No*.
fn early(measurements: &Measurements, engine: &EngineMeasurements) -> Option<(u32, f64)> {
    let worst = worst(measurements, engine, measurements.ranks.iter().enumerate())?;
    (Answer::to(worst.share) != Answer::No).then_some((worst.rank.rank, worst.share))
}

fn shares<'a>(rank: &'a RankMeasurements, cost: &EngineAtRank, shared_ns: [f64; 3]) -> Option<Worst<'a>> {
    let costs_ns = rank_cost_ns(rank, cost, shared_ns);
    let [warm, share, cold] = costs_ns.map(|cost_ns| cost_ns / (rank.elapsed_s * 1e9));
    // Under host load, the replay with warm caches may be slower than with cold caches.
    (warm.is_finite() && cold.is_finite()).then(|| Worst {
        rank,
        low: warm.min(cold),
        share,
        high: warm.max(cold),
        is_bounded: cost.library.is_some_and(|cost| cost.bounded_ns >= BOUNDED * cost.likely_ns),
    })
}

/// Part of the likely cost that must be in calls shorter than a search with cold caches.
const BOUNDED: f64 = 0.5;

/// Minimum distance of the share from both ends of the range, as a part of the end.
const INSIDE: f64 = 0.01;

/// Largest measured error factor of a share from the durations of calls (`scripts/test-verdict`).
const ERROR: f64 = 2.0;

fn call_times(measurements: &Measurements, worst: &Worst<'_>) -> CallTimes {
    let is_measured = measurements.library_cost.as_ref().is_some_and(|cost| cost.pairs > 0);
    if !is_measured || !worst.is_bounded {
        return CallTimes::Unknown;
    }
    let Worst { low, share, high, .. } = *worst;
    let is_inside = share > low * (1.0 + INSIDE) && share < high * (1.0 - INSIDE);
    // On shared processors, the durations of calls include waiting.
    let is_crowded = measurements.crowding.is_some_and(|crowding| crowding > 1.0);
    let answer = Answer::to(share);
    let decide = is_inside && Answer::to(share / ERROR) == answer && (!is_crowded || answer == Answer::Yes);
    if decide { CallTimes::Decide } else { CallTimes::Open }
}

fn judged(measurements: &Measurements, engine: &EngineMeasurements, worst: &Worst<'_>) -> Verdict {
    let of_replay = worst.rank.elapsed_s / measurements.replayed_s;
    let of_replay = |share: f64| if of_replay.is_finite() { (share * of_replay).min(1.0) } else { 0.0 };
    let longer = worst.rank.elapsed_s / (worst.rank.elapsed_s - worst.rank.setup_s);
    let longer = if longer.is_finite() { longer.max(1.0) } else { 1.0 };
    let without_setup = |share: f64| (share * longer).min(1.0);
    let mut verdict = Verdict {
        answer: Answer::to(worst.share),
        share: worst.share,
        low: worst.low,
        high: worst.high,
        share_of_replay: of_replay(worst.share),
        range_of_replay: (of_replay(worst.low), of_replay(worst.high)),
        share_without_setup: without_setup(worst.share),
        range_without_setup: (without_setup(worst.low), without_setup(worst.high)),
        others: others(measurements, worst),
        rank: worst.rank.rank,
        at_s: worst.rank.worst_at_s,
        headline: String::new(),
        text: String::new(),
    };
    let early = early(measurements, engine).filter(|_| verdict.answer == Answer::No);
    let inconclusive = inconclusive::inconclusive(measurements, &verdict, call_times(measurements, worst))
        .or_else(|| early.map(|(rank, share)| inconclusive::early(measurements, rank, share)));
    if inconclusive.is_some() {
        verdict.answer = Answer::Unknown;
    }
    verdict.headline = headline(worst, &verdict, inconclusive.as_ref());
    verdict.text = format!("{}{}", verdict.headline, details(measurements, engine, worst, &verdict));
    verdict
}

/// Costs of the reference engine at the worst rank, and of the cheapest engine if that engine is clearly cheaper.
fn others(measurements: &Measurements, worst: &Worst<'_>) -> Vec<Other> {
    let Some(index) = index_of(measurements, worst.rank.rank) else {
        return Vec::new();
    };
    let share = |engine: &EngineMeasurements| {
        likely_cost_ns(measurements, engine, index).map_or(0.0, |ns| ns / (worst.rank.elapsed_s * 1e9))
    };
    let sound =
        measurements.engines.iter().skip(1).filter(|engine| engine.disagreements == 0 && !engine.full);
    let others = sound.map(|engine| Other {
        name: engine.name.clone(),
        label: engine_label(engine),
        share: share(engine),
    });
    let others: Vec<Other> = others.filter(|other| other.share.is_finite() && other.share > 0.0).collect();
    let cheapest = others.iter().min_by(|a, b| a.share.total_cmp(&b.share));
    let reference = others.iter().find(|other| bare(&other.name) == REFERENCE);
    let bar = reference.map_or(worst.share, |reference| reference.share.min(worst.share));
    let cheaper = cheapest.filter(|cheapest| cheapest.share * FASTER < bar);
    reference.into_iter().chain(cheaper).cloned().collect()
}

fn headline(worst: &Worst<'_>, verdict: &Verdict, inconclusive: Option<&Inconclusive>) -> String {
    let share = format::share(verdict.share);
    let range = format::share_range(verdict.low, verdict.high);
    let range = if range == share { String::new() } else { format!(" ({range})") };
    let (reason, action) = match inconclusive {
        Some(Inconclusive { reason, action }) => (format!("{reason} Matching"), format!(" {action}")),
        None => ("matching".to_owned(), String::new()),
    };
    format!(
        "{}: {reason} costs {share}{range} of the run time at rank {}, the worst.{action}",
        verdict.answer.word(),
        worst.rank.rank,
    )
}

fn details(
    measurements: &Measurements,
    engine: &EngineMeasurements,
    worst: &Worst<'_>,
    verdict: &Verdict,
) -> String {
    format!(
        " The engine is {}{}.{}{}{}",
        engine_label(engine),
        searches_as(measurements, engine),
        other_shares(verdict),
        longest_search(worst.rank),
        caveats(measurements)
    )
}

fn other_shares(verdict: &Verdict) -> String {
    // Below a tenth of the lowest threshold, noise would decide which engine is the cheapest.
    let matters = verdict.high >= NEGLIGIBLE / 10.0;
    let is_reference = |other: &&Other| bare(&other.name) == REFERENCE;
    let named = verdict.others.iter().filter(|other| matters || is_reference(other));
    let named = named.map(|other| format!("{} with {}", format::share(other.share), other.label));
    let named: Vec<_> = named.collect();
    if named.is_empty() { String::new() } else { format!(" The share is {}.", named.join(", and ")) }
}

fn longest_search(rank: &RankMeasurements) -> String {
    if rank.worst_length == 0 {
        return " All queues are empty when searched.".to_owned();
    }
    let entries = if rank.worst_length == 1 { "entry" } else { "entries" };
    format!(
        " The longest queue at a search has {} {entries}, at {} of the replay.",
        format::count(rank.worst_length),
        format::seconds(rank.worst_at_s)
    )
}

fn caveats(measurements: &Measurements) -> String {
    let mut caveats = String::new();
    let trace = &measurements.trace;
    if let Some(missing) = format::missing_ranks(trace.missing.len(), trace.ranks) {
        caveats += &format!(" {missing}.");
    }
    if measurements.trace.calls_left_out > 0 {
        let left_out = format::counted(measurements.trace.calls_left_out, "call");
        caveats += &format!(" The tracer omitted {left_out}.");
    }
    if measurements.trace.calls_cut_off > 0 {
        let cut_off = format::counted(measurements.trace.calls_cut_off, "call");
        caveats += &format!(" The trace files lack {cut_off}.");
    }
    let early = measurements.trace.ended_early.len() as u64;
    if early > 0 {
        caveats += &format!(" The calls of {} end early.", format::counted(early, "rank"));
    }
    caveats
}

fn without(answer: Answer, text: &str) -> Verdict {
    let text = format!("{}: {text}", answer.word());
    Verdict { answer, headline: text.clone(), text, ..Verdict::default() }
}
