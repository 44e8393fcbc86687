//! Queue contents of a hanging job, on SIGUSR1.
//!
//! MPICH uses SIGUSR1, so this command sends SIGUSR2 to its processes on this host. The library writes the queues into
//! files next to the reports when the application next polls. A computing process does not poll.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use matchpoint_run::job::{Job, Position};
use matchpoint_run::report::Process;
use rustix::process::{Pid, Signal, kill_process};

use crate::failure::Failure;
use crate::job::signalled;

pub struct Queues {
    asked: Arc<AtomicBool>,
    waiting: Option<Instant>,
    /// Number of printed bytes of each file.
    printed: BTreeMap<PathBuf, usize>,
}

impl Queues {
    /// Time to wait for answers, in case a process does not poll.
    const PATIENCE: Duration = Duration::from_secs(1);

    pub fn watch() -> Result<Queues, Failure> {
        let asked = signalled(&[signal_hook::consts::SIGUSR1])?;
        Ok(Queues { asked, waiting: None, printed: BTreeMap::new() })
    }

    pub fn poll(&mut self, job: &Job) {
        if self.asked.swap(false, Relaxed) {
            ask(job);
            self.waiting = Some(Instant::now());
        }
        if self.waiting.is_some_and(|asked| asked.elapsed() > Queues::PATIENCE) {
            self.waiting = None;
            self.print_answers(job);
        }
    }

    fn print_answers(&mut self, job: &Job) {
        let own = own_host();
        for process in job.processes().iter().filter(|process| process.is_matched()) {
            let path = answers(job, process);
            let text = fs::read_to_string(&path).unwrap_or_default();
            let printed = self.printed.entry(path).or_default();
            let fresh = text.get(*printed..).unwrap_or_default();
            let name = name(process);
            if !fresh.is_empty() {
                anstream::eprint!("matchpoint: {name}: queues, oldest first\n{fresh}");
            } else if process.host == own {
                let why = match job.position {
                    _ if !answers(job, process).exists() => {
                        "the application handles SIGUSR2, so the signal was not sent"
                    }
                    Position::Above(_) => {
                        "it computes, or waits in the MPI library\nhint: use --limit 0 to keep every receive and message in \
                         the engine, or --record and `matchpoint top` for the call of each rank"
                    }
                    Position::Below(_) => "it does not wait for messages",
                };
                anstream::eprintln!("matchpoint: {name}: no answer: {why}");
            }
            *printed = text.len();
        }
    }
}

fn own_host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

fn answers(job: &Job, process: &Process) -> PathBuf {
    job.folder.reports().join(format!("queues-{}-{}.txt", process.host, process.pid))
}

fn ask(job: &Job) {
    let own = own_host();
    for process in job.processes().iter().filter(|process| process.is_open()) {
        let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
        let (true, Some(pid)) = (process.host == own, pid) else {
            anstream::eprintln!(
                "matchpoint: {}: on {}, run kill -USR2 {}; the answer is in {}",
                name(process),
                process.host,
                process.pid,
                answers(job, process).display()
            );
            continue;
        };
        // A process with another handler of SIGUSR2 has no such file.
        if answers(job, process).exists() && is_of(job, process.pid) {
            let _ = kill_process(pid, Signal::USR2);
        }
    }
}

/// Whether the process id belongs to the job. SIGUSR2 would end another process.
fn is_of(job: &Job, pid: u64) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let folder = job.folder.reports().into_os_string().into_encoded_bytes();
    environment.split(|&byte| byte == 0).any(|variable| variable.ends_with(&folder))
}

fn name(process: &Process) -> String {
    process
        .rank
        .map_or_else(|| format!("process {} on {}", process.pid, process.host), |rank| format!("rank {rank}"))
}
