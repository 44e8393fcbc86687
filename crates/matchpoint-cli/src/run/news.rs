//! The line that says that the engine really matches, as soon as the ranks have told so.

use std::time::{Duration, Instant};

use matchpoint_run::job::{Job, Position};
use matchpoint_run::overflow::Limit;
use matchpoint_run::report::{Overflow, Process};

use crate::format;
use crate::report::run::Run;

/// Looks for the first reports, and says once what they show.
#[derive(Default)]
pub struct News {
    /// It was said.
    pub told: bool,
    seen: usize,
    changed: Option<Instant>,
    looked: Option<Instant>,
    /// How long that took.
    took: Duration,
}

impl News {
    /// Where nobody knows how many there will be: after this time without another, these are they.
    const PATIENCE: Duration = Duration::from_millis(500);
    /// Where it is known that some are not there yet: a busy machine starts processes seconds apart.
    const LONG_PATIENCE: Duration = Duration::from_secs(10);
    /// The folder is read no more often than this,
    const PAUSE: Duration = Duration::from_millis(100);
    /// and for no more than one part in so many of the time, however many processes have told.
    const SHARE: u32 = 20;

    /// Looks, now and then.
    pub fn look(&mut self, job: &Job) {
        let pause = News::PAUSE.max(self.took * News::SHARE);
        if self.told || self.looked.is_some_and(|looked| looked.elapsed() < pause) {
            return;
        }
        let begin = Instant::now();
        let told = job.processes();
        (self.took, self.looked) = (begin.elapsed(), Some(Instant::now()));
        let matched = told.iter().filter(|process| process.is_matched()).count();
        if matched != self.seen {
            (self.seen, self.changed) = (matched, Some(Instant::now()));
        }
        let all = job.ranks.is_some_and(|ranks| matched as u64 >= ranks);
        let patience = if job.ranks.is_some() { News::LONG_PATIENCE } else { News::PATIENCE };
        let settled = self.changed.is_some_and(|changed| changed.elapsed() > patience);
        if matched > 0 && (all || settled) {
            self.told = true;
            anstream::eprintln!("{}", news_of(job, &told));
            // A job of which only some could begin may wait for the others for ever.
            if let Some(why) = Run::of_job(job, &told).unseen() {
                anstream::eprintln!("matchpoint: {why}");
            }
        }
    }
}

/// `matchpoint: hybrid matches overflow for 8 ranks`, or `… matches for 8 ranks over shm (libfabric 2.5, …)`.
pub fn news_of(job: &Job, told: &[Process]) -> String {
    let matched: Vec<&Process> = told.iter().filter(|process| process.is_matched()).collect();
    let first = matched.first();
    let endpoint = first.and_then(|process| process.endpoints.first());
    let engine = endpoint.map_or(job.engine.as_str(), |endpoint| &endpoint.engine);
    let ranks = match job.ranks.filter(|ranks| *ranks > matched.len() as u64) {
        Some(ranks) => format!("{} of {ranks} ranks", matched.len()),
        None => format::counted(matched.len() as u64, "rank"),
    };
    match &job.position {
        Position::Above(above) if above.limit == Limit::None => {
            format!("matchpoint: {engine} is ready in {ranks}: no receive overflows (--limit none)")
        }
        Position::Above(_) => {
            let overflow = first.and_then(|process| process.overflow.as_ref());
            format!("matchpoint: {engine} is ready in {ranks}: overflow begins {}", begins(overflow))
        }
        Position::Below(below) => format!(
            "matchpoint: {engine} matches for {ranks} over {} (libfabric {}, owner of the receive queue)",
            below.choice.core,
            first.map_or("", |process| &process.libfabric),
        ),
    }
}

/// Where overflow begins in a process.
fn begins(overflow: Option<&Overflow>) -> String {
    let receives = |limit: u64| match limit {
        0 => "with the first receive".to_owned(),
        limit => format!("beyond {} in the MPI library", format::counted(limit, "receive")),
    };
    match overflow.map(|overflow| (overflow.limit_named, overflow.limit_any)) {
        Some((Some(named), Some(any))) if named == any => receives(named),
        Some((Some(named), Some(any))) => {
            format!("beyond {named} receives in the MPI library, or {any} from any source")
        }
        Some((Some(named), None)) => receives(named),
        Some((None, Some(any))) => {
            format!("beyond {} from any source in the MPI library", format::counted(any, "receive"))
        }
        Some((None, None)) => "at long unexpected queues only".to_owned(),
        None => "never".to_owned(),
    }
}
