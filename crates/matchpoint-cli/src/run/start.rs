//! The line that reports that the engine matches.

use std::time::{Duration, Instant};

use matchpoint_replay::format;
use matchpoint_run::job::{Job, Position};
use matchpoint_run::overflow::Limit;
use matchpoint_run::report::{Overflow, Process};

use crate::report::run::Run;
use crate::report::run::verdict::explain_off;

#[derive(Default)]
pub struct StartMessage {
    pub is_printed: bool,
    seen: usize,
    changed: Option<Instant>,
    looked: Option<Instant>,
    took: Duration,
}

impl StartMessage {
    /// Time to wait for more reports if the number of processes is unknown.
    const PATIENCE: Duration = Duration::from_millis(500);
    /// Time to wait for more reports if the number of processes is known. A loaded host starts processes seconds apart.
    const LONG_PATIENCE: Duration = Duration::from_secs(10);
    /// Minimum interval between reads of the folder.
    const PAUSE: Duration = Duration::from_millis(100);
    /// Minimum interval ÷ duration of a read, for many processes.
    const SHARE: u32 = 20;

    pub fn poll(&mut self, job: &Job) {
        let pause = StartMessage::PAUSE.max(self.took * StartMessage::SHARE);
        if self.is_printed || self.looked.is_some_and(|looked| looked.elapsed() < pause) {
            return;
        }
        let begin = Instant::now();
        let reports = job.processes();
        (self.took, self.looked) = (begin.elapsed(), Some(Instant::now()));
        let matched = reports.iter().filter(|process| process.is_matched()).count();
        if matched != self.seen {
            (self.seen, self.changed) = (matched, Some(Instant::now()));
        }
        let all = job.ranks.is_some_and(|ranks| matched as u64 >= ranks);
        let patience = if job.ranks.is_some() { StartMessage::LONG_PATIENCE } else { StartMessage::PATIENCE };
        let settled = self.changed.is_some_and(|changed| changed.elapsed() > patience);
        if matched > 0 && (all || settled) {
            self.is_printed = true;
            anstream::eprintln!("{}", start_message(job, &reports));
            // A job with missing processes may hang.
            if let Some(why) = Run::of_job(job, &reports).unseen() {
                anstream::eprintln!("matchpoint: {why}");
            }
        }
    }
}

pub fn start_message(job: &Job, reports: &[Process]) -> String {
    let matched: Vec<&Process> = reports.iter().filter(|process| process.is_matched()).collect();
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
            match overflow.and_then(|overflow| overflow.off.as_deref()) {
                Some(reason) => {
                    format!("matchpoint: overflow matching is off in {ranks}: {}", explain_off(reason))
                }
                None => {
                    format!("matchpoint: {engine} is ready in {ranks}: overflow begins {}", begins(overflow))
                }
            }
        }
        Position::Below(below) => format!(
            "matchpoint: {engine} matches for {ranks} over {} (libfabric {}, peer-SRX mode)",
            below.choice.core,
            first.map_or("", |process| &process.libfabric),
        ),
    }
}

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
