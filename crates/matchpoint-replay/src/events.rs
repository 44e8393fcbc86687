//! Events of a trace, for other measurements than those of [`replay`](crate::replay()).

use matchpoint::{Event, Outcome};
use matchpoint_trace::Trace;

use crate::replay::{Prepared, run};
use crate::step::{Brief, Kind, Sink};
use crate::{Arrivals, LogGp, Progress, ReplayError};

/// Events of one rank in order.
#[derive(Clone, Debug, Default)]
pub struct RankEvents {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// With the outcomes of the replay's matcher.
    pub events: Vec<(Event, Outcome)>,
}

/// Returns the first `limit` events of all ranks together, and whether there are more. An event takes about
/// 200 bytes.
///
/// # Errors
/// The trace is damaged, or [`Progress::stop`] was called.
pub fn events(
    trace: &dyn Trace,
    arrivals: Arrivals,
    loggp: LogGp,
    limit: usize,
    progress: &Progress,
) -> Result<(Vec<RankEvents>, bool), ReplayError> {
    let prepared = Prepared::new(trace, progress)?;
    let empty = |&rank: &u32| RankEvents { rank, events: Vec::new() };
    let kept = Kept { ranks: trace.present().iter().map(empty).collect(), left: limit, has_more: false };
    let (kept, _) = run(trace, &prepared.setting(arrivals, loggp), kept, progress)?;
    Ok((kept.ranks, kept.has_more))
}

struct Kept {
    ranks: Vec<RankEvents>,
    left: usize,
    has_more: bool,
}

impl Sink for Kept {
    fn step(&mut self, step: Brief) {
        if self.left == 0 {
            self.has_more = true;
            return;
        }
        self.left -= 1;
        self.ranks[step.process as usize].events.push(event(step.step().kind));
    }
}

pub(crate) fn event(kind: Kind) -> (Event, Outcome) {
    match kind {
        Kind::Post { receive, took } => (Event::Post(receive), Outcome::Posted(Ok(took))),
        Kind::Arrive { message, took, .. } => {
            (Event::Arrive(message), Outcome::Arrived(Ok(took.map(|receive| receive.id))))
        }
        Kind::Probe { selector, found } => (Event::Probe(selector), Outcome::Found(found)),
        Kind::MatchedProbe { selector, took } => (Event::MatchedProbe(selector), Outcome::Found(took)),
        Kind::Cancel { receive, was_posted } => (Event::Cancel(receive), Outcome::Done(was_posted)),
        Kind::Retract { message } => (Event::Retract(message), Outcome::Done(true)),
    }
}
