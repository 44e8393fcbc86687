//! Replays a trace: finds out in which order messages arrived, and plays the events that follow through matching
//! engines.
//!
//! [`replay`] gives [`Measurements`]: plain data, from which every report is made.

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
mod flush;
mod growth;
pub mod host;
mod in_order;
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
mod plausible;
mod proc_null;
mod process;
mod profile;
pub mod progress;
pub mod recorded;
mod replay;
mod reported;
mod requests;
mod schedule;
mod simulation;
mod slab;
mod step;
mod survey;
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

/// What to replay, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names of the engines. The verdict is about the first.
    pub engines: Vec<String>,
    /// Engines but the first are played as far as a fraction of a second goes, each; what remains is estimated.
    pub sampled: bool,
    /// In which order messages arrive.
    pub arrivals: Arrivals,
    /// The network.
    pub loggp: LogGp,
    /// Also find the unexpected share under the other modes (three replays instead of one).
    pub compare_arrivals: bool,
}

/// Why there are no measurements.
#[derive(Debug)]
pub enum ReplayError {
    /// The trace cannot be read.
    Trace(TraceError),
    /// An engine's name cannot be understood.
    Engine(NameError),
    /// The trace does not have when messages arrived: [`Arrivals::Recorded`] cannot be.
    NoArrivals,
    /// The system would not start a thread.
    Thread(String),
    /// [`Progress::stop`] was called.
    Stopped,
}

impl std::fmt::Display for ReplayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReplayError::Trace(error) => error.fmt(f),
            ReplayError::Engine(error) => error.fmt(f),
            ReplayError::NoArrivals => f.write_str(
                "this trace does not have when messages arrived, as matchpoint run --record writes it; leave \
                 --arrivals recorded out",
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
