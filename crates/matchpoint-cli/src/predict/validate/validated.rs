//! A validation. Plain data, the only input of its reports.

use matchpoint_calibrate::typical::over_rounds;
use matchpoint_model::{Machine, Split};
use serde::Serialize;

#[derive(Clone, Debug)]
pub struct Validated {
    pub subject: String,
    pub machine: Machine,
    pub job: Job,
    pub processes: u32,
    /// One operation each, grouped by application.
    pub rows: Vec<Row>,
    /// Errors of the models, by application.
    pub judgements: Vec<Judgement>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Job {
    pub command: Vec<String>,
    /// Start time, in RFC 3339.
    pub started: String,
    pub mpi: String,
    pub nodes: Vec<String>,
    /// Processor and cores of the host of the command.
    pub host: String,
    /// Load average of that host before the job, on Linux.
    pub load: Option<f64>,
    pub ranks: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Application {
    /// Matrix-vector products, by level.
    Spmv,
    /// Products of matrices and interpolations, by level.
    Spgemm,
    /// Messages from every rank to one.
    Gather,
    /// Algorithm 1, receives in the order of messages.
    #[serde(rename = "high_volume_equal")]
    VolumeEqual,
    /// Algorithm 1, receives in reversed order.
    #[serde(rename = "high_volume_reversed")]
    VolumeReversed,
    /// Algorithm 1, receives in random order.
    #[serde(rename = "high_volume_random")]
    VolumeRandom,
}

impl Application {
    pub const ALL: [Application; 6] = [
        Application::Spmv,
        Application::Spgemm,
        Application::Gather,
        Application::VolumeEqual,
        Application::VolumeReversed,
        Application::VolumeRandom,
    ];

    /// Whether the operation is algorithm 1 of the paper. Times of algorithm 1 differ by orders of magnitude.
    pub const fn is_volume(self) -> bool {
        matches!(self, Application::VolumeEqual | Application::VolumeReversed | Application::VolumeRandom)
    }

    pub const fn title(self) -> &'static str {
        match self {
            Application::Spmv => "SpMV",
            Application::Spgemm => "SpGEMM",
            Application::Gather => "gather",
            Application::VolumeEqual => "HighVolumePingPong, equal",
            Application::VolumeReversed => "HighVolumePingPong, reversed",
            Application::VolumeRandom => "HighVolumePingPong, random",
        }
    }
}

/// Models, each more detailed than the previous one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Equation 1, one set of parameters.
    Postal,
    /// Equation 2, one set of parameters.
    MaxRate,
    /// Parameters by locality (§3).
    NodeAware,
    /// With γ n² (equation 3).
    Queue,
    /// With δ ℓ (equation 5).
    Contention,
    /// With attempts of a list in the measured order, instead of γ n².
    Attempts,
}

impl Step {
    pub const ALL: [Step; 6] =
        [Step::Postal, Step::MaxRate, Step::NodeAware, Step::Queue, Step::Contention, Step::Attempts];

    pub const fn title(self) -> &'static str {
        match self {
            Step::Postal => "postal",
            Step::MaxRate => "max-rate",
            Step::NodeAware => "node-aware",
            Step::Queue => "+ queue",
            Step::Contention => "+ contention",
            Step::Attempts => "+ attempts",
        }
    }
}

/// Modelled times, as in [`Step::ALL`]; `None`: the machine lacks a parameter.
pub type Modelled = [Option<f64>; 6];

#[derive(Clone, Debug)]
pub struct Row {
    pub application: Application,
    /// Name: a level, bytes, messages and bytes.
    pub name: String,
    /// The process that two ranks play by exchanging its messages. `None`: each rank is a process.
    pub played: Option<u32>,
    pub messages: u64,
    pub bytes: u64,
    /// Most messages received by a rank.
    pub received: u32,
    /// Times of the slowest rank.
    pub measured: Times,
    /// Times with reversed receives; `None` for HighVolumePingPong, which has separate operations.
    pub reversed: Option<Times>,
    pub modelled: Modelled,
    /// Split of the time with [`Step::Contention`].
    pub split: Split,
    /// The time with [`Step::Contention`], at both ends of the parameters' intervals.
    pub interval: (f64, f64),
    pub searched: Option<Searched>,
}

/// Repetitions of one operation, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Times {
    /// Typical time of an uninterrupted repetition, as in a calibration.
    pub typical_s: f64,
    pub median_s: f64,
    /// First quartile.
    pub low_s: f64,
    /// Third quartile.
    pub high_s: f64,
    pub repetitions: usize,
}

impl Times {
    /// Statistics of at least one repetition, by round.
    pub fn of(rounds: &[Vec<f64>]) -> Times {
        let mut sorted = rounds.concat();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let place = part * (sorted.len().saturating_sub(1)) as f64;
            let (below, above) = (place.floor() as usize, place.ceil() as usize);
            (sorted[below] + sorted[above]) / 2.0
        };
        let rounds: Vec<&[f64]> = rounds.iter().map(Vec::as_slice).collect();
        Times {
            typical_s: over_rounds(&rounds),
            median_s: at(0.5),
            low_s: at(0.25),
            high_s: at(0.75),
            repetitions: sorted.len(),
        }
    }
}

/// Attempts of a list in arrival order, at the process with most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Worst {
    pub process: u32,
    pub received: u32,
    /// Attempts, median of several exchanges.
    pub attempts: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searched {
    /// Receives as timed.
    pub natural: Worst,
    /// Reversed receives; `None` for HighVolumePingPong.
    pub reversed: Option<Worst>,
}

/// Errors of the models for one application.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub application: Application,
    pub rows: usize,
    /// Errors as in [`Step::ALL`]; `None`: some rows lack the model.
    pub errors: [Option<ModelError>; 6],
    /// Measured times within the interval of [`Step::Contention`].
    pub within: usize,
    /// Reasons why a model is not better than the previous one, one sentence each.
    pub reasons: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelError {
    /// Mean of |modelled − measured| ÷ measured.
    pub absolute: f64,
    /// Mean of (modelled − measured) ÷ measured; positive: the model is too slow.
    pub signed: f64,
}
