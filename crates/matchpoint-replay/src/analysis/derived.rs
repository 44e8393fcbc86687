//! Values of several reports, derived from the measurements.

use matchpoint_trace::{Class, Function};

use crate::Measurements;
use crate::format::at_ranks;
use crate::measurements::{EngineAtRank, EngineMeasurements, RankMeasurements, Totals};

/// Bits of an envelope that current network cards compare.
pub const HEADER_BITS: u32 = 64;

/// The engine that matched: the engine, or its substitute if the substitute matched at all ranks.
pub fn matched_by(engine: &EngineMeasurements) -> &str {
    let everywhere = engine.substitute.as_ref().filter(|of| of.ranks == of.of_ranks);
    everywhere.map_or(&engine.name, |of| &of.name)
}

/// The name of an engine and its substitute, for a sentence.
pub fn engine_label(engine: &EngineMeasurements) -> String {
    match &engine.substitute {
        None => format!("`{}`", engine.name),
        Some(of) if of.ranks == of.of_ranks => format!("`{}` (instead of `{}`)", of.name, engine.name),
        Some(of) => {
            format!("`{}` (`{}` instead{})", engine.name, of.name, at_ranks(of.ranks, of.of_ranks))
        }
    }
}

pub fn calls_of(measurements: &Measurements, class: Class) -> u64 {
    measurements.calls.iter().filter(|(function, _)| function.class() == class).map(|(_, calls)| calls).sum()
}

pub fn calls_to(measurements: &Measurements, function: Function) -> u64 {
    measurements.calls.get(&function).copied().unwrap_or(0)
}

/// Part ÷ whole; 0 if the whole is 0.
pub fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

pub fn late(totals: &Totals) -> u64 {
    totals.late_by_function.values().sum()
}

pub fn late_share(totals: &Totals) -> f64 {
    ratio(late(totals) as f64, totals.receives as f64)
}

/// Any-source receives, and receives with any tag.
pub fn wildcard_receives(totals: &Totals) -> (u64, u64) {
    let wildcards = totals.wildcards;
    (wildcards.any_source + wildcards.both, wildcards.any_tag + wildcards.both)
}

