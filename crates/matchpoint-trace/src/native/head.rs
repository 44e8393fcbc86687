//! The blocks that are JSON: what a rank's file is, and how it ended.

use serde::{Deserialize, Serialize};

/// The first block of a rank's file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Head {
    /// Of the format.
    pub version: u32,
    /// In `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Of `MPI_COMM_WORLD`.
    pub size: u32,
    /// Where the process ran.
    #[serde(default)]
    pub host: String,
    /// Tells the machine, and since when it runs: names of hosts need not differ.
    #[serde(default)]
    pub boot: String,
    /// Its number there.
    #[serde(default)]
    pub pid: u64,
    /// Processors of the host; 0: not known.
    #[serde(default)]
    pub processors: u32,
    /// What `MPI_Get_library_version` says.
    #[serde(default)]
    pub library: String,
    /// The part of the library that matches messages (`ob1`, `ucx`, …); empty: unknown.
    #[serde(default)]
    pub transport: String,
    /// What `MPI_Get_version` says.
    #[serde(default)]
    pub standard: String,
    /// `single`, `funneled`, `serialized` or `multiple`.
    #[serde(default)]
    pub thread_level: String,
    /// The path of the executable.
    #[serde(default)]
    pub program: String,
    /// Wall clock, nanoseconds since 1970.
    #[serde(default)]
    pub started_ns: i64,
    /// What the ticks are.
    pub clock: Clock,
    /// What the file was made from could not tell `MPI_PROC_NULL` from `MPI_ANY_SOURCE`.
    #[serde(default)]
    pub null_looks_any: bool,
    /// Name and fields of every function: calls name one by its index.
    pub functions: Vec<(String, String)>,
}

impl Head {
    /// The first line of what the library calls itself, its words one blank apart; `None` if it is not known.
    pub fn library_line(&self) -> Option<String> {
        let line = self.library.lines().next()?.split_whitespace().collect::<Vec<_>>().join(" ");
        (!line.is_empty()).then_some(line)
    }
}

/// What the ticks of a file are.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Clock {
    /// `tsc`, `cntvct`, `monotonic`, or another.
    #[serde(default)]
    pub source: String,
    /// Ticks per second, as far as known when the file was begun.
    pub hz: f64,
    /// Some time in ticks.
    pub ticks: u64,
    /// The same on the host's monotonic clock, in nanoseconds.
    pub ns: i64,
}

/// A file that a process's code came from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Module {
    /// Where the file is, on the process's host.
    pub path: String,
    /// Where what the file calls 0 lies.
    pub base: u64,
    /// Where its code begins.
    pub from: u64,
    /// Behind its code.
    pub to: u64,
}

/// The last block of the file of a process that ended well.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct End {
    /// `finalize`, `abort` or `exit`.
    #[serde(default)]
    pub reason: String,
    /// Calls that were written.
    #[serde(default)]
    pub calls: u64,
    /// Calls that were made after the limit of disk space was reached.
    #[serde(default)]
    pub left_out: u64,
    /// Calls that are not in the file for other reasons: made in callbacks, left by a jump, too long, or without memory.
    #[serde(default)]
    pub unseen: u64,
    /// When the limit was reached, in ticks.
    #[serde(default)]
    pub limit_ticks: Option<u64>,
    /// Time that threads waited because calls could not be written fast enough.
    #[serde(default)]
    pub waited_ns: u64,
}
