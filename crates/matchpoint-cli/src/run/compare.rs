//! `--compare`: alternates the job with an engine, unchanged, and unchanged over the same transport.

use std::process::{Child, ExitStatus};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use matchpoint_replay::format;
use matchpoint_run::job::{Job, Way};
use matchpoint_run::report::Process;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::Failure;
use crate::job::{self, Watcher, ask_to_stop};
use crate::report::run::compared::{Compared, Row};

/// Time limit of an unchanged run ÷ longest time of a run with the engine. Jobs over some transports hang.
const PATIENCE: u32 = 10;
const LEAST: Duration = Duration::from_secs(60);

/// Runs the job `times` times in each way, and returns the status of the last run with the engine.
///
/// A failed run ends the comparison. A signal ends it with `Failure::Interrupted`. Unless `may_be_silent`, a run in which no process loaded the library
/// does so too. After a failed run in the first turn, one unchanged run shows whether the engine causes the failure.
pub fn run(
    job: &Job,
    times: u32,
    may_be_silent: bool,
    with_engine: &mut impl FnMut() -> Result<ExitStatus, Failure>,
    compared: &mut Compared,
) -> Result<ExitStatus, Failure> {
    let stop = job::signalled(&[SIGINT, SIGTERM, SIGHUP])?;
    let (mut last, mut longest) = (ExitStatus::default(), LEAST / PATIENCE);
    for turn in 1..=times {
        for row in compared.0.iter_mut().filter(|row| row.left_out.is_none()) {
            let begun = Instant::now();
            if row.way == Way::Ours {
                job.folder.forget_reports()?;
                last = with_engine()?;
                if stop.load(Relaxed) {
                    return Err(Failure::Interrupted);
                }
                if !last.success() {
                    run_after_failure(job, compared, (turn, times), longest * PATIENCE)?;
                    return Ok(last);
                }
                if !may_be_silent && !job.processes().iter().any(Process::is_matched) {
                    return Ok(last);
                }
                longest = longest.max(begun.elapsed());
                row.seconds.push(begun.elapsed().as_secs_f64());
            } else {
                run_unchanged(job, row, longest * PATIENCE)?;
            }
            if stop.load(Relaxed) {
                return Err(Failure::Interrupted);
            }
            print_turn(row, turn, times);
        }
    }
    Ok(last)
}

fn run_after_failure(
    job: &Job,
    compared: &mut Compared,
    (turn, times): (u32, u32),
    limit: Duration,
) -> Result<(), Failure> {
    let shipped = compared.0.iter_mut().find(|row| row.way == Way::Shipped);
    if let Some(row) = shipped.filter(|row| row.seconds.is_empty() && row.left_out.is_none()) {
        run_unchanged(job, row, limit)?;
        print_turn(row, turn, times);
    }
    Ok(())
}

fn run_unchanged(job: &Job, row: &mut Row, limit: Duration) -> Result<(), Failure> {
    let mut watched = Watched { begun: Instant::now(), limit, job: None, was_stopped: false };
    let status = job::run(job.command(row.way), &mut watched)?;
    let took = watched.begun.elapsed().as_secs_f64();
    if watched.was_stopped {
        let (limit, times) = (format::seconds(limit.as_secs_f64()), PATIENCE);
        row.left_out = Some(format!("ended after {limit}, at least {times} × the time with the engine"));
    } else if status.success() {
        row.seconds.push(took);
    } else {
        row.left_out = Some(format!("failed ({status})"));
    }
    Ok(())
}

fn print_turn(row: &Row, turn: u32, times: u32) {
    let what = match (&row.left_out, row.seconds.last()) {
        (Some(why), _) => why.clone(),
        (None, Some(&seconds)) => format::seconds(seconds),
        (None, None) => return,
    };
    anstream::eprintln!("matchpoint: turn {turn} of {times}, {}: {what}", row.name);
}

struct Watched {
    begun: Instant,
    limit: Duration,
    job: Option<u32>,
    was_stopped: bool,
}

impl Watcher for Watched {
    fn on_start(&mut self, job: &mut Child) {
        self.job = Some(job.id());
    }

    fn on_poll(&mut self) {
        if !self.was_stopped && self.begun.elapsed() > self.limit {
            self.was_stopped = true;
            self.job.into_iter().for_each(ask_to_stop);
        }
    }
}