pub fn peers(measurements: &Measurements) -> (f64, u32) {
    let of = |rank: &RankMeasurements| rank.peers;
    let sum: u64 = measurements.ranks.iter().map(|rank| u64::from(of(rank))).sum();
    let max = measurements.ranks.iter().map(of).max().unwrap_or(0);
    (ratio(sum as f64, measurements.ranks.len() as f64), max)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderBits {
    pub context: u32,
    pub source: u32,
    /// Bits of the largest sent tag.
    pub tag: u32,
}

impl HeaderBits {
    pub fn total(self) -> u32 {
        self.context + self.source + self.tag
    }
}

pub fn header_bits(measurements: &Measurements) -> HeaderBits {
    let context = measurements.communicators.iter().map(|of| of.context).max().unwrap_or(0);
    let tag = measurements.totals.tag_max.and_then(|tag| u32::try_from(tag).ok()).unwrap_or(0);
    HeaderBits {
        context: bits(context),
        source: bits(measurements.trace.ranks.saturating_sub(1)),
        tag: bits(tag),
    }
}

fn bits(largest: u32) -> u32 {
    u32::BITS - largest.leading_zeros()
}

/// The ranks and their indexes, without ranks that end early. If all ranks end early, all ranks.
pub fn whole_ranks(measurements: &Measurements) -> impl Iterator<Item = (usize, &RankMeasurements)> {
    let early = &measurements.trace.ended_early;
    let is_whole = |rank: &RankMeasurements| early.binary_search(&rank.rank).is_err();
    let none = !measurements.ranks.iter().any(is_whole);
    measurements.ranks.iter().enumerate().filter(move |(_, rank)| none || is_whole(rank))
}

pub fn mean_over_ranks(measurements: &Measurements, of: impl Fn(&RankMeasurements) -> f64) -> f64 {
    ratio(measurements.ranks.iter().map(of).sum(), measurements.ranks.len() as f64)
}

/// The upper median over ranks with messages.
pub fn median_over_receivers(measurements: &Measurements, of: impl Fn(&RankMeasurements) -> f64) -> f64 {
    let mut values: Vec<f64> = measurements.ranks.iter().filter(|rank| rank.messages > 0).map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

pub fn compatible_runs(totals: &Totals) -> (u64, f64) {
    let runs: u64 = totals.compatible_runs.iter().sum();
    (runs, ratio(totals.receives as f64, runs as f64))
}

/// The geometric mean of a time with warm caches and a time with cold caches, because caches act as a factor.
pub fn geometric_mean(warm_ns: f64, cold_ns: f64) -> f64 {
    (warm_ns * cold_ns).sqrt()
}

/// The likely time of an engine at one rank: from the durations of the traced calls, else between warm and cold.
pub fn cost_ns(at: &EngineAtRank) -> f64 {
    at.library.map_or(geometric_mean(at.match_ns, at.match_cold_ns), |cost| cost.likely_ns)
}

/// Part of the matching time of all `ranks` that one process waits for on a shared processor. 0 without shared
/// processors.
pub fn shared_part(measurements: &Measurements, ranks: usize) -> f64 {
    let crowding = measurements.crowding.filter(|&crowding| crowding > 1.0);
    crowding.map_or(0.0, |crowding| crowding / ranks.max(1) as f64)
}

/// Matching time on a shared processor: low end, likely, high end. A process waits while another process matches.
pub fn shared_ns(measurements: &Measurements, engine: &EngineMeasurements) -> [f64; 3] {
    let shared = shared_part(measurements, engine.ranks.len());
    // The likely time of a library is a part of the durations of calls, which already include waiting.
    let likely_ns = |at: &EngineAtRank| if at.library.is_some() { at.match_ns } else { cost_ns(at) };
    let likely_ns: f64 = engine.ranks.iter().map(likely_ns).sum();
    [engine.match_ns, likely_ns, engine.match_cold_ns].map(|ns| ns * shared)
}

/// Cost of matching of a rank: low end, likely, high end. The cost is at least the time on a shared processor
/// ([`shared_ns`]), and at most the time outside `MPI_Init` and `MPI_Finalize`, which match no message of the program.
pub fn rank_cost_ns(rank: &RankMeasurements, at: &EngineAtRank, shared_ns: [f64; 3]) -> [f64; 3] {
    let outside_s = rank.elapsed_s - rank.setup_s;
    let most_ns = if outside_s > 0.0 { outside_s } else { rank.elapsed_s } * 1e9;
    let costs_ns = [at.match_ns, cost_ns(at), at.match_cold_ns];
    std::array::from_fn(|end| costs_ns[end].max(shared_ns[end]).min(most_ns))
}

pub fn likely_cost_ns(measurements: &Measurements, engine: &EngineMeasurements, index: usize) -> Option<f64> {
    let (rank, at) = (measurements.ranks.get(index)?, engine.ranks.get(index)?);
    Some(rank_cost_ns(rank, at, shared_ns(measurements, engine))[1])
}

pub fn index_of(measurements: &Measurements, rank: u32) -> Option<usize> {
    measurements.ranks.iter().position(|of| of.rank == rank)
}

pub fn cost_at_ns(measurements: &Measurements, engine: &EngineMeasurements, rank: u32) -> f64 {
    index_of(measurements, rank).and_then(|index| engine.ranks.get(index)).map_or(0.0, cost_ns)
}

pub fn attempts(engine: &EngineMeasurements) -> (u64, f64) {
    let attempts = engine.posted.attempts + engine.unexpected.attempts;
    let searches = engine.posted.searches + engine.unexpected.searches;
    (attempts, ratio(attempts as f64, searches as f64))
}

/// A rank, the costs of an engine at the rank (low end, likely, high end), and the likely cost ÷ run time.
pub type RankCost<'a> = (&'a RankMeasurements, [f64; 3], f64);

pub fn worst_ranks<'a>(measurements: &'a Measurements, engine: &'a EngineMeasurements) -> Vec<RankCost<'a>> {
    let shared_ns = shared_ns(measurements, engine);
    let ranks = measurements.ranks.iter().zip(&engine.ranks).map(|(rank, at)| {
        let costs_ns = rank_cost_ns(rank, at, shared_ns);
        (rank, costs_ns, ratio(costs_ns[1], rank.elapsed_s * 1e9))
    });
    let mut ranks: Vec<RankCost<'_>> = ranks.collect();
    ranks.sort_by(|a, b| b.2.total_cmp(&a.2));
    ranks
}
