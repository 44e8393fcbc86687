//! What a validation comes to. Plain data: reports are made from it, and nothing else.

use matchpoint_calibrate::typical::over_rounds;
use matchpoint_model::{Machine, Split};
use serde::Serialize;

/// All of it.
#[derive(Clone, Debug)]
pub struct Validated {
    /// Of what, in words.
    pub subject: String,
    /// The parameters.
    pub machine: Machine,
    /// Under what it was measured.
    pub job: Job,
    /// On how many processes the operations are.
    pub processes: u32,
    /// One operation each; those of an application stand together.
    pub rows: Vec<Row>,
    /// How far the models are off, application by application.
    pub judgements: Vec<Judgement>,
    /// What a reader should know: full sentences.
    pub notes: Vec<String>,
}

/// What the measurements ran under.
#[derive(Clone, Debug, Serialize)]
pub struct Job {
    /// The launcher and its options.
    pub command: Vec<String>,
    /// When it began, in RFC 3339.
    pub started: String,
    /// What the MPI library calls itself.
    pub mpi: String,
    /// What the nodes call themselves.
    pub nodes: Vec<String>,
    /// Processor and cores of the host where the command ran.
    pub host: String,
    /// Work that this host had besides: load average of a minute before the job, if Linux says it.
    pub load: Option<f64>,
    /// How many ranks.
    pub ranks: u32,
}

/// Operations of one kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Application {
    /// Products of matrices and vectors, level by level.
    Spmv,
    /// Products of matrices and interpolations, level by level.
    Spgemm,
    /// Everything to one rank.
    Gather,
    /// Algorithm 1, receives posted as messages come.
    #[serde(rename = "high_volume_equal")]
    VolumeEqual,
    /// Algorithm 1, the other way round.
    #[serde(rename = "high_volume_reversed")]
    VolumeReversed,
    /// Algorithm 1, in random order.
    #[serde(rename = "high_volume_random")]
    VolumeRandom,
}

impl Application {
    /// All of them, in the order of reports.
    pub const ALL: [Application; 6] = [
        Application::Spmv,
        Application::Spgemm,
        Application::Gather,
        Application::VolumeEqual,
        Application::VolumeReversed,
        Application::VolumeRandom,
    ];

    /// Whether it is one of algorithm 1's, whose lengths differ by orders of magnitude.
    pub const fn is_volume(self) -> bool {
        matches!(self, Application::VolumeEqual | Application::VolumeReversed | Application::VolumeRandom)
    }

    /// For people.
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

/// How much a model knows, each more than the one before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Equation 1, one set of parameters for all messages.
    Postal,
    /// Equation 2, one set of parameters.
    MaxRate,
    /// By where the processes are (§3).
    NodeAware,
    /// With γ n² (equation 3).
    Queue,
    /// With δ ℓ (equation 5).
    Contention,
    /// With the entries that a list compares in the order that was measured, instead of γ n².
    Attempts,
}

impl Step {
    /// All of them, the one that knows least first.
    pub const ALL: [Step; 6] =
        [Step::Postal, Step::MaxRate, Step::NodeAware, Step::Queue, Step::Contention, Step::Attempts];

    /// For people.
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

/// Modelled times, as [`Step::ALL`]; `None`: the machine lacks what it takes.
pub type Modelled = [Option<f64>; 6];

/// An operation, measured and modelled.
#[derive(Clone, Debug)]
pub struct Row {
    /// What kind it is of.
    pub application: Application,
    /// Which: a level, bytes, messages and bytes.
    pub name: String,
    /// The process whose messages two ranks exchanged, the second in place of all its partners; `None`: each rank was a
    /// process.
    pub played: Option<u32>,
    /// Messages of all ranks.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Most messages that a rank received.
    pub received: u32,
    /// As long as the rank took that took longest.
    pub measured: Times,
    /// The same with receives posted the other way round; `None` of HighVolumePingPong, whose orders are operations.
    pub reversed: Option<Times>,
    /// What models say.
    pub modelled: Modelled,
    /// What the bars show: the time under [`Step::Contention`].
    pub split: Split,
    /// The same with all parameters at the end of their intervals that makes it short, and long.
    pub interval: (f64, f64),
    /// How far queues were searched.
    pub searched: Option<Searched>,
}

/// Repetitions of one operation, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Times {
    /// What counts: the time of a repetition that nothing interrupts, as in a calibration.
    pub typical_s: f64,
    /// Half of all repetitions were shorter.
    pub median_s: f64,
    /// A quarter of them were shorter.
    pub low_s: f64,
    /// A quarter of them were longer.
    pub high_s: f64,
    /// How many there were.
    pub repetitions: usize,
}

impl Times {
    /// Of some repetitions, round by round, one at least.
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

/// Entries that a list compares in the order in which messages came, at the process that compares most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Worst {
    /// That process.
    pub process: u32,
    /// Messages that it receives.
    pub received: u32,
    /// Entries, the median of several exchanges.
    pub attempts: u64,
}

/// The same with receives posted in both orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searched {
    /// As they were timed.
    pub natural: Worst,
    /// The other way round; `None` of HighVolumePingPong.
    pub reversed: Option<Worst>,
}

/// How far models are off, of one application.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Which.
    pub application: Application,
    /// How many operations.
    pub rows: usize,
    /// As [`Step::ALL`]; `None`: not of all rows.
    pub errors: [Option<Off>; 6],
    /// How many measured times lie within the interval of [`Step::Contention`].
    pub within: usize,
    /// Why a model is no better than the one before, sentence by sentence.
    pub reasons: Vec<String>,
}

/// How far one model is off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Off {
    /// Mean of |modelled − measured| ÷ measured.
    pub absolute: f64,
    /// Mean of (modelled − measured) ÷ measured: above 0 it says too much.
    pub signed: f64,
}
