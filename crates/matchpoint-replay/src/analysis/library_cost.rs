//! Search cost of the traced MPI library: attempts of the stand-in × the cost of an entry.
//!
//! The recorder measured the cost of an entry in the traced run. Other traces get typical values. `list` compares an
//! entry in 0.6 ns, and MPICH's list of request objects needs 5 ns and more on the same host. The search cost therefore
//! replaces the time of the stand-in if the cost is higher.

use crate::Measurements;
use crate::analysis::derived::{cost_ns, ratio, shared_ns, shared_part};
use crate::analysis::stand_in::{is_hashed, is_stand_in};
use crate::format;
use crate::library_cost::{Curve, TYPICAL_OF};
use crate::measurements::{EngineMeasurements, RankMeasurements};

pub fn has_library_cost(measurements: &Measurements, engine: &EngineMeasurements) -> bool {
    engine.ranks.iter().any(|rank| rank.library.is_some()) && is_stand_in(measurements, engine)
}

pub fn apply(measurements: &mut Measurements) {
    for at in 0..measurements.engines.len() {
        let applies = has_library_cost(measurements, &measurements.engines[at]);
        let shared = shared_part(measurements, measurements.engines[at].ranks.len());
        let engine = &mut measurements.engines[at];
        if !applies {
            engine.ranks.iter_mut().for_each(|rank| rank.library = None);
            continue;
        }
        for rank in &mut engine.ranks {
            let Some(cost) = &rank.library else { continue };
            rank.match_ns = rank.match_ns.max(cost.low_ns);
            rank.match_cold_ns = rank.match_cold_ns.max(cost.high_ns).max(rank.match_ns);
        }
        engine.match_ns = engine.ranks.iter().map(|rank| rank.match_ns).sum();
        engine.match_cold_ns = engine.ranks.iter().map(|rank| rank.match_cold_ns).sum();
        // The likely time is a part of the durations of calls, which include other processes on the processor.
        let shared_ns = shared * engine.match_cold_ns;
        for rank in &mut engine.ranks {
            let Some(cost) = &mut rank.library else { continue };
            cost.likely_ns = cost.likely_ns.clamp(rank.match_ns, rank.match_cold_ns.max(shared_ns));
        }
    }
}

pub fn describe(measurements: &Measurements) -> Option<String> {
    let engine = measurements.engines.iter().find(|engine| has_library_cost(measurements, engine))?;
    let cost = measurements.library_cost.as_ref()?;
    let warm = |curve: &Curve| {
        curve.warm.iter().map(|&(_, ns)| format::digits(ns.max(0.0))).collect::<Vec<_>>().join(", ")
    };
    let cold = |curve: &Curve| format::digits(curve.cold_ns.max(0.0));
    let lengths: Vec<String> =
        cost.posted.warm.iter().map(|&(length, _)| format::count(length as u64)).collect();
    let source = match cost.pairs {
        0 => format!("The trace contains no costs; these are typical of {TYPICAL_OF}"),
        pairs => format!(
            "Measured in this run, between {} of {}",
            format::counted(pairs.into(), "pair"),
            if cost.same_host { "ranks on one host" } else { "ranks on two hosts" }
        ),
    };
    Some(format!(
        "Times of `{}`: its attempts × the cost of an entry in the MPI library. {source}. Cost in queues of {} entries, in ns: \
         posted {} with warm caches, {} with cold caches; unexpected {} with warm caches, {} with cold caches. The times of the \
         traced calls decide between warm and cold.",
        engine.name,
        lengths.join(", "),
        warm(&cost.posted),
        cold(&cost.posted),
        warm(&cost.unexpected),
        cold(&cost.unexpected)
    ))
}

/// Receives in the MPI library from which overflow matching saves time: cost of an overflowed message ÷ cost of an
/// entry in the library, within the limits of `matchpoint run`. `None`: an entry costs nothing, or the cost is unknown.
pub fn overflow_limit(measurements: &Measurements) -> Option<u64> {
    let cost = measurements.library_cost.as_ref()?;
    // The typical values are not those of hash tables.
    if cost.pairs == 0 && is_hashed(measurements) {
        return None;
    }
    let (entry_ns, _) = cost.posted.entry(SEARCHED);
    if entry_ns < NOISE_NS {
        return None;
    }
    if gives_back(measurements) {
        return Some(NETWORK_LIMIT);
    }
    Some((overflow_ns(measurements) / entry_ns).clamp(LIMITS.0, LIMITS.1) as u64)
}

