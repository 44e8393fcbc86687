//! JSON blocks of a rank's file: the head and the end.

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
    /// The machine and its boot, because host names may be equal.
    #[serde(default)]
    pub boot: String,
    /// Process id.
    #[serde(default)]
    pub pid: u64,
    /// Processors of the host; 0 if unknown.
    #[serde(default)]
    pub processors: u32,
    /// `MPI_Get_library_version`
    #[serde(default)]
    pub library: String,
    /// Component of the library that matches messages (`ob1`, `ucx`, …), if known.
    #[serde(default)]
    pub transport: String,
    /// `MPI_Get_version`
    #[serde(default)]
    pub standard: String,
    /// `single`, `funneled`, `serialized` or `multiple`.
    #[serde(default)]
    pub thread_level: String,
    /// Path of the executable.
    #[serde(default)]
    pub program: String,
    /// Wall clock time of the start, since 1970.
    #[serde(default)]
    pub started_ns: i64,
    /// Clock that counts the ticks.
    pub clock: Clock,
    /// The source of the file did not distinguish `MPI_PROC_NULL` from `MPI_ANY_SOURCE`.
    #[serde(default)]
    pub null_looks_any: bool,
    /// Name and fields of every function. Calls have indexes into this list.
    pub functions: Vec<(String, String)>,
}

impl Head {
    /// First line of `library`, with single spaces between words, if known.
    pub fn library_line(&self) -> Option<String> {
        let line = self.library.lines().next()?.split_whitespace().collect::<Vec<_>>().join(" ");
        (!line.is_empty()).then_some(line)
    }
}

/// Counts the ticks of a file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Clock {
    /// `tsc`, `cntvct`, `monotonic`, or another name.
    #[serde(default)]
    pub source: String,
    /// Ticks per second, estimated at the start.
    pub hz: f64,
    /// A time in ticks.
    pub ticks: u64,
    /// `ticks` on the host's monotonic clock.
    pub ns: i64,
}

/// Code that the process executes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Module {
    /// Path of the file on the process's host.
    pub path: String,
    /// Address in the process of the file's address 0.
    pub base: u64,
    /// First address of the code.
    pub from: u64,
    /// First address after the code.
    pub to: u64,
}

/// Last block of a complete file.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct End {
    /// `finalize`, `abort` or `exit`
    #[serde(default)]
    pub reason: String,
    /// Calls written.
    #[serde(default)]
    pub calls: u64,
    /// Calls not written because of the limit of disk space.
    #[serde(default)]
    pub left_out: u64,
    /// Number of calls missing for other reasons: calls in callbacks, calls left by a jump, calls that are
    /// too long, or a lack of memory.
    #[serde(default)]
    pub unseen: u64,
    /// When the limit of disk space was reached.
    #[serde(default)]
    pub limit_ticks: Option<u64>,
    /// Wait of the program's threads for the writer.
    #[serde(default)]
    pub waited_ns: u64,
}
