//! Arrival orders of messages.

use std::fmt::{self, Display};
use std::str::FromStr;

use matchpoint_trace::Trace;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Arrivals {
    /// LogGP determines the arrivals of all ranks. The time between calls is the recorded time; blocking
    /// calls wait in the simulation.
    #[default]
    Simulated,
    /// A message is sent at the recorded time of its send, and its flight takes the time of LogGP. Clocks are
    /// aligned.
    Timestamps,
    /// A message arrives when the call that completes its receive returns (García et al. 2024, §V).
    AtWait,
    /// Recorded below MPI by `matchpoint run --record`.
    Recorded,
}

impl Arrivals {
    pub const ALL: [Arrivals; 4] =
        [Arrivals::Simulated, Arrivals::Timestamps, Arrivals::AtWait, Arrivals::Recorded];

    /// Arrival orders for traces without recorded arrivals.
    pub const ASSUMED: [Arrivals; 3] = [Arrivals::Simulated, Arrivals::Timestamps, Arrivals::AtWait];

    /// Recorded arrivals; else timestamps, if all ranks have one clock; else the simulation.
    pub fn best_of(trace: &dyn Trace) -> Arrivals {
        match trace.description().clock_error_ns {
            _ if has_arrivals(trace) => Arrivals::Recorded,
            Some(_) => Arrivals::Timestamps,
            None => Arrivals::Simulated,
        }
    }

    pub(crate) fn uses_recorded_times(self) -> bool {
        matches!(self, Arrivals::Timestamps | Arrivals::Recorded)
    }
}

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
            format!("'{text}' is not an arrival order: use simulated, timestamps, at_wait or recorded")
        })
    }
}
