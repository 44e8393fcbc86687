//! A job of the benchmark of `matchpoint-calibrate`, talked with in a thread of its own while the job is watched.

use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use indicatif::ProgressBar;
use matchpoint_calibrate::conversation::Conversation;
use matchpoint_calibrate::{CalibrateError, program};

use crate::failure::Failure;
use crate::job;
use crate::lines::Lines;
use crate::progress::bar;

/// How far it is: what a bar shows.
pub struct Shown {
    /// Measurements that are made.
    pub done: usize,
    /// All of them.
    pub total: usize,
    /// The next, in words.
    pub next: String,
}

/// Tells how far it is, and hears whether to go on.
pub struct Tells {
    steps: Sender<Shown>,
    stop: Arc<AtomicBool>,
}

impl Tells {
    /// Shows this from now on. False: the user has interrupted it.
    #[must_use]
    pub fn show(&self, shown: Shown) -> bool {
        // Nobody looks any more once the job has ended.
        let _ = self.steps.send(shown);
        !self.stop.load(Relaxed)
    }
}

/// How a job ended.
#[derive(Clone, Copy)]
pub struct Ended {
    /// As its launcher did.
    pub status: ExitStatus,
    /// Whether the user interrupted it.
    pub is_interrupted: bool,
}

/// Starts `launcher` with the benchmark behind it, has `talk` talk with it, and waits for the job: what `talk` came to, and
/// how the job ended.
///
/// # Errors
/// There is no launcher, no compiler of its MPI, or the job cannot be started.
pub fn run<T, E>(
    launcher: &[String],
    mpicc: Option<&Path>,
    talk: impl FnOnce(Conversation, &Tells) -> Result<T, E> + Send + 'static,
) -> Result<(Result<T, E>, Ended), Failure>
where
    T: Send + 'static,
    E: From<CalibrateError> + Send + 'static,
{
    let mut command = program::command(launcher, mpicc, &mut |library| {
        anstream::eprintln!("matchpoint: compiling the benchmark for {library}, once ...");
    })?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    // An interrupt need not reach the job: then it ends for there is nothing more to be asked.
    let stop = job::signalled(&[signal_hook::consts::SIGINT])?;
    let mut talking = Talking {
        talk: Some(talk),
        stop: stop.clone(),
        thread: None,
        steps: None,
        bar: bar("{pos} of {len}  {msg}  {eta} left"),
        lines: Lines::at_once(),
    };
    let status = job::run(command, &mut talking)?;
    talking.bar.finish_and_clear();
    let outcome = match talking.thread.map(JoinHandle::join) {
        Some(Ok(outcome)) => outcome,
        _ => Err(CalibrateError("the measurement broke off".to_owned()).into()),
    };
    Ok((outcome, Ended { status, is_interrupted: stop.load(Relaxed) }))
}

struct Talking<F, T, E> {
    talk: Option<F>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<T, E>>>,
    steps: Option<Receiver<Shown>>,
    /// Where there is a terminal; elsewhere lines.
    bar: ProgressBar,
    lines: Lines,
}

impl<F, T, E> job::Watcher for Talking<F, T, E>
where
    F: FnOnce(Conversation, &Tells) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
{
    fn begins(&mut self, job: &mut Child) {
        let (Some(talk), Some(output), Some(input)) = (self.talk.take(), job.stdout.take(), job.stdin.take())
        else {
            return;
        };
        let (told, steps) = mpsc::channel();
        self.steps = Some(steps);
        let tells = Tells { steps: told, stop: self.stop.clone() };
        self.thread = Some(thread::spawn(move || {
            let benchmark = Conversation::new(output, input, |line| anstream::eprintln!("{line}"));
            talk(benchmark, &tells)
        }));
    }

    fn looks(&mut self) {
        let Some(last) = self.steps.as_ref().and_then(|steps| steps.try_iter().last()) else { return };
        let line = || format!("{} of {} measurements; next: {}", last.done, last.total, last.next);
        if self.bar.is_hidden() {
            return self.lines.tell(line);
        }
        self.bar.set_length(last.total as u64);
        self.bar.set_position(last.done as u64);
        self.bar.set_message(last.next);
    }
}
