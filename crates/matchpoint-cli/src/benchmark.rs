//! A job of the `matchpoint-calibrate` benchmark. A thread controls the benchmark, and the main thread waits for the
//! job.

use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use indicatif::ProgressBar;
use matchpoint_calibrate::conversation::Conversation;
use matchpoint_calibrate::{CalibrateError, program};
use matchpoint_replay::Progress;

use crate::failure::Failure;
use crate::job;
use crate::progress::{ProgressLines, bar};

pub struct MeasurementProgress {
    pub done: usize,
    pub total: usize,
    pub next: String,
}

pub struct ProgressSender {
    steps: Sender<MeasurementProgress>,
    stop: Arc<AtomicBool>,
}

impl ProgressSender {
    #[must_use]
    pub fn show(&self, shown: MeasurementProgress) -> bool {
        let _ = self.steps.send(shown);
        !self.stop.load(Relaxed)
    }

    pub fn of_files(&self) -> Progress {
        Progress::with_stop_flag(Arc::clone(&self.stop))
    }
}

#[derive(Clone, Copy)]
pub struct Ended {
    pub status: ExitStatus,
    pub is_interrupted: bool,
}

/// Runs `talk` in a thread while `launcher` runs the benchmark.
pub fn run<T, E>(
    launcher: &[String],
    mpicc: Option<&Path>,
    talk: impl FnOnce(Conversation, &ProgressSender) -> Result<T, E> + Send + 'static,
) -> Result<(Result<T, E>, Ended), Failure>
where
    T: Send + 'static,
    E: From<CalibrateError> + Send + 'static,
{
    let mut command = program::command(launcher, mpicc, &mut |library| {
        anstream::eprintln!("matchpoint: compiling the benchmark for {library} (once)");
    })?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    // An interrupt may not reach the job. The job ends without further requests.
    let stop = job::signalled(&[signal_hook::consts::SIGINT])?;
    let mut watcher = BenchmarkWatcher {
        talk: Some(talk),
        stop: stop.clone(),
        thread: None,
        steps: None,
        bar: bar("{pos} of {len}  {msg}  {eta} left"),
        lines: ProgressLines::at_once(),
    };
    let status = job::run(command, &mut watcher)?;
    watcher.bar.finish_and_clear();
    let outcome = match watcher.thread.map(JoinHandle::join) {
        Some(Ok(outcome)) => outcome,
        _ => Err(CalibrateError("the measurement ended unexpectedly".to_owned()).into()),
    };
    Ok((outcome, Ended { status, is_interrupted: stop.load(Relaxed) }))
}

struct BenchmarkWatcher<F, T, E> {
    talk: Option<F>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<T, E>>>,
    steps: Option<Receiver<MeasurementProgress>>,
    bar: ProgressBar,
    lines: ProgressLines,
}

impl<F, T, E> job::Watcher for BenchmarkWatcher<F, T, E>
where
    F: FnOnce(Conversation, &ProgressSender) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
{
    fn on_start(&mut self, job: &mut Child) {
        let (Some(talk), Some(output), Some(input)) = (self.talk.take(), job.stdout.take(), job.stdin.take())
        else {
            return;
        };
        let (sender, steps) = mpsc::channel();
        self.steps = Some(steps);
        let progress = ProgressSender { steps: sender, stop: self.stop.clone() };
        self.thread = Some(thread::spawn(move || {
            let benchmark = Conversation::new(output, input, |line| anstream::eprintln!("{line}"));
            talk(benchmark, &progress)
        }));
    }

    fn on_poll(&mut self) {
        let Some(last) = self.steps.as_ref().and_then(|steps| steps.try_iter().last()) else { return };
        let line = || format!("{} of {} measurements; next: {}", last.done, last.total, last.next);
        if self.bar.is_hidden() {
            return self.lines.print(line);
        }
        self.bar.set_length(last.total as u64);
        self.bar.set_position(last.done as u64);
        self.bar.set_message(last.next);
    }
}
