//! What a run found: plain data, from which every report is made.

use crate::statistics::{median, percentile};

/// Of one run.
#[derive(Clone, Debug)]
pub struct Results {
    /// The reference loop, ns per post and arrival: the median over the whole run.
    pub reference_ns: f64,
    /// Its least and greatest figure during the run: how steady the machine was.
    pub reference_range_ns: (f64, f64),
    /// The same for an engine behind the contract that does nothing: no engine can be faster.
    pub floor_ns: f64,
    /// Caches were flushed before every call that was timed.
    pub is_cold: bool,
    /// Names of the engines, as given.
    pub engines: Vec<String>,
    /// Workload by workload, and of each workload engine by engine.
    pub cells: Vec<Cell>,
}

/// One engine on one workload.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The workload's name.
    pub workload: String,
    /// Its size.
    pub n: usize,
    /// The engine's name.
    pub engine: String,
    /// Who matched in its place, if anybody did: see [`Engine::substitute`](matchpoint::Engine::substitute).
    pub substitute: Option<String>,
    /// What came of it.
    pub outcome: Outcome,
    /// Entries examined per matched message, posted and unexpected together; `None` if that was too slow to count.
    pub attempts_mean: Option<f64>,
    /// The largest [`Footprint`](matchpoint::Footprint) of one process, bytes: as far as it came, see
    /// [`bytes_whole`](Self::bytes_whole).
    pub bytes_peak: u64,
}

impl Cell {
    /// The memory that the whole workload takes; `None` of an engine that refused a part of it, or was given up: what it
    /// held by then is nothing to compare others with.
    pub fn bytes_whole(&self) -> Option<u64> {
        matches!(self.outcome, Outcome::Measured(_)).then_some(self.bytes_peak)
    }
}

/// What came of measuring.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Figures.
    Measured(Figures),
    /// Given up: a round takes longer than the budget, so one message costs more than this.
    TooSlow {
        /// Time spent ÷ messages of a whole round.
        above_ns: f64,
        /// Why, as a sentence.
        why: String,
    },
    /// An answer differs, as the order that this engine promises permits, or what it demands of applications.
    Differs(String),
    /// Its table of fixed size was full: when, in words. A caller would fall back to another engine.
    Full(String),
    /// An answer is wrong.
    Wrong(String),
}

/// Nanoseconds per matched message: one post and one arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Median over repetitions.
    pub ns_median: f64,
    /// The least.
    pub ns_min: f64,
    /// A quarter of the repetitions were faster.
    pub ns_p25: f64,
    /// A quarter of the repetitions were slower.
    pub ns_p75: f64,
    /// Repetitions; of cold runs, calls.
    pub samples: usize,
    /// Medians of posts and of arrivals by themselves, where they can be timed apart.
    pub split: Option<(f64, f64)>,
}

impl Figures {
    /// Of repetitions, sorted here: nanoseconds per matched message of each. There is one at least.
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
    /// The median, if there is one.
    pub fn ns(&self) -> Option<f64> {
        match self {
            Outcome::Measured(figures) => Some(figures.ns_median),
            _ => None,
        }
    }
}
