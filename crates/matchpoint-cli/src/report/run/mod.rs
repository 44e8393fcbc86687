//! What became of a job whose messages an engine of ours matched: its verdict, on the terminal, and as JSON; and how long it
//! took without us.

pub mod compared;
pub mod json;
pub mod terminal;
pub mod verdict;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use matchpoint_run::job::Job;
use matchpoint_run::report::{Process, Rank};

/// What the processes of one job told.
pub struct Run {
    /// Which engine matched.
    pub engine: String,
    /// Those that have a matched endpoint; first those that matching costs most, or would cost with a list.
    pub ranks: Vec<Rank>,
    /// Why others are matched by the core provider itself; of each reason, how many processes gave it.
    pub unmatched: Vec<(String, u64)>,
    /// Processes that loaded the provider, and opened no endpoint with it.
    pub idle: u64,
    /// How many the command asked for, if it says so.
    pub expected: Option<u64>,
    /// Hosts on which processes loaded the provider.
    pub heard: BTreeSet<String>,
    /// How many hosts the job reaches, and the folder that all of them must see; if that was known.
    reach: Option<(u64, PathBuf)>,
}

impl Run {
    /// Of these processes.
    pub fn new(processes: &[Process], expected: Option<u64>) -> Run {
        let mut ranks: Vec<Rank> =
            processes.iter().filter(|one| one.is_matched()).map(Process::sums).collect();
        let share = |rank: &Rank| rank.share().unwrap_or(0.0);
        ranks.sort_by(|a, b| share(b).total_cmp(&share(a)));
        let engine =
            processes.iter().flat_map(|process| &process.endpoints).map(|endpoint| endpoint.engine.clone());
        let mut unmatched: Vec<(String, u64)> = Vec::new();
        for why in processes.iter().flat_map(|process| process.unmatched.iter().take(1)) {
            match unmatched.iter_mut().find(|(known, _)| known == why) {
                Some((_, times)) => *times += 1,
                None => unmatched.push((why.clone(), 1)),
            }
        }
        let is_idle = |process: &&Process| !process.is_matched() && process.unmatched.is_empty();
        Run {
            engine: engine.max().unwrap_or_else(|| "hybrid".to_owned()),
            ranks,
            unmatched,
            idle: processes.iter().filter(is_idle).count() as u64,
            expected,
            heard: processes.iter().map(|process| process.host.clone()).collect(),
            reach: None,
        }
    }

    /// Of a job, by what its processes reported so far.
    pub fn of_job(job: &Job, processes: &[Process]) -> Run {
        Run::new(processes, job.ranks).over(job.hosts.count, &job.folder.path)
    }

    /// Of a job that reaches so many hosts, its reports in this folder.
    pub fn over(self, hosts: u64, folder: &Path) -> Run {
        Run { reach: Some((hosts, folder.to_owned())), ..self }
    }

    /// Processes that told nothing.
    pub fn silent(&self) -> u64 {
        let told =
            self.ranks.len() as u64 + self.idle + self.unmatched.iter().map(|(_, times)| times).sum::<u64>();
        self.expected.map_or(0, |expected| expected.saturating_sub(told))
    }

    /// Processes of the first host were heard of, and none of the others: what must be the matter, in words.
    pub fn unseen(&self) -> Option<String> {
        let (hosts, folder) = self.reach.as_ref()?;
        let expected = self.expected?;
        let host = self.heard.first().filter(|_| self.heard.len() == 1 && *hosts > 1 && self.silent() > 0)?;
        Some(format!(
            "{} of {expected} processes reported nothing, and all that did are on {host}: the other hosts do not see \
             {}, it seems; name a folder that all hosts see with --folder",
            self.silent(),
            folder.display()
        ))
    }

    /// Ranks that did not close their endpoints: killed, aborted, or left by `exit`.
    pub fn unfinished(&self) -> Vec<u32> {
        let open = self.ranks.iter().filter(|rank| !rank.complete);
        let mut open: Vec<u32> = open.filter_map(|rank| u32::try_from(rank.rank?).ok()).collect();
        open.sort_unstable();
        open
    }
}
