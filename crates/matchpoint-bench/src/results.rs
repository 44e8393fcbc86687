//! Results of a run, as plain data for all reports.

use crate::statistics::quartiles;

#[derive(Clone, Debug)]
pub struct Results {
    /// Reference loop, ns per post and arrival: median over the run.
    pub reference_ns: f64,
    /// Minimum and maximum of the reference loop: the stability of the machine.
    pub reference_range_ns: (f64, f64),
    /// An engine that does nothing: a lower bound for all engines.
    pub floor_ns: f64,
    /// The caches were flushed before every timed call.
    pub is_cold: bool,
    pub engines: Vec<String>,
    /// By workload, then engine.
    pub cells: Vec<Cell>,
}

#[derive(Clone, Debug)]
pub struct Cell {
    pub workload: String,
    /// Size of the workload.
    pub n: usize,
    pub engine: String,
    /// The engine that replaced it: see [`Engine::substitute`](matchpoint::Engine::substitute).
    pub substitute: Option<String>,
    pub outcome: Outcome,
    /// Attempts per matched message, in both queues; `None` if counting was too slow.
    pub attempts_mean: Option<f64>,
    /// Maximum [`Footprint`](matchpoint::Footprint) of one process up to the end of the run: see
    /// [`bytes_whole`](Self::bytes_whole).
    pub bytes_peak: u64,
}

impl Cell {
    /// Memory of the whole workload. `None` for an incomplete run, which is not comparable.
    pub fn bytes_whole(&self) -> Option<u64> {
        matches!(self.outcome, Outcome::Measured(_)).then_some(self.bytes_peak)
    }
}

#[derive(Clone, Debug)]
pub enum Outcome {
    Measured(Timing),
    /// A round exceeds the budget: a message costs more than `above_ns`.
    TooSlow {
        /// Time ÷ messages of a whole round.
        above_ns: f64,
        /// A sentence.
        why: String,
    },
    /// A result differs, as the engine's order or demands permit.
    Differs(String),
    /// The fixed table was full, at this position in words. A caller would fall back to another engine.
    Full(String),
    /// A result is wrong.
    Wrong(String),
}

/// The position, in words, at which a table of fixed size was full. A refusal costs less than the refused work, so times after it are
/// invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Full(pub String);

/// Nanoseconds per matched message: one post and one arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    pub ns_median: f64,
    pub ns_min: f64,
    pub ns_p25: f64,
    pub ns_p75: f64,
    /// Repetitions, or calls of a cold run.
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
    /// Median time, if measured.
    pub fn ns(&self) -> Option<f64> {
        match self {
            Outcome::Measured(timing) => Some(timing.ns_median),
            _ => None,
        }
    }
}
