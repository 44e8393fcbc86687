//! JSON blocks of a rank's file: its head and its end.

use serde::{Deserialize, Serialize};

/// First block of a rank's file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Head {
    /// Version of the format.
    pub version: u32,
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Size of `MPI_COMM_WORLD`.
    pub size: u32,
    /// Host name.
    #[serde(default)]
    pub host: String,
    /// Identifies the machine and its boot, because host names may be equal.
    #[serde(default)]
    pub boot: String,
    /// Process id.
    #[serde(default)]
    pub pid: u64,
    /// Processors of the host; 0 if unknown.
    #[serde(default)]
    pub processors: u32,
    /// Result of `MPI_Get_library_version`.
    #[serde(default)]
    pub library: String,
    /// Component of the library that matches messages (`ob1`, `ucx`, …); empty if unknown.
    #[serde(default)]
    pub transport: String,
    /// Result of `MPI_Get_version`.
    #[serde(default)]
    pub standard: String,
    /// `single`, `funneled`, `serialized` or `multiple`.
    #[serde(default)]
    pub thread_level: String,
    /// The path of the executable.
    #[serde(default)]
    pub program: String,
    /// Wall clock in nanoseconds since 1970.
    #[serde(default)]
    pub started_ns: i64,
    /// Clock of the ticks.
    pub clock: Clock,
    /// The source of the file did not distinguish `MPI_PROC_NULL` from `MPI_ANY_SOURCE`.
    #[serde(default)]
    pub null_looks_any: bool,
    /// Name and fields of every function. Calls have indexes into this list.
    pub functions: Vec<(String, String)>,
}

impl Head {
    /// First line of `library` with single blanks; `None` if unknown.
    pub fn library_line(&self) -> Option<String> {
        let line = self.library.lines().next()?.split_whitespace().collect::<Vec<_>>().join(" ");
        (!line.is_empty()).then_some(line)
    }
}

/// Clock of a file's ticks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Clock {
    /// `tsc`, `cntvct`, `monotonic`, or another one.
    #[serde(default)]
    pub source: String,
    /// Ticks per second, as estimated at the start.
    pub hz: f64,
    /// A time in ticks.
    pub ticks: u64,
    /// The same time on the host's monotonic clock, in nanoseconds.
    pub ns: i64,
}

/// A file with code of the process.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Module {
    /// Path on the process's host.
    pub path: String,
    /// Address of the file's address 0.
    pub base: u64,
    /// First address of the code.
    pub from: u64,
    /// Address after the code.
    pub to: u64,
}

/// Last block of a complete file.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct End {
    /// `finalize`, `abort` or `exit`.
    #[serde(default)]
    pub reason: String,
    /// Calls written.
    #[serde(default)]
    pub calls: u64,
    /// Calls after the limit of disk space.
    #[serde(default)]
    pub left_out: u64,
    /// Calls missing for other reasons: made in callbacks, left by a jump, too long, or without memory.
    #[serde(default)]
    pub unseen: u64,
    /// Time of the limit, in ticks.
    #[serde(default)]
    pub limit_ticks: Option<u64>,
    /// Time that threads waited for the writer.
    #[serde(default)]
    pub waited_ns: u64,
}
