//! A validation, which is the only input of its reports.

use matchpoint_model::{Machine, Split};
use serde::Serialize;

use crate::typical::over_rounds;

#[derive(Clone, Debug)]
pub struct Validated {
    pub subject: String,
    pub machine: Machine,
    pub job: Job,
    pub processes: u32,
    pub rows: Vec<Row>,
    pub judgements: Vec<Judgement>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Job {
    pub command: Vec<String>,
    pub started: String,
    pub mpi: String,
    pub nodes: Vec<String>,
    /// Processor and number of processors of the command's host.
    pub host: String,
    /// Load average of the command's host before the job. `None`: the system is not Linux.
    pub load: Option<f64>,
    pub ranks: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Application {
    Spmv,
    Spgemm,
    Gather,
    #[serde(rename = "high_volume_equal")]
    VolumeEqual,
    #[serde(rename = "high_volume_reversed")]
    VolumeReversed,
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

/// Models, each more detailed than the previous model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Equation 1, with one set of parameters.
    Postal,
    /// Equation 2, with one set of parameters.
    MaxRate,
    /// Equation 2 with parameters by locality (§3).
    NodeAware,
    /// Also with γ n² (equation 3).
    Queue,
    /// Also with δ ℓ (equation 5).
    Contention,
    /// With the attempts of a list in the measured arrival order, instead of γ n².
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

/// Modelled times in the order of [`Step::ALL`]. `None`: the machine lacks a parameter.
pub type Modelled = [Option<f64>; 6];

#[derive(Clone, Debug)]
pub struct Row {
    pub application: Application,
    /// A level, a number of bytes, or messages and bytes.
    pub name: String,
    /// The process that two ranks play. `None`: each rank is a process.
    pub played: Option<u32>,
    pub messages: u64,
    pub bytes: u64,
    pub received: u32,
    pub measured: Times,
    /// Times with reversed receives. `None`: HighVolumePingPong, which has separate operations.
    pub reversed: Option<Times>,
    pub modelled: Modelled,
    /// Parts of the time of [`Step::Contention`].
    pub split: Split,
    pub interval: (f64, f64),
    pub searched: Option<Searched>,
}

/// Times of the repetitions of an operation, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Times {
    /// Typical time of an uninterrupted repetition, as in a calibration.
    pub typical_s: f64,
    pub median_s: f64,
    pub low_s: f64,
    pub high_s: f64,
    pub repetitions: usize,
}

impl Times {
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

/// Attempts of a list in arrival order, at the process with most attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Worst {
    pub process: u32,
    pub received: u32,
    /// Median over several exchanges.
    pub attempts: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searched {
    pub natural: Worst,
    /// With reversed receives. `None`: HighVolumePingPong.
    pub reversed: Option<Worst>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub application: Application,
    pub rows: usize,
    pub errors: [Option<ModelError>; 6],
    pub within: usize,
    /// Sentences with reasons why a model is not better than the previous model.
    pub reasons: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelError {
    /// Mean of |modelled − measured| ÷ measured.
    pub absolute: f64,
    /// Mean of (modelled − measured) ÷ measured. Positive: the model is too slow.
    pub signed: f64,
}
