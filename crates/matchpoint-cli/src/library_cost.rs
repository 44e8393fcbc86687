//! The cost of searching in the traced MPI library: entries compared by the engine that stands in for the library × the cost
//! of an entry that the recorder measured in the traced run, or of a table if the trace has none.
//!
//! Timed on this machine, a `list` compares in 0.6 ns what MPICH's list of request objects compares in 5 ns and more. So
//! the costs replace the times of the stand-in, wherever they are higher. Other engines keep their times: they are what
//! could be, not what was.

use matchpoint_replay::Measurements;
use matchpoint_replay::library_cost::{Curve, TYPICAL_OF};
use matchpoint_replay::measurements::EngineMeasurements;

use crate::format;
use crate::stand_in::is_stand_in;

/// Whether the times of an engine are those of the traced library: of the stand-in, if it is the first engine.
fn has_library_cost(measurements: &Measurements, engine: &EngineMeasurements) -> bool {
    engine.ranks.iter().any(|rank| rank.library.is_some()) && is_stand_in(measurements, engine)
}

/// Gives the stand-in the times of the library.
pub fn apply(measurements: &mut Measurements) {
    for at in 0..measurements.engines.len() {
        let applies = has_library_cost(measurements, &measurements.engines[at]);
        let engine = &mut measurements.engines[at];
        if !applies {
            engine.ranks.iter_mut().for_each(|rank| rank.library = None);
            continue;
        }
        for rank in &mut engine.ranks {
            let Some(cost) = &mut rank.library else { continue };
            rank.match_ns = rank.match_ns.max(cost.low_ns);
            rank.match_cold_ns = rank.match_cold_ns.max(cost.high_ns).max(rank.match_ns);
            cost.likely_ns = cost.likely_ns.max(rank.match_ns);
        }
        engine.match_ns = engine.ranks.iter().map(|rank| rank.match_ns).sum();
        engine.match_cold_ns = engine.ranks.iter().map(|rank| rank.match_cold_ns).sum();
    }
}

/// Where the time of the engine that stands in for the library comes from.
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
        0 => format!("The trace has no costs. These are typical of {TYPICAL_OF}"),
        pairs => format!(
            "They were measured in this run, between {} of {}",
            format::counted(pairs.into(), "pair"),
            if cost.same_host { "ranks on one host" } else { "ranks on two hosts" }
        ),
    };
    Some(format!(
        "Time of `{}` is what its comparisons cost in the MPI library. {source}. In queues of {} entries, an entry costs, in ns: \
         posted {} with warm caches, {} with cold ones; unexpected {} with warm caches, {} with cold ones. The times of the \
         traced calls decide between warm and cold.",
        engine.name,
        lengths.join(", "),
        warm(&cost.posted),
        cold(&cost.posted),
        warm(&cost.unexpected),
        cold(&cost.unexpected)
    ))
}

/// Outstanding receives from which on overflow matching pays: what it costs a message ÷ what an entry of a queue of 128 costs
/// this library, within what `matchpoint run` chooses. `None`: the library has no cost.
pub fn overflow_limit(measurements: &Measurements) -> Option<u64> {
    let (entry_ns, _) = measurements.library_cost.as_ref()?.posted.entry(128.0);
    (entry_ns > 0.0).then(|| (OVERFLOW_NS / entry_ns).clamp(64.0, 256.0) as u64)
}

/// What a message costs that goes through the engine of `matchpoint run`, at most, in nanoseconds.
const OVERFLOW_NS: f64 = 150.0;
