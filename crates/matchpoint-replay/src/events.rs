//! Events of a trace, for measurements that [`replay`](crate::replay()) does not make.

use matchpoint::{Event, Outcome};
use matchpoint_trace::Trace;

use crate::replay::{FirstPass, run};
use crate::step::{CompactStep, Kind, StepSink};
use crate::{Arrivals, LogGp, Progress, ReplayError};

#[derive(Clone, Debug, Default)]
pub struct RankEvents {
    pub rank: u32,
    pub events: Vec<(Event, Outcome)>,
}

/// The first `limit` events, about 200 bytes each, and whether there are more. With `only`, the other ranks have no
/// events; without, `limit` counts the events of all ranks.
///
/// # Errors
/// As [`replay`](crate::replay()), except names of engines.
pub fn events(
    trace: &dyn Trace,
    arrivals: Arrivals,
    loggp: LogGp,
    only: Option<u32>,
    limit: usize,
    progress: &Progress,
) -> Result<(Vec<RankEvents>, bool), ReplayError> {
    let first_pass = FirstPass::new(trace, progress)?;
    let empty = |&rank: &u32| RankEvents { rank, events: Vec::new() };
    let list =
        EventList { ranks: trace.present().iter().map(empty).collect(), only, left: limit, has_more: false };
    let (list, _) = run(trace, &first_pass.setting(arrivals, loggp), list, progress)?;
    Ok((list.ranks, list.has_more))
}

struct EventList {
    ranks: Vec<RankEvents>,
    only: Option<u32>,
    left: usize,
    has_more: bool,
}

impl StepSink for EventList {
    fn record_step(&mut self, step: CompactStep) {
        let rank = &mut self.ranks[step.process as usize];
        if self.only.is_some_and(|only| only != rank.rank) {
            return;
        }
        if self.left == 0 {
            self.has_more = true;
            return;
        }
        self.left -= 1;
        rank.events.push(event(step.expand().kind));
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
