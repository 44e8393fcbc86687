//! The state of a job at one time. Plain data.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Serialize, Serializer};

/// State of all ranks.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Time.
    pub at: SystemTime,
    /// Folder of the trace.
    pub folder: PathBuf,
    /// Command, if the manifest contains it.
    pub command: Vec<String>,
    /// Version string of the MPI library.
    pub library: String,
    /// State of the job.
    pub state: State,
    /// Exit status of the launcher, if known.
    pub exit_status: Option<i64>,
    /// Processes of `MPI_COMM_WORLD`; 0 if unknown.
    pub ranks: u32,
    /// Messages on communicators with unknown members or other worlds: estimates do not contain them.
    pub elsewhere: u64,
    /// Whether the files contain unread data.
    pub behind: bool,
    /// Started ranks, in order.
    pub rows: Vec<Row>,
}

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No process has called `MPI_Init` yet.
    Waiting,
    /// The job seems to run.
    Running,
    /// The job has ended.
    Finished,
}

/// State of one rank.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Host.
    pub host: String,
    /// Process on the host.
    pub pid: u64,
    /// Length of the posted receive queue (PRQ).
    pub posted: Length,
    /// Length of the unexpected message queue (UMQ).
    pub unexpected: Length,
    /// Calls so far.
    pub calls: u64,
    /// Calls per second, over the last reported seconds.
    pub calls_per_s: f64,
    /// Age of this state, in seconds.
    pub age_s: f64,
    /// Seconds since the last call returned: the rank computes, or is within a call. `None` before the first call.
    pub last_call_s: Option<f64>,
    /// MPI function in which the rank has been for a second or more.
    pub within: Option<String>,
    /// State of the process.
    #[serde(rename = "state")]
    pub life: Life,
}

/// Length of a queue, with its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Length {
    /// Entries.
    pub entries: u64,
    /// Whether the MPI library counted them; else they are estimated from the calls.
    pub measured: bool,
}

impl Serialize for Length {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let how = if self.measured { "measured" } else { "estimated" };
        serde_json::json!({ "entries": self.entries, "how": how }).serialize(serializer)
    }
}

/// State of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// The process seems to run.
    Running,
    /// The process called `MPI_Finalize`.
    Finalized,
    /// The process called `MPI_Abort`.
    Aborted,
    /// The process exited without `MPI_Finalize`.
    Left,
    /// The process ended without a final record.
    Died,
    /// The file of the process cannot be read further.
    Lost(String),
}

impl Life {
    /// Name for JSON and the table.
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
    /// Name for JSON and the table.
    pub fn word(self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Running => "running",
            State::Finished => "finished",
        }
    }
}

impl Snapshot {
    /// Whether the snapshot is the last one.
    pub fn is_over(&self) -> bool {
        self.state == State::Finished && !self.behind
    }

    /// The error, if no file can be read further.
    pub fn problem(&self) -> Option<String> {
        let lost = |row: &Row| match &row.life {
            Life::Lost(why) => Some(format!("rank {}: {why}", row.rank)),
            _ => None,
        };
        let all: Vec<String> = self.rows.iter().filter_map(lost).collect();
        if all.is_empty() || all.len() < self.rows.len() {
            return None;
        }
        Some(format!("cannot read '{}': {}", self.folder.display(), all[0]))
    }

    /// Ranks by queue length, longest first.
    pub fn worst_first(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| (std::cmp::Reverse(row.posted.entries + row.unexpected.entries), row.rank));
        rows
    }

    /// Sum over all ranks: measured only if every rank is.
    pub fn total(&self, length: impl Fn(&Row) -> Length) -> Length {
        let all = self.rows.iter().map(length);
        all.fold(Length { entries: 0, measured: !self.rows.is_empty() }, |sum, one| Length {
            entries: sum.entries + one.entries,
            measured: sum.measured && one.measured,
        })
    }
}
