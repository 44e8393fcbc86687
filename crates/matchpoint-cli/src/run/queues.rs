//! What stands in the queues of a job that hangs: on SIGUSR1 to this command, its processes on this host are asked, by
//! SIGUSR2: MPICH has a use of its own for the other.
//!
//! The provider writes into files beside its reports, when the application next looks for completions: one that waits for a
//! message looks all the time, one that computes does not.

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

/// Watches for the signal, and tells what the processes answer.
pub struct Queues {
    asked: Arc<AtomicBool>,
    waiting: Option<Instant>,
    /// Bytes of each file that have been told.
    told: BTreeMap<PathBuf, usize>,
}

impl Queues {
    /// After this time those that have not answered are not looking.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// From now on.
    ///
    /// # Errors
    /// The system does not let us.
    pub fn watch() -> Result<Queues, Failure> {
        let asked = signalled(&[signal_hook::consts::SIGUSR1])?;
        Ok(Queues { asked, waiting: None, told: BTreeMap::new() })
    }

    /// Asks if it is time to, and tells what was answered.
    pub fn look(&mut self, job: &Job) {
        if self.asked.swap(false, Relaxed) {
            ask(job);
            self.waiting = Some(Instant::now());
        }
        if self.waiting.is_some_and(|asked| asked.elapsed() > Queues::PATIENCE) {
            self.waiting = None;
            self.tell(job);
        }
    }

    fn tell(&mut self, job: &Job) {
        let own = own_host();
        for process in job.processes().iter().filter(|process| process.is_matched()) {
            let path = answers(job, process);
            let text = fs::read_to_string(&path).unwrap_or_default();
            let told = self.told.entry(path).or_default();
            let fresh = text.get(*told..).unwrap_or_default();
            let name = name(process);
            if !fresh.is_empty() {
                anstream::eprint!("matchpoint: {name}: queues, oldest first\n{fresh}");
            } else if process.host == own {
                let why = match job.position {
                    _ if !answers(job, process).exists() => {
                        "it has its own handler of SIGUSR2, and was not asked"
                    }
                    Position::Above(_) => {
                        "it computes, or waits in the MPI library. With --limit 0, receives and messages are here and not \
                         there; with --record, `matchpoint top` shows the call of each rank"
                    }
                    Position::Below(_) => "it is not waiting for messages",
                };
                anstream::eprintln!("matchpoint: {name} has not answered: {why}");
            }
            *told = text.len();
        }
    }
}

fn own_host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// Where a process says what stands in its queues.
fn answers(job: &Job, process: &Process) -> PathBuf {
    job.folder.reports().join(format!("queues-{}-{}.txt", process.host, process.pid))
}

/// Processes elsewhere are out of reach: it is said how to ask them.
fn ask(job: &Job) {
    let own = own_host();
    for process in job.processes().iter().filter(|process| process.is_open()) {
        let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
        let (true, Some(pid)) = (process.host == own, pid) else {
            anstream::eprintln!(
                "matchpoint: {}: on {}, kill -USR2 {}; it answers in {}",
                name(process),
                process.host,
                process.pid,
                answers(job, process).display()
            );
            continue;
        };
        // A process with a handler of its own has no such file: the signal would call that handler.
        if answers(job, process).exists() && is_of(job, process.pid) {
            // It may have ended this moment.
            let _ = kill_process(pid, Signal::USR2);
        }
    }
}

/// Whether that number is still that process's: another would be ended by the signal.
fn is_of(job: &Job, pid: u64) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let told = job.folder.reports().into_os_string().into_encoded_bytes();
    environment.split(|&byte| byte == 0).any(|variable| variable.ends_with(&told))
}

fn name(process: &Process) -> String {
    process
        .rank
        .map_or_else(|| format!("process {} on {}", process.pid, process.host), |rank| format!("rank {rank}"))
}
