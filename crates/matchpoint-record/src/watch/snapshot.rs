//! The state of a job at one time.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Serialize, Serializer};

#[derive(Debug, Clone)]
pub struct Snapshot {
    pub at: SystemTime,
    pub folder: PathBuf,
    pub command: Vec<String>,
    pub library: String,
    pub state: JobState,
    pub exit_status: Option<i64>,
    /// Processes of `MPI_COMM_WORLD`. 0: unknown.
    pub ranks: u32,
    /// Messages on communicators with unknown members or in other worlds, which the estimates do not include.
    pub elsewhere: u64,
    /// Whether files contain unread data.
    pub behind: bool,
    /// Started ranks, ascending.
    pub rows: Vec<Row>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// No process has called `MPI_Init`.
    Waiting,
    Running,
    Finished,
}

#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub rank: u32,
    pub host: String,
    pub pid: u64,
    /// Length of the posted receive queue (PRQ).
    pub posted: QueueLength,
    /// Length of the unexpected message queue (UMQ).
    pub unexpected: QueueLength,
    pub calls: u64,
    /// MPI calls per second, in the last seconds.
    pub calls_per_s: f64,
    pub age_s: f64,
    /// Seconds since the last MPI call returned. `None`: no call has returned.
    pub last_call_s: Option<f64>,
    /// MPI function in which the rank has been for at least a second.
    pub within: Option<String>,
    #[serde(rename = "state")]
    pub life: ProcessState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueLength {
    pub entries: u64,
    /// Whether the MPI library counted the entries. Otherwise the length is estimated from MPI calls.
    pub measured: bool,
}

impl Serialize for QueueLength {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let how = if self.measured { "measured" } else { "estimated" };
        serde_json::json!({ "entries": self.entries, "how": how }).serialize(serializer)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessState {
    Running,
    Finalized,
    Aborted,
    /// The process exited without `MPI_Finalize`.
    Exited,
    /// The process ended without a final record.
    Died,
    /// The rest of the file cannot be read.
    Unreadable(String),
}

impl ProcessState {
    pub fn word(&self) -> &'static str {
        match self {
            ProcessState::Running => "running",
            ProcessState::Finalized => "finalized",
            ProcessState::Aborted => "aborted",
            ProcessState::Exited => "left",
            ProcessState::Died => "died",
            ProcessState::Unreadable(_) => "lost",
        }
    }
}

impl Serialize for ProcessState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl JobState {
    pub fn word(self) -> &'static str {
        match self {
            JobState::Waiting => "waiting",
            JobState::Running => "running",
            JobState::Finished => "finished",
        }
    }
}

impl Snapshot {
    pub fn is_over(&self) -> bool {
        self.state == JobState::Finished && !self.behind
    }

    /// The error if no file can be read.
    pub fn problem(&self) -> Option<String> {
        let lost = |row: &Row| match &row.life {
            ProcessState::Unreadable(why) => Some(format!("rank {}: {why}", row.rank)),
            _ => None,
        };
        let all: Vec<String> = self.rows.iter().filter_map(lost).collect();
        if all.is_empty() || all.len() < self.rows.len() {
            return None;
        }
        Some(format!("cannot read '{}': {}", self.folder.display(), all[0]))
    }

    pub fn worst_first(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| (std::cmp::Reverse(row.posted.entries + row.unexpected.entries), row.rank));
        rows
    }

    /// The sum over all ranks. The sum counts as measured, not derived from calls, if every rank's length is measured.
    pub fn total(&self, length: impl Fn(&Row) -> QueueLength) -> QueueLength {
        let all = self.rows.iter().map(length);
        all.fold(QueueLength { entries: 0, measured: !self.rows.is_empty() }, |sum, one| QueueLength {
            entries: sum.entries + one.entries,
            measured: sum.measured && one.measured,
        })
    }
}
