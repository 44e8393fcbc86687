//! In which order messages arrive: a trace taken above MPI does not know, so it is a named choice.

use std::fmt::{self, Display};
use std::str::FromStr;

use matchpoint_trace::Trace;

/// How the order of arrivals is found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Arrivals {
    /// All ranks are simulated together under LogGP: compute gaps are the trace's, communication is the model's,
    /// waits really wait.
    #[default]
    Simulated,
    /// Messages travel from the time their send was recorded at, under LogGP, clocks aligned; receives are posted at
    /// the time recorded.
    Timestamps,
    /// A message arrives when the call that completes its receive returns: nothing is ever unexpected. The
    /// simplification of the published analyzer (García et al. 2024, §V), for comparison.
    AtWait,
    /// Messages arrive when they did, which was recorded below MPI (`matchpoint run --record`); receives are posted at
    /// the time recorded.
    Recorded,
}

impl Arrivals {
    /// All of them.
    pub const ALL: [Arrivals; 4] =
        [Arrivals::Simulated, Arrivals::Timestamps, Arrivals::AtWait, Arrivals::Recorded];

    /// Those that are assumed: any trace can be replayed under them.
    pub const ASSUMED: [Arrivals; 3] = [Arrivals::Simulated, Arrivals::Timestamps, Arrivals::AtWait];

    /// The mode that says most of the traced run: as recorded, else by recorded times if they are of one clock, else
    /// simulated.
    pub fn best_of(trace: &dyn Trace) -> Arrivals {
        match trace.description().clock_error_ns {
            _ if has_arrivals(trace) => Arrivals::Recorded,
            Some(_) => Arrivals::Timestamps,
            None => Arrivals::Simulated,
        }
    }

    /// Calls are made at the times recorded.
    pub(crate) fn by_clock(self) -> bool {
        matches!(self, Arrivals::Timestamps | Arrivals::Recorded)
    }
}

/// Whether it was recorded when messages arrived, at all ranks.
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
