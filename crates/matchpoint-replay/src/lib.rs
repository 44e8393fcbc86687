//! Replay of traces through matching engines.
//!
//! [`replay()`] determines the arrival order, executes the calls, measures the engines and returns [`Measurements`].

#![allow(missing_docs)] // a name that explains an item needs no comment

pub mod analysis;
pub mod arrivals;
mod at_wait;
mod backlog;
mod batch;
mod bits;
mod budget;
mod clocks;
mod communicators;
mod entries;
pub mod events;
pub mod format;
mod growth;
pub mod host;
mod inbox;
mod label;
pub mod library_cost;
pub mod loggp;
mod matcher;
mod measure;
pub mod measurements;
pub mod members;
mod observer;
mod peers;
mod proc_null;
mod process;
mod profile;
pub mod progress;
mod rank_summary;
pub mod recorded;
mod recorded_arrivals;
mod replay;
mod requests;
mod schedule;
mod simulation;
mod slab;
mod status_envelope;
mod step;
mod tally;
mod timeline;
pub mod traffic;

pub use arrivals::Arrivals;
pub use events::events;
pub use loggp::LogGp;
pub use measurements::Measurements;
pub use profile::profile;
pub use progress::Progress;
pub use replay::replay;
pub use traffic::traffic;

use matchpoint::engines::NameError;
use matchpoint_trace::TraceError;

#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Names of engines. The verdict applies to the first engine.
    pub engines: Vec<String>,
    /// Measures each engine except the first for a fraction of a second, and estimates the rest.
    pub sampled: bool,
    pub arrivals: Arrivals,
    pub loggp: LogGp,
    /// Also replay under the other arrival orders.
    pub compare_arrivals: bool,
}

#[derive(Debug)]
pub enum ReplayError {
    Trace(TraceError),
    Engine(NameError),
    NoArrivals,
    Thread(String),
    Stopped,
}

impl std::fmt::Display for ReplayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReplayError::Trace(error) => error.fmt(f),
            ReplayError::Engine(error) => error.fmt(f),
            ReplayError::NoArrivals => f.write_str(
                "this trace contains no arrival times\nhint: omit --arrivals recorded, or record with matchpoint run \
                 --record",
            ),
            ReplayError::Thread(error) => write!(f, "cannot start a thread: {error}"),
            ReplayError::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for ReplayError {}

impl From<TraceError> for ReplayError {
    fn from(error: TraceError) -> Self {
        ReplayError::Trace(error)
    }
}

impl From<NameError> for ReplayError {
    fn from(error: NameError) -> Self {
        ReplayError::Engine(error)
    }
}
