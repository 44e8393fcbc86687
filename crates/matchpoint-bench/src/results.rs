//! Results of a run, as plain data for all reports.

use serde::Serialize;

use crate::statistics::quartiles;

#[derive(Clone, Debug)]
pub struct Results {
    /// Nanoseconds per post and arrival in the reference loop, the median over the run.
    pub reference_ns: f64,
    /// Minimum and maximum of the reference loop, which show the stability of the host.
    pub reference_range_ns: (f64, f64),
    pub floor_ns: f64,
    /// Whether caches were flushed before every timed call.
    pub is_cold: bool,
    pub engines: Vec<String>,
    /// By workload, then engine.
    pub cells: Vec<Cell>,
}

#[derive(Clone, Debug)]
pub struct Cell {
    pub workload: String,
    pub n: usize,
    pub engine: String,
    /// The engine that replaced this engine ([`Engine::substitute`](matchpoint::Engine::substitute)).
    pub substitute: Option<String>,
    pub outcome: Outcome,
    /// In both queues. `None`: counting was too slow.
    pub attempts_mean: Option<f64>,
    /// Maximum [`Footprint`](matchpoint::Footprint) of one process, up to the end of the run.
    pub bytes_peak: u64,
}

impl Cell {
    /// Memory of the whole workload. `None`: the run is incomplete.
    pub fn bytes_whole(&self) -> Option<u64> {
        matches!(self.outcome, Outcome::Measured(_)).then_some(self.bytes_peak)
    }
}

#[derive(Clone, Debug)]
pub enum Outcome {
    Measured(Timing),
    /// A round exceeds the budget, so a message costs more than `above_ns`.
    TooSlow {
        above_ns: f64,
        why: String,
    },
    /// A result differs, as the engine's order or demands permit.
    Differs(String),
    /// The table was full, at this position.
    Full(String),
    Wrong(String),
}

/// The position at which a table of fixed size was full. A refusal costs less than the refused work, so later times are
/// invalid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Full(pub String);

/// Nanoseconds per matched message: one post and one arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    pub ns_median: f64,
    pub ns_min: f64,
    pub ns_p25: f64,
    pub ns_p75: f64,
    /// Number of repetitions, or of calls with cold caches.
    pub samples: usize,
    /// Medians of posts and of arrivals, if timed separately.
    pub split: Option<(f64, f64)>,
}

impl Timing {
    /// Of one or more repetitions. Sorts the samples.
    pub(crate) fn of_repetitions(samples: &mut [f64]) -> Self {
        let [ns_median, ns_p25, ns_p75] = quartiles(samples);
        Timing { ns_median, ns_min: samples[0], ns_p25, ns_p75, samples: samples.len(), split: None }
    }
}

impl Outcome {
    pub fn ns(&self) -> Option<f64> {
        match self {
            Outcome::Measured(timing) => Some(timing.ns_median),
            _ => None,
        }
    }
}
