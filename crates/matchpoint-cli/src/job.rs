use std::ffi::c_int;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, getpgrp, kill_process, pidfd_open};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};

use crate::failure::Failure;

const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub trait Watcher {
    fn on_start(&mut self, _job: &mut Child) {}
    fn on_poll(&mut self);
}

impl<F: FnMut()> Watcher for F {
    fn on_poll(&mut self) {
        self();
    }
}

/// Runs the job, and polls `watcher`. SIGINT goes on to the job, unless the terminal also sends it to the job. SIGTERM and
/// SIGHUP end the job. Returns after the end of the job in every case.
pub fn run(mut command: Command, watcher: &mut impl Watcher) -> Result<ExitStatus, Failure> {
    // `run` handles SIGUSR1. In other commands, SIGUSR1 must not end the command before the job.
    signalled(&[SIGUSR1])?;
    let interrupt = signalled(&[SIGINT])?;
    // After SIGHUP the terminal is lost, and the job must end too.
    let stop = signalled(&[SIGTERM, SIGHUP])?;
    let mut job = command.spawn().map_err(|error| {
        Failure::Message(format!("cannot start '{}': {error}", command.get_program().to_string_lossy()))
    })?;
    watcher.on_start(&mut job);
    let mut asked = false;
    let exit = ProcessExit::of(&job);
    loop {
        if let Some(status) =
            job.try_wait().map_err(|error| Failure::Message(format!("cannot wait for the job: {error}")))?
        {
            return Ok(status);
        }
        if stop.load(Relaxed) && !asked {
            asked = true;
            ask_to_stop(job.id());
        }
        if interrupt.swap(false, Relaxed) && !is_in_foreground() {
            send(job.id(), Signal::INT);
        }
        watcher.on_poll();
        exit.wait(POLL_INTERVAL);
    }
}

/// Returns a flag that each of these signals sets. The signals do not end this process.
pub fn signalled(signals: &[c_int]) -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for &signal in signals {
        signal_hook::flag::register(signal, flag.clone())
            .map_err(|error| Failure::Message(format!("cannot watch for signals: {error}")))?;
    }
    Ok(flag)
}

/// The process descriptor of a job, to wait with a time limit.
struct ProcessExit(Option<OwnedFd>);

impl ProcessExit {
    fn of(job: &Child) -> ProcessExit {
        let pid = i32::try_from(job.id()).ok().and_then(Pid::from_raw);
        // Linux before 5.3 has no process descriptors.
        ProcessExit(pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()))
    }

    fn wait(&self, most: Duration) {
        let Some(process) = &self.0 else { return thread::sleep(most) };
        let most = Timespec { tv_sec: 0, tv_nsec: i64::from(most.subsec_nanos()) };
        // A signal ends the wait early.
        let _ = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&most));
    }
}

pub fn ask_to_stop(job: u32) {
    send(job, Signal::TERM);
}

fn send(job: u32, signal: Signal) {
    let pid = i32::try_from(job).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _ = kill_process(pid, signal);
    }
}

/// Returns whether the terminal sends its signals to this process and the job.
fn is_in_foreground() -> bool {
    let Ok(terminal) = File::open("/dev/tty") else { return false };
    tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp())
}

/// The exit code of the command for the exit status of a job. A signal gives 128 + the signal number.
pub fn exit_result(status: ExitStatus) -> Result<(), Failure> {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(Failure::Reported(u8::try_from(code).unwrap_or(1))),
        (None, signal) => {
            Err(Failure::Reported(128 + signal.and_then(|signal| u8::try_from(signal).ok()).unwrap_or(0)))
        }
    }
}