/// The overflow limit with which `matchpoint run` saves at least half of the matching cost of a rank.
pub fn saving_limit(measurements: &Measurements, index: usize) -> Option<u64> {
    let overflow = Overflow::at(measurements, index)?;
    (overflow.left_ns <= overflow.likely_ns / 2.0).then_some(overflow.limit)
}

/// Fraction of the matching cost of a rank that `matchpoint run` saves. `None`: the cost of an entry is unknown or
/// zero, or no queue overflows.
pub fn saving_by_run(measurements: &Measurements, index: usize) -> Option<f64> {
    let Overflow { left_ns, likely_ns, .. } = Overflow::at(measurements, index)?;
    Some((1.0 - ratio(left_ns, likely_ns)).max(0.0))
}

pub fn may_save(measurements: &Measurements, index: usize) -> bool {
    Overflow::at(measurements, index).is_some_and(|overflow| overflow.left_ns <= overflow.high_ns / 2.0)
}

struct Overflow {
    limit: u64,
    /// Remaining time: searches in the MPI library below the limit, and the engine.
    left_ns: f64,
    likely_ns: f64,
    high_ns: f64,
}

impl Overflow {
    fn at(measurements: &Measurements, index: usize) -> Option<Overflow> {
        let limit = overflow_limit(measurements)?;
        let cost = measurements.library_cost.as_ref()?;
        let first = measurements.engines.first().filter(|engine| is_stand_in(measurements, engine))?;
        let (rank, at) = (measurements.ranks.get(index)?, first.ranks.get(index)?);
        let [_, shared_likely_ns, shared_high_ns] = shared_ns(measurements, first);
        let is_unexpected_free = cost.unexpected.entry(SEARCHED).0 < NOISE_NS;
        let longest = match (is_unexpected_free, gives_back(measurements)) {
            (true, true) => 0,
            (true, false) => rank.worst_length.min(rank.posted.length_max),
            (false, true) => rank.worst_length.min(rank.unexpected.length_max),
            (false, false) => rank.worst_length,
        };
        // Every message searches the entries in the library, so the entries are in the caches.
        let left_ns = |rank: &RankMeasurements| {
            let in_library = limit.min(rank.posted.length_max) as f64;
            rank.messages as f64 * (overflow_ns(measurements) + in_library * cost.posted.entry(in_library).0)
        };
        let shared_left_ns = shared_part(measurements, first.ranks.len())
            * measurements.ranks.iter().map(left_ns).sum::<f64>();
        (longest > limit).then_some(Overflow {
            limit,
            left_ns: left_ns(rank).max(shared_left_ns),
            likely_ns: cost_ns(at).max(shared_likely_ns),
            high_ns: at.match_cold_ns.max(shared_high_ns),
        })
    }
}

/// Queue length at which `matchpoint run` measures the cost of an entry.
pub const SEARCHED: f64 = 256.0;

/// Cost of an entry in nanoseconds below which `matchpoint run` takes the entry as free.
pub const NOISE_NS: f64 = 0.2;

/// Highest cost of a message in the engine of `matchpoint run`, in nanoseconds. `MPI_Improbe` of Intel MPI is slow
/// (`docs/explanation/overflow.md`).
fn overflow_ns(measurements: &Measurements) -> f64 {
    if is_library(measurements, "Intel") { 830.0 } else { 150.0 }
}

/// The lowest and the highest limit that `matchpoint run` chooses.
pub const LIMITS: (f64, f64) = (72.0, 256.0);

/// The limit of `matchpoint run` if libfabric may carry messages.
pub const NETWORK_LIMIT: u64 = 1024;

/// Whether overflow matching returns all receives to the library before a collective operation.
fn gives_back(measurements: &Measurements) -> bool {
    match measurements.trace.transport.as_deref() {
        None | Some("" | "ob1" | "shm") => false,
        Some("ofi") => true,
        Some(_) => is_library(measurements, "Open MPI"),
    }
}

fn is_library(measurements: &Measurements, name: &str) -> bool {
    measurements.trace.library.as_ref().is_some_and(|library| library.starts_with(name))
}
