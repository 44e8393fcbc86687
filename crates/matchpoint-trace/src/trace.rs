//! A trace: ranks with streams of calls.

use std::path::PathBuf;

use crate::call::Call;
use crate::error::TraceError;
use crate::search::SearchCost;

/// Properties of a trace, known before its streams are read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Description {
    /// Format with version: `DUMPI 13.0.0`.
    pub format: String,
    /// Version of the MPI library on one line, if known.
    pub library: Option<String>,
    /// Component of the MPI library that matches messages, if known.
    pub transport: Option<String>,
    /// Command of the job; empty if unknown.
    pub command: Vec<String>,
    /// Start of the job, in RFC 3339 format.
    pub started: Option<String>,
    pub path: PathBuf,
    /// Ranks of `MPI_COMM_WORLD`, at least the number of streams.
    pub ranks: u32,
    /// Ranks without a readable stream, or with a stream without calls.
    pub missing: Vec<Missing>,
    /// Size of all streams in bytes, for the display of progress.
    pub bytes: u64,
    /// Number of calls that the recorder omitted, according to the trace.
    pub calls_left_out: u64,
    /// Number of recorded calls that the files no longer contain.
    pub calls_cut_off: u64,
    /// Ranks with an unknown number of missing last calls, ascending: the process died, or its file is
    /// incomplete. Ranks in `missing` are excluded.
    pub ended_early: Vec<u32>,
    /// Maximum error between the clocks of all ranks; `None` if each rank may have another clock.
    pub clock_error_ns: Option<u64>,
    /// A receive from `MPI_PROC_NULL` may look like a receive from any source.
    pub null_looks_any: bool,
    /// Limitations, as full sentences.
    pub notes: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    pub rank: u32,
    pub why: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Time of the arrival in the clock of the rank's calls.
    pub at_ns: i64,
    /// Rank of the sender in `MPI_COMM_WORLD`.
    pub from: u32,
    pub tag: i32,
}

/// Arrivals of a rank, in order of time.
pub type Arrivals<'a> = Box<dyn Iterator<Item = Result<Arrival, TraceError>> + Send + 'a>;

/// Conversion of a process's ticks to nanoseconds in the clock of its calls.
pub type Nanoseconds<'a> = Box<dyn FnMut(u64) -> i64 + 'a>;

/// Several threads may read the ranks concurrently.
pub trait Trace: Send + Sync {
    fn description(&self) -> &Description;

    /// Ranks with a stream, ascending.
    fn present(&self) -> &[u32];

    /// The stream of a present rank, which may be opened several times.
    ///
    /// # Errors
    /// The file was removed or changed.
    ///
    /// # Panics
    /// If `rank` is not [`present`](Self::present).
    fn rank(&self, rank: u32) -> Result<Box<dyn RankReader + '_>, TraceError>;

    /// Recorded arrivals of a present rank (`matchpoint run --record`), if any.
    fn arrivals(&self, rank: u32) -> Result<Option<Arrivals<'_>>, TraceError> {
        let _ = rank;
        Ok(None)
    }

    /// Search costs that pairs of ranks measured; empty if not measured.
    fn searches(&self) -> Vec<SearchCost> {
        Vec::new()
    }

    /// Processes per processor at the most crowded host, at least 1, if known.
    fn crowding(&self) -> Option<f64> {
        None
    }

    /// Conversion of a present rank's ticks, for formats with ticks.
    fn nanoseconds(&self, rank: u32) -> Option<Nanoseconds<'_>> {
        let _ = rank;
        None
    }
}

pub trait RankReader: Send {
    /// Reads the next call. Returns false at the end. Overwrites `call`, but keeps the capacity of its
    /// vectors.
    ///
    /// # Errors
    /// The stream is damaged and cannot be read any further.
    fn read(&mut self, call: &mut Call) -> Result<bool, TraceError>;

    /// Reads as [`read`](Self::read), possibly without requests and completions of the `Wait*`, `Test*` and
    /// `Start*` families.
    fn read_outline(&mut self, call: &mut Call) -> Result<bool, TraceError> {
        self.read(call)
    }

    fn position(&self) -> u64;
}
