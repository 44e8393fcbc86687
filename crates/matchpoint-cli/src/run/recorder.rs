//! `--record`: records MPI calls as `matchpoint record` does, and arrival times from the library.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitStatus;

use matchpoint_record::recording::{Recorded, Recording, Settings};
use matchpoint_replay::Progress;
use matchpoint_replay::format;
use matchpoint_replay::recorded::{AssignedArrivals, Match, assign_arrivals};
use matchpoint_run::arrivals;
use matchpoint_run::environment::{ARRIVALS, Variable};
use matchpoint_run::job::{Job, Position};
use matchpoint_trace::TraceError;
use matchpoint_trace::native::{self, Summary};

use crate::cli;
use crate::failure::Failure;
use crate::{progress, record};

pub struct Recorder(Recording);

impl Recorder {
    pub fn prepare(arguments: &cli::Run, job: &mut Job) -> Result<Option<Recorder>, Failure> {
        let Some(output) = &arguments.record else { return Ok(None) };
        let mut recording = record::prepare(Settings {
            output: output.clone(),
            replace: arguments.replace,
            mpicc: arguments.mpicc.clone(),
            // The engine also searches, so a measured cost of the library would be wrong.
            no_search_cost: true,
            command: arguments.command.clone(),
            ..Settings::default()
        })?;
        match &mut job.position {
            Position::Above(overflow) => overflow.load_before(recording.library().to_owned()),
            Position::Below(below) => below.variables.push(loaded(&recording)),
        }
        for (name, value) in recording.settings_of_recorder() {
            let value = value.to_string_lossy().into_owned();
            job.set(Variable { name, value, why: "calls are recorded" });
        }
        let value = job.folder.reports().to_string_lossy().into_owned();
        job.set(Variable { name: ARRIVALS, value, why: "the folder for times of arrivals" });
        recording.begins()?;
        Ok(Some(Recorder(recording)))
    }

    pub fn finish(self, job: &Job, status: ExitStatus) -> Result<(), Failure> {
        let recorded = self.0.finish(status.code())?;
        if recorded.ranks == 0 {
            anstream::eprintln!("matchpoint: nothing was recorded: no process loaded the recorder");
            return Ok(());
        }
        let lines = record::summary(&recorded);
        let placed = write_arrivals(&recorded, &job.folder.reports())?;
        anstream::eprintln!("{lines}\n{}", arrival_summary(&recorded, &placed));
        Ok(())
    }
}

fn loaded(recording: &Recording) -> Variable {
    let (name, value) = recording.preload_variable();
    Variable { name, value: value.to_string_lossy().into_owned(), why: "calls are recorded" }
}

fn write_arrivals(recorded: &Recorded, reports: &Path) -> Result<Vec<AssignedArrivals>, Failure> {
    let folder = &recorded.output;
    let summaries = native::summaries(folder)?;
    let trace = matchpoint_trace::open(folder)?;
    let matches = trace.present().iter().map(|rank| {
        let summary = summaries.iter().find(|summary| summary.head.rank == *rank);
        summary.map_or_else(|| Ok(Vec::new()), |summary| seen(summary, reports))
    });
    let matches = matches.collect::<Result<Vec<_>, Failure>>()?;
    let going = Progress::default();
    let placed = progress::shown(&going, || assign_arrivals(trace.as_ref(), matches, &going))?;
    for (rank, placed) in trace.present().iter().zip(&placed) {
        let path = folder.join(native::arrivals::file_name(*rank));
        let written = write(&path, placed);
        written.map_err(|error| Failure::Message(TraceError::io(&path, &error).to_string()))?;
    }
    Ok(placed)
}

fn write(path: &Path, placed: &AssignedArrivals) -> std::io::Result<()> {
    let fresh = path.with_extension("mpa.new");
    let mut file = BufWriter::new(File::create(&fresh)?);
    native::arrivals::write(&mut file, &placed.arrivals, placed.unknown)?;
    file.flush()?;
    drop(file);
    fs::rename(&fresh, path)
}

fn seen(summary: &Summary, reports: &Path) -> Result<Vec<Match>, Failure> {
    let head = &summary.head;
    let Some(seen) = arrivals::of_process(reports, &head.host, head.pid)? else { return Ok(Vec::new()) };
    if !seen.matches.is_empty() && seen.clock != head.clock.source {
        return Err(Failure::Message(format!(
            "'{}': the clocks of calls ({}) and arrivals ({}) differ, so they have no common order",
            summary.path.display(),
            head.clock.source,
            seen.clock
        )));
    }
    Ok(seen.matches.into_iter().map(|(posted, arrived)| Match { posted, arrived }).collect())
}

fn arrival_summary(recorded: &Recorded, placed: &[AssignedArrivals]) -> String {
    let known: usize = placed.iter().map(|rank| rank.arrivals.len()).sum();
    let all = known as u64 + placed.iter().map(|rank| rank.unknown).sum::<u64>();
    format!(
        "matchpoint: recorded the arrival of {} of {}\n\
         matchpoint: next: matchpoint analyze --arrivals recorded {}",
        format::count(known as u64),
        format::counted(all, "completed receive"),
        format::shell_word(&recorded.output.to_string_lossy())
    )
}
