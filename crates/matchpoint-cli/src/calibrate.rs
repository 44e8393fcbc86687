//! `matchpoint calibrate`: measures a machine under its MPI, and writes the machine file.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use matchpoint_calibrate::fit::parameters;
use matchpoint_calibrate::plan::{BATCH_S, Settings};
use matchpoint_calibrate::raw::Raw;
use matchpoint_calibrate::session::{Request, Step};
use matchpoint_calibrate::{CalibrateError, machine};
use matchpoint_replay::format;

use crate::benchmark::{self, Ended, MeasurementProgress};
use crate::cli::Calibrate;
use crate::failure::{Failure, INTERRUPTED, fact};
use crate::files::Files;
use crate::job;
use crate::output::{OutputId, canonical, is_stdout};
use crate::report::calibrate::document::document;
use crate::report::calibrate::{Calibration, json};

pub fn run(arguments: &Calibrate) -> Result<(), Failure> {
    let (mut files, place) = prepare(arguments)?;
    let raw_path = match &arguments.from {
        Some(path) => path.clone(),
        None => measured(arguments)?,
    };
    let raw = Raw::read(&raw_path)?;
    if raw.measured.is_empty() {
        return Err(Failure::Message(format!(
            "'{}' contains no measurements\nhint: measure first, with a launcher after --",
            raw_path.display()
        )));
    }
    let parameters = parameters::fit(&raw);
    if parameters.is_empty() {
        return Err(Failure::Message(format!(
            "'{}': no parameter follows from these measurements, so no machine file was written. {}",
            raw_path.display(),
            parameters.warnings.join(" ")
        )));
    }
    let name = arguments.name.as_deref().unwrap_or(&raw.head.ranks.0[0].host);
    let machine = machine::machine(name, &user(), &raw, &parameters);
    let of = Calibration { raw: &raw, parameters: &parameters, machine: &machine };
    files.outputs.fill(place, |out| out.write_all(machine.to_toml().as_bytes()))?;
    files.finish(&document(&of), &json::document(&of))
}

fn user() -> String {
    env::var("USER").or_else(|_| env::var("LOGNAME")).unwrap_or_else(|_| "unknown".to_owned())
}

fn prepare(arguments: &Calibrate) -> Result<(Files, OutputId), Failure> {
    let raw = arguments.from.clone().unwrap_or_else(|| raw_path(arguments));
    let mut named = vec![&arguments.output, &raw];
    named.extend(arguments.json.iter().filter(|path| !is_stdout(path)).chain(&arguments.html));
    let places: Vec<PathBuf> = named.iter().map(|path| canonical(path)).collect();
    let is_twice = |index: usize| places[index + 1..].contains(&places[index]);
    if let Some(index) = (0..named.len()).find(|&index| is_twice(index)) {
        return Err(Failure::Message(format!(
            "'{}' is the output of two options\nhint: name one file each for the machine, raw measurements, --json and --html",
            named[index].display()
        )));
    }
    let mut files = Files::reserve(arguments.json.as_deref(), arguments.html.as_deref())?;
    let machine = files.outputs.reserve(&arguments.output)?;
    if arguments.from.is_none() {
        // The ranks write this file, so an error must be reported before the ranks start.
        files.outputs.check_writable(&raw)?;
    }
    Ok((files, machine))
}

fn raw_path(arguments: &Calibrate) -> PathBuf {
    arguments.raw.clone().unwrap_or_else(|| arguments.output.with_extension("raw.jsonl"))
}

fn measured(arguments: &Calibrate) -> Result<PathBuf, Failure> {
    let raw = raw_path(arguments);
    let request = Request {
        raw: raw.clone(),
        replace: arguments.replace,
        settings: Settings {
            bytes_max: arguments.max_bytes,
            messages_max: arguments.max_messages,
            bytes_total: arguments.total_bytes,
            batch_s: BATCH_S.min(arguments.seconds),
            budget_s: arguments.seconds,
            rounds: arguments.rounds,
        },
        command: arguments.command.clone(),
        host: matchpoint_replay::host::host(),
    };
    let earlier = request.earlier()?;
    if let Some(earlier) = &earlier {
        let made = format::counted(earlier.measured.len() as u64, "measurement");
        anstream::eprintln!("matchpoint: continuing '{}' with {made}", raw.display());
    }
    // A failed job would fail again, so the error has no hint to continue.
    let (outcome, ended) =
        benchmark::run(&arguments.command, arguments.mpicc.as_deref(), move |job, progress| {
            let session = request.begin(earlier, job)?;
            Ok::<_, CalibrateError>(session.measure(&mut |step| progress.show(shown(step))))
        })?;
    match outcome {
        Ok(Ok(())) if ended.status.success() => Ok(raw),
        Ok(Ok(())) => job::exit_result(ended.status).map(|()| raw),
        Ok(Err(error)) => Err(broken_off(&error, ended, &raw)),
        Err(_) if ended.is_interrupted => Err(Failure::Interrupted),
        Err(error) if ended.status.success() => Err(error.into()),
        Err(error) => Err(Failure::Message(format!(
            "{}{}\nhint: read the messages of the job, and try the launcher with another MPI program",
            fact(&error.to_string()),
            exit_code(ended.status)
        ))),
    }
}

/// The error for an interrupted measurement. The raw measurements so far are kept.
fn broken_off(error: &CalibrateError, ended: Ended, raw: &Path) -> Failure {
    let left = Raw::read(raw).map_or(0, |raw| raw.measured.len());
    let made = format::counted(left as u64, "measurement");
    let hint = format!("repeat the command to continue after the {made} in '{}'", raw.display());
    if ended.is_interrupted {
        return Failure::Coded(INTERRUPTED, format!("interrupted\nhint: {hint}"));
    }
    Failure::Message(format!("{}{}\nhint: {hint}", fact(&error.to_string()), exit_code(ended.status)))
}

fn exit_code(status: ExitStatus) -> String {
    status.code().filter(|&code| code != 0).map_or(String::new(), |code| format!(" (exit code {code})"))
}

fn shown(step: Step<'_>) -> MeasurementProgress {
    let of = step.next;
    let where_ = of.placement.map_or("on a node", |placement| placement.name());
    let what = match of.messages {
        1 => format!("{where_}, {}", format::bytes(of.bytes.into())),
        many => format!("{where_}, {} messages", format::count(many.into())),
    };
    MeasurementProgress { done: step.done, total: step.total, next: what }
}
