//! A job of other processes that this command starts and waits for.

use std::ffi::c_int;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};

use crate::failure::Failure;

/// Time between two looks of the watcher.
const LOOK: Duration = Duration::from_millis(20);

/// Who is told of a job while it runs.
pub trait Watcher {
    /// It has begun.
    fn begins(&mut self, _job: &mut Child) {}
    /// It is still running; told again and again.
    fn looks(&mut self);
}

impl<F: FnMut()> Watcher for F {
    fn looks(&mut self) {
        self();
    }
}

/// Waits for the job, and tells `watcher` meanwhile. An interrupt goes to the job too, since it is in the
/// terminal's foreground with us; being told to stop is handed on, and so is the end of the
/// terminal. Either way it is waited for.
///
/// # Errors
/// It cannot be started.
pub fn run(mut command: Command, watcher: &mut impl Watcher) -> Result<ExitStatus, Failure> {
    // `run` answers SIGUSR1. Under the other commands it must not end the command, and leave the job.
    signalled(&[SIGINT, SIGUSR1])?;
    // SIGHUP is a lost terminal. Without the command the job would go on, and its helpers would not end.
    let stop = signalled(&[SIGTERM, SIGHUP])?;
    let mut job = command.spawn().map_err(|error| {
        Failure::Message(format!("cannot start {}: {error}", command.get_program().to_string_lossy()))
    })?;
    watcher.begins(&mut job);
    let mut asked = false;
    let exit = ProcessExit::of(&job);
    loop {
        if let Some(status) =
            job.try_wait().map_err(|error| Failure::Message(format!("lost the job: {error}")))?
        {
            return Ok(status);
        }
        if stop.load(Relaxed) && !asked {
            asked = true;
            ask_to_stop(job.id());
        }
        watcher.looks();
        exit.wait(LOOK);
    }
}

/// Whether one of these signals came since; from now on none of them ends this process.
///
/// # Errors
/// The system does not let us.
pub fn signalled(signals: &[c_int]) -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for &signal in signals {
        signal_hook::flag::register(signal, flag.clone())
            .map_err(|error| Failure::Message(format!("cannot watch for signals: {error}")))?;
    }
    Ok(flag)
}

/// The exit of a process. A thread can wait for it.
struct ProcessExit(Option<OwnedFd>);

impl ProcessExit {
    fn of(job: &Child) -> ProcessExit {
        let pid = i32::try_from(job.id()).ok().and_then(Pid::from_raw);
        // Before Linux 5.3 there are no descriptors of processes.
        ProcessExit(pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()))
    }

    /// Waits until the process has ended, or the time has passed.
    fn wait(&self, most: Duration) {
        let Some(process) = &self.0 else { return thread::sleep(most) };
        let most = Timespec { tv_sec: 0, tv_nsec: i64::from(most.subsec_nanos()) };
        // A signal ends the wait early.
        let _ = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&most));
    }
}

/// Asks the job to end: a launcher ends what it has started.
pub fn ask_to_stop(job: u32) {
    let pid = i32::try_from(job).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // It may have ended this moment.
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// Ends as the job did: with its exit code, or 128 and the number of the signal.
///
/// # Errors
/// It failed.
pub fn ended(status: ExitStatus) -> Result<(), Failure> {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(Failure::Told(u8::try_from(code).unwrap_or(1))),
        (None, signal) => {
            Err(Failure::Told(128 + signal.and_then(|signal| u8::try_from(signal).ok()).unwrap_or(0)))
        }
    }
}

/// A line that a shell reads back as this variable.
pub fn export(name: &str, value: &str) -> String {
    format!("export {name}={}\n", quoted(value))
}

/// What a shell reads back as this word, as it stands if nothing in it means anything to a shell.
pub fn word(text: &str) -> String {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=:,@%".contains(&byte) || !byte.is_ascii();
    if !text.is_empty() && text.bytes().all(is_plain) { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_spaces_are_quoted() {
        assert_eq!(word("/tmp/a-b_1.trace"), "/tmp/a-b_1.trace");
        assert_eq!(word("/tmp/sp ace/x.trace"), "'/tmp/sp ace/x.trace'");
        assert_eq!(word("it's"), "'it'\\''s'");
        assert_eq!(word("$HOME"), "'$HOME'");
        assert_eq!(word(""), "''");
    }
}
