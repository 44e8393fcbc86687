//! Results of a run, as plain data for all reports.

use crate::statistics::{median, percentile};

/// Results of a run.
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
    /// As given.
    pub engines: Vec<String>,
    /// By workload, then engine.
    pub cells: Vec<Cell>,
}

/// One engine on one workload.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The workload.
    pub workload: String,
    /// Size of the workload.
    pub n: usize,
    /// The engine.
    pub engine: String,
    /// The engine that replaced it: see [`Engine::substitute`](matchpoint::Engine::substitute).
    pub substitute: Option<String>,
    /// The outcome.
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

/// Outcome of a measurement.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Figures.
    Measured(Figures),
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

/// Nanoseconds per matched message: one post and one arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Median over repetitions.
    pub ns_median: f64,
    /// Minimum.
    pub ns_min: f64,
    /// First quartile.
    pub ns_p25: f64,
    /// Third quartile.
    pub ns_p75: f64,
    /// Repetitions, or calls of a cold run.
    pub samples: usize,
    /// Medians of posts and of arrivals, if timed separately.
    pub split: Option<(f64, f64)>,
}

impl Figures {
    /// Figures of one or more repetitions, in nanoseconds per matched message. Sorts the samples.
    pub(crate) fn of_repetitions(samples: &mut [f64]) -> Self {
        let ns_median = median(samples);
        Figures {
            ns_median,
            ns_min: samples[0],
            ns_p25: percentile(samples, 0.25),
            ns_p75: percentile(samples, 0.75),
            samples: samples.len(),
            split: None,
        }
    }
}

impl Outcome {
    /// If measured.
    pub fn ns(&self) -> Option<f64> {
        match self {
            Outcome::Measured(figures) => Some(figures.ns_median),
            _ => None,
        }
    }
}
