//! A trace: some ranks, each a stream of calls.

use std::path::PathBuf;

use crate::call::Call;
use crate::error::TraceError;
use crate::search::SearchCost;

/// What is known of a trace before its streams are read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    /// The format and its version, in words: `DUMPI 13.0.0`.
    pub format: String,
    /// The MPI library, as it calls itself, on one line; `None` if the trace does not tell.
    pub library: Option<String>,
    /// The part of the MPI library that matches messages, as the recorder names it; `None` if unknown.
    pub transport: Option<String>,
    /// The command line of the traced job; empty: unknown.
    pub command: Vec<String>,
    /// When the job started, as in RFC 3339.
    pub started: Option<String>,
    /// Where it was found.
    pub path: PathBuf,
    /// Number of processes in `MPI_COMM_WORLD`, as far as the trace tells: at least the number of streams.
    pub ranks: u32,
    /// Ranks without a readable stream, or with one that holds none of their calls.
    pub missing: Vec<Missing>,
    /// Bytes of all streams together: what progress is measured against.
    pub bytes: u64,
    /// Calls that the tracer says it did not write.
    pub calls_left_out: u64,
    /// Calls that were written, as the trace says, and that its files have no more: they are shorter than they were.
    pub calls_cut_off: u64,
    /// Ranks of which an unknown number of last calls is not in the trace, ascending: their processes died, or their
    /// files are not whole. Those that are missing are not among them.
    pub ended_early: Vec<u32>,
    /// The times of all ranks are on one clock, but for an error of so much at most. `None`: each rank's times are its
    /// own clock's, which may be any.
    pub clock_error_ns: Option<u64>,
    /// A receive from `MPI_PROC_NULL` may be shown as one from any source.
    pub null_looks_any: bool,
    /// What a user should know before trusting a result (versions that disagree, calls that the tracer left out, …):
    /// full sentences.
    pub notes: Vec<String>,
}

/// A rank whose stream is not there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// Which.
    pub rank: u32,
    /// Why: no file, or one without calls.
    pub why: String,
}

/// A message that a rank received: when it arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// On the clock that the rank's calls have.
    pub at_ns: i64,
    /// Rank of its sender in `MPI_COMM_WORLD`.
    pub from: u32,
    /// Its tag.
    pub tag: i32,
}

/// A rank's arrivals, in their order.
pub type Arrivals<'a> = Box<dyn Iterator<Item = Result<Arrival, TraceError>> + Send + 'a>;

/// What a process's ticks are in nanoseconds, on the clock that its calls have.
pub type Nanoseconds<'a> = Box<dyn FnMut(u64) -> i64 + 'a>;

/// A trace that can be read, rank by rank, by several threads at once.
pub trait Trace: Send + Sync {
    /// What it is.
    fn description(&self) -> &Description;

    /// The ranks that have a stream, ascending.
    fn present(&self) -> &[u32];

    /// Begins to read the stream of one rank that is present. May be called again, for another pass.
    ///
    /// # Errors
    /// The file is gone, or is not what it was.
    ///
    /// # Panics
    /// If `rank` is not [`present`](Self::present).
    fn rank(&self, rank: u32) -> Result<Box<dyn RankReader + '_>, TraceError>;

    /// When messages arrived at a rank that is present, where that was recorded (`matchpoint run --record`); `None`: it
    /// was not. No tool above MPI sees it.
    ///
    /// # Errors
    /// The file cannot be opened.
    fn arrivals(&self, rank: u32) -> Result<Option<Arrivals<'_>>, TraceError> {
        let _ = rank;
        Ok(None)
    }

    /// What pairs of ranks measured of the MPI library that they ran with; empty: nothing.
    fn searches(&self) -> Vec<SearchCost> {
        Vec::new()
    }

    /// Processes that shared a processor, at the host with most of them: at least 1. `None`: the trace does not tell.
    fn crowding(&self) -> Option<f64> {
        None
    }

    /// What turns ticks of a rank that is present, as its recorder counted them, into the times of its calls; `None`: its
    /// format has no ticks.
    fn nanoseconds(&self, rank: u32) -> Option<Nanoseconds<'_>> {
        let _ = rank;
        None
    }
}

/// The stream of one rank.
pub trait RankReader: Send {
    /// Reads the next call into `call`; false once there are no more. All of `call` is overwritten, but its
    /// vectors keep their capacity.
    ///
    /// # Errors
    /// The stream is damaged here. It cannot be read any further.
    fn read(&mut self, call: &mut Call) -> Result<bool, TraceError>;

    /// The same, for a reader who does not ask what completed, nor which persistent requests began: the requests and
    /// completions of calls of the `Wait*`/`Test*` and `Start*` families may be left out.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn read_outline(&mut self, call: &mut Call) -> Result<bool, TraceError> {
        self.read(call)
    }

    /// Bytes read so far.
    fn position(&self) -> u64;
}
