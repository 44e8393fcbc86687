//! JSON blocks of a rank's file: the head and the end. A field without a comment is described by its name.

use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Head {
    pub version: u32,
    pub rank: u32,
    pub size: u32,
    #[serde(default)]
    pub host: String,
    /// Id of the host's boot. Several hosts may have the same name.
    #[serde(default)]
    pub boot: String,
    #[serde(default)]
    pub pid: u64,
    /// Processors of the host; 0 if unknown.
    #[serde(default)]
    pub processors: u32,
    #[serde(default)]
    pub library: String,
    /// Component of the library that matches messages (`ob1`, `ucx`, …), if known.
    #[serde(default)]
    pub transport: String,
    #[serde(default)]
    pub standard: String,
    #[serde(default)]
    pub thread_level: String,
    #[serde(default)]
    pub program: String,
    /// Wall clock time of the start, since 1970.
    #[serde(default)]
    pub started_ns: i64,
    pub clock: Clock,
    /// True if a receive from `MPI_PROC_NULL` may look like a receive from any source.
    #[serde(default)]
    pub null_looks_any: bool,
    /// Name and fields of every function. Calls contain indexes of this vector.
    pub functions: Vec<(String, String)>,
}

impl Head {
    /// First line of `library`, with single spaces between words, if known.
    pub fn library_line(&self) -> Option<String> {
        let line = self.library.lines().next()?.split_whitespace().collect::<Vec<_>>().join(" ");
        (!line.is_empty()).then_some(line)
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Clock {
    #[serde(default)]
    pub source: String,
    /// Ticks per second, estimated at the start of the process.
    pub hz: f64,
    /// A reading of the clock, in ticks.
    pub ticks: u64,
    /// Time of the same moment on the host's monotonic clock.
    pub ns: i64,
}

/// Executable or shared library of the process.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Module {
    pub path: String,
    /// Address in the process of the file's address 0.
    pub base: u64,
    pub from: u64,
    /// First address after the code.
    pub to: u64,
}

#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct End {
    #[serde(default)]
    pub reason: String,
    #[serde(default)]
    pub calls: u64,
    /// Calls that the recorder omitted because of the limit of disk space.
    #[serde(default)]
    pub left_out: u64,
    /// Number of calls missing for other reasons: calls in callbacks, calls left by a jump, calls that are
    /// too long, or a lack of memory.
    #[serde(default)]
    pub unseen: u64,
    #[serde(default)]
    pub limit_ticks: Option<u64>,
    /// Time that the threads of the program waited for the writing thread.
    #[serde(default)]
    pub waited_ns: u64,
}
