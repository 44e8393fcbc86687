//! Reports of `matchpoint run`: verdict, table of ranks, JSON, and comparison of run times.

pub mod compared;
pub mod json;
pub mod terminal;
pub mod verdict;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use matchpoint_run::job::Job;
use matchpoint_run::report::{Process, Rank};

pub struct Run {
    pub engine: String,
    /// The engine of the job, if another engine replaced this engine because of a full table.
    pub replaced: Option<String>,
    /// Ranks that matched messages, with the largest share first.
    pub ranks: Vec<Rank>,
    pub unmatched: Vec<(String, u64)>,
    /// Processes that loaded the provider and opened no endpoint.
    pub idle: u64,
    pub expected: Option<u64>,
    pub reporting_hosts: BTreeSet<String>,
    /// Number of hosts of the job, and the shared folder of the reports, if known.
    shared_folder: Option<(u64, PathBuf)>,
}

impl Run {
    pub fn new(processes: &[Process], expected: Option<u64>) -> Run {
        let mut ranks: Vec<Rank> =
            processes.iter().filter(|one| one.is_matched()).map(Process::sums).collect();
        let share = |rank: &Rank| rank.share().unwrap_or(0.0);
        let overflowed = |rank: &Rank| rank.overflow.as_ref().map_or(0, |overflow| overflow.overflowed);
        ranks.sort_by(|a, b| share(b).total_cmp(&share(a)).then(overflowed(b).cmp(&overflowed(a))));
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
        let replaced = processes.iter().flat_map(|process| &process.endpoints);
        Run {
            replaced: replaced.filter_map(|endpoint| endpoint.replaced.clone()).max(),
            engine: engine.max().unwrap_or_else(|| "hybrid".to_owned()),
            ranks,
            unmatched,
            idle: processes.iter().filter(is_idle).count() as u64,
            expected,
            reporting_hosts: processes.iter().map(|process| process.host.clone()).collect(),
            shared_folder: None,
        }
    }

    pub fn of_job(job: &Job, processes: &[Process]) -> Run {
        Run::new(processes, job.ranks).over(job.hosts.count, &job.folder.path)
    }

    pub fn over(self, hosts: u64, folder: &Path) -> Run {
        Run { shared_folder: Some((hosts, folder.to_owned())), ..self }
    }

    pub fn silent(&self) -> u64 {
        let reported =
            self.ranks.len() as u64 + self.idle + self.unmatched.iter().map(|(_, times)| times).sum::<u64>();
        self.expected.map_or(0, |expected| expected.saturating_sub(reported))
    }

    /// A sentence if only one host sees the folder of the reports.
    pub fn unseen(&self) -> Option<String> {
        let (hosts, folder) = self.shared_folder.as_ref()?;
        let expected = self.expected?;
        let is_only = self.reporting_hosts.len() == 1 && *hosts > 1 && self.silent() > 0;
        let host = self.reporting_hosts.first().filter(|_| is_only)?;
        Some(format!(
            "{} of {expected} processes wrote no report, and the others are on {host}. Other hosts may not see the \
             folder '{}': name a shared folder with --folder",
            self.silent(),
            folder.display()
        ))
    }

    /// Ranks that did not close their endpoints, because the processes were killed, aborted, or called `exit`.
    pub fn unfinished(&self) -> Vec<u32> {
        let open = self.ranks.iter().filter(|rank| !rank.complete);
        let mut open: Vec<u32> = open.filter_map(|rank| u32::try_from(rank.rank?).ok()).collect();
        open.sort_unstable();
        open
    }
}
