//! Arrival orders. A trace recorded at the MPI layer has none, so the user chooses one.

use std::fmt::{self, Display};
use std::str::FromStr;

use matchpoint_trace::Trace;

/// Source of the arrival order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Arrivals {
    /// Simulation of all ranks under LogGP: the trace gives the time between calls, the model gives the
    /// communication, and blocking calls wait.
    #[default]
    Simulated,
    /// Messages start at the recorded time of their send and travel under LogGP with aligned clocks. Receives
    /// are posted at the recorded times.
    Timestamps,
    /// A message arrives when the call that completes its receive returns, so no message is unexpected. This
    /// is the simplification of the published analyzer (García et al. 2024, §V), for comparison.
    AtWait,
    /// Messages arrive at the times that `matchpoint run --record` recorded below MPI. Receives are posted at
    /// the recorded times.
    Recorded,
}

impl Arrivals {
    /// All arrival orders.
    pub const ALL: [Arrivals; 4] =
        [Arrivals::Simulated, Arrivals::Timestamps, Arrivals::AtWait, Arrivals::Recorded];

    /// Arrival orders that any trace supports.
    pub const ASSUMED: [Arrivals; 3] = [Arrivals::Simulated, Arrivals::Timestamps, Arrivals::AtWait];

    /// Best arrival order for a trace: recorded arrivals, else timestamps of one clock, else the simulation.
    pub fn best_of(trace: &dyn Trace) -> Arrivals {
        match trace.description().clock_error_ns {
            _ if has_arrivals(trace) => Arrivals::Recorded,
            Some(_) => Arrivals::Timestamps,
            None => Arrivals::Simulated,
        }
    }

    /// Calls take place at the recorded times.
    pub(crate) fn by_clock(self) -> bool {
        matches!(self, Arrivals::Timestamps | Arrivals::Recorded)
    }
}

/// Returns true if all ranks have recorded arrivals.
pub(crate) fn has_arrivals(trace: &dyn Trace) -> bool {
    trace.present().iter().all(|&rank| matches!(trace.arrivals(rank), Ok(Some(_))))
}

impl Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arrivals::Simulated => "simulated",
            Arrivals::Timestamps => "timestamps",
            Arrivals::AtWait => "at_wait",
            Arrivals::Recorded => "recorded",
        })
    }
}

impl FromStr for Arrivals {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Arrivals::ALL.into_iter().find(|mode| mode.to_string() == text).ok_or_else(|| {
            format!("`{text}` is no order of arrivals; there are simulated, timestamps, at_wait and recorded")
        })
    }
}
