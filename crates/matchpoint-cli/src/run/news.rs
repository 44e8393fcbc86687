//! The line that says that the engine really matches, as soon as the ranks have told so.

use std::time::{Duration, Instant};

use matchpoint_run::job::Job;
use matchpoint_run::report::Process;

use crate::format;

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
            if let Some(why) = super::of(job, &told).unseen() {
                anstream::eprintln!("matchpoint: {why}");
            }
        }
    }
}

/// `matchpoint: hybrid matches for 8 ranks over shm (libfabric 2.5, owner of the receive queue)`
pub fn news_of(job: &Job, told: &[Process]) -> String {
    let matched: Vec<&Process> = told.iter().filter(|process| process.is_matched()).collect();
    let first = matched.first();
    let endpoint = first.and_then(|process| process.endpoints.first());
    format!(
        "matchpoint: {} matches for {} over {} (libfabric {}, owner of the receive queue)",
        endpoint.map_or(job.engine.as_str(), |endpoint| &endpoint.engine),
        match job.ranks.filter(|ranks| *ranks > matched.len() as u64) {
            Some(ranks) => format!("{} of {ranks} ranks", matched.len()),
            None => format::counted(matched.len() as u64, "rank"),
        },
        job.choice.core,
        first.map_or("", |process| &process.libfabric),
    )
}
