//! What a job looks like at one moment. Plain data.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Serialize, Serializer};

/// All ranks.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// When.
    pub at: SystemTime,
    /// The trace.
    pub folder: PathBuf,
    /// What runs, as far as the manifest tells.
    pub command: Vec<String>,
    /// What the MPI library calls itself.
    pub library: String,
    /// How far it is.
    pub state: State,
    /// How the launcher ended, once it has and if it said so.
    pub exit_status: Option<i64>,
    /// Processes of `MPI_COMM_WORLD`; 0 while that is not known.
    pub ranks: u32,
    /// Messages on communicators whose members are not known, or with other worlds: they are in no estimate.
    pub elsewhere: u64,
    /// There is more in the files than was read so far.
    pub behind: bool,
    /// Those that have begun, by rank.
    pub rows: Vec<Row>,
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No process has called `MPI_Init` yet.
    Waiting,
    /// It runs, as far as can be seen.
    Running,
    /// Nothing more will come.
    Finished,
}

/// One rank.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// In `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Where it runs.
    pub host: String,
    /// Its process there.
    pub pid: u64,
    /// Receives posted and not matched (PRQ).
    pub posted: Length,
    /// Messages that no receive was there for (UMQ).
    pub unexpected: Length,
    /// Calls so far.
    pub calls: u64,
    /// Calls in a second, over the last seconds that it reported.
    pub calls_per_s: f64,
    /// How old all this is, in seconds.
    pub age_s: f64,
    /// How long ago its last call returned, in seconds: it computes since then, or is within a call. `None` before the
    /// first.
    pub last_call_s: Option<f64>,
    /// The function of MPI that it has been within for a second or more.
    pub within: Option<String>,
    /// How it is.
    #[serde(rename = "state")]
    pub life: Life,
}

/// How long a queue is, and how that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Length {
    /// Entries.
    pub entries: u64,
    /// The MPI library counted them itself; else they are what follows from the calls.
    pub measured: bool,
}

impl Serialize for Length {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let how = if self.measured { "measured" } else { "estimated" };
        serde_json::json!({ "entries": self.entries, "how": how }).serialize(serializer)
    }
}

/// How a process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// It has not ended, as far as can be seen.
    Running,
    /// It called `MPI_Finalize`.
    Finalized,
    /// It called `MPI_Abort`.
    Aborted,
    /// It left without `MPI_Finalize`.
    Left,
    /// It is not there any more, and did not say goodbye.
    Died,
    /// Its file cannot be followed any further.
    Lost(String),
}

impl Life {
    /// In a word.
    pub fn word(&self) -> &'static str {
        match self {
            Life::Running => "running",
            Life::Finalized => "finalized",
            Life::Aborted => "aborted",
            Life::Left => "left",
            Life::Died => "died",
            Life::Lost(_) => "lost",
        }
    }
}

impl Serialize for Life {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl State {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Running => "running",
            State::Finished => "finished",
        }
    }
}

impl Snapshot {
    /// Nothing more will come.
    pub fn is_over(&self) -> bool {
        self.state == State::Finished && !self.behind
    }

    /// Why nothing can be shown: no file can be followed any further.
    pub fn problem(&self) -> Option<String> {
        let lost = |row: &Row| match &row.life {
            Life::Lost(why) => Some(format!("rank {}: {why}", row.rank)),
            _ => None,
        };
        let all: Vec<String> = self.rows.iter().filter_map(lost).collect();
        if all.is_empty() || all.len() < self.rows.len() {
            return None;
        }
        Some(format!("{}: {}", self.folder.display(), all[0]))
    }

    /// The longest first.
    pub fn worst_first(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| (std::cmp::Reverse(row.posted.entries + row.unexpected.entries), row.rank));
        rows
    }

    /// Over all ranks: measured only if all of them are.
    pub fn total(&self, length: impl Fn(&Row) -> Length) -> Length {
        let all = self.rows.iter().map(length);
        all.fold(Length { entries: 0, measured: !self.rows.is_empty() }, |sum, one| Length {
            entries: sum.entries + one.entries,
            measured: sum.measured && one.measured,
        })
    }
}
