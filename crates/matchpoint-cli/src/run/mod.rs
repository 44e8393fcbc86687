//! `matchpoint run`: runs an MPI job with an engine above or below its MPI library.

mod compare;
mod queues;
mod recorder;
mod start;

use std::path::Path;
use std::process::ExitStatus;

use matchpoint_replay::format;
use matchpoint_run::job::{Job, Position, Request, Way};
use matchpoint_run::libfabric;
use matchpoint_run::overflow::Limit;
use matchpoint_run::report::{self as reports, Process};
use queues::Queues;
use recorder::Recorder;
use serde_json::{Value, json};
use start::{StartMessage, start_message};

use crate::cli;
use crate::failure::Failure;
use crate::job;
use crate::output::{OutputId, Outputs, is_stdout, print};
use crate::report::run::compared::Compared;
use crate::report::run::{Run, json as json_report, terminal, verdict};
use crate::report::schema;

pub fn run(arguments: &cli::Run) -> Result<(), Failure> {
    if arguments.json.as_deref().is_some_and(is_stdout) {
        return Err(Failure::Message(
            "--json cannot go to standard output, which the job uses\nhint: name a file".to_owned(),
        ));
    }
    let mut outputs = Outputs::default();
    let json = outputs.reserve_if(arguments.json.as_deref())?;
    if let Some(folder) = &arguments.results {
        let reports = read_reports(folder)?;
        let run = Run::new(&reports, None);
        if reports.is_empty() {
            return Err(Failure::Message(format!(
                "'{}' contains no reports of processes. With --quiet or MATCHPOINT_QUIET: nothing overflowed, overflow matching \
                 was off, or no process reached MPI_Finalize\nhint: run the job without MATCHPOINT_QUIET, in the environment \
                 of --print-environment",
                folder.display()
            )));
        }
        if run.ranks.is_empty() {
            return Err(Failure::Message(nothing(&run, false)));
        }
        return finish(arguments, outputs, json, &Value::Null, &run);
    }
    let program = std::env::current_exe()
        .map_err(|error| Failure::Message(format!("cannot determine the path of this command: {error}")))?;
    let mut compiles = |library: &str| {
        anstream::eprintln!("matchpoint: compiling the library of overflow matching for {library} (once)");
    };
    let mut job = Job::prepare(request(arguments), &program, &mut compiles)?;
    if arguments.quiet {
        // Processes may write no report, so the number of reports is unknown.
        job.ranks = None;
    }
    if arguments.print_environment {
        return print(&environment(&job));
    }
    let recorder = Recorder::prepare(arguments, &mut job)?;
    anstream::eprintln!("matchpoint: {}", job.describe());
    let (mut start, mut queues) = (StartMessage::default(), Queues::watch()?);
    let mut with_engine = || {
        job::run(job.command(Way::Ours), &mut || {
            start.poll(&job);
            queues.poll(&job);
        })
    };
    let mut compared = None;
    let status = match arguments.compare {
        Some(times) => {
            let compared = compared.insert(Compared::new(&job));
            compare::run(&job, times, arguments.quiet, &mut with_engine, compared)?
        }
        None => with_engine()?,
    };
    if let Some(compared) = compared.as_ref().filter(|_| !status.success()) {
        let unchanged = compared.unchanged_after_failure();
        anstream::eprintln!(
            "matchpoint: a run with {} failed ({status}), which ends the comparison: {unchanged}",
            job.engine
        );
    }
    let recorded = recorder.map_or(Ok(()), |recorder| recorder.finish(&job, status));
    let reports = job.processes();
    let run = Run::of_job(&job, &reports);
    if run.ranks.is_empty() && arguments.quiet && status.success() {
        anstream::eprintln!(
            "matchpoint: no process reported: nothing overflowed, or no process loaded the library\nhint: omit --quiet to \
             distinguish both"
        );
    } else if run.ranks.is_empty() {
        let why = match (&job.missing, &job.position) {
            (Some(program), _) if reports.is_empty() && !status.success() => {
                format!("'{program}' is not a program on this host\nhint: check the name and the path")
            }
            (_, Position::Above(_)) => nothing_above().to_owned(),
            (_, Position::Below(_)) => nothing(&run, reports.is_empty()),
        };
        if status.success() {
            return Err(Failure::Message(why));
        }
        anstream::eprintln!("matchpoint: the job failed ({status}): {why}");
        return job::exit_result(status);
    }
    if !start.is_printed && !run.ranks.is_empty() {
        anstream::eprintln!("{}", start_message(&job, &reports));
    }
    if let Some(compared) = &compared {
        anstream::eprint!("{}", compared.render(verdict::nothing_overflowed(&run)));
    }
    finish(arguments, outputs, json, &about(&job, status, compared.as_ref()), &run)?;
    recorded.and_then(|()| job::exit_result(status))
}

fn request(arguments: &cli::Run) -> Request {
    // A trace with arrivals needs every arrival, so the engine matches all receives.
    let all = arguments.record.is_some() && arguments.limit == Limit::Measured;
    Request {
        engine: arguments.engine.clone(),
        limit: if all { Limit::Receives(0) } else { arguments.limit },
        below: arguments.below,
        core: arguments.core.clone(),
        quiet: arguments.quiet,
        mpicc: arguments.mpicc.clone(),
        folder: arguments
            .folder
            .clone()
            .or_else(|| arguments.print_environment.then(|| "matchpoint.run".into())),
        command: arguments.command.clone(),
    }
}

fn read_reports(folder: &Path) -> Result<Vec<Process>, Failure> {
    let reports = folder.join("reports");
    if !reports.is_dir() {
        let what = if folder.exists() { "contains no reports" } else { "does not exist" };
        return Err(Failure::Message(format!(
            "'{}' {what}\nhint: name the folder of --folder of an earlier run",
            folder.display()
        )));
    }
    Ok(reports::read(&reports))
}

fn finish(
    arguments: &cli::Run,
    mut outputs: Outputs,
    json: Option<OutputId>,
    about: &Value,
    run: &Run,
) -> Result<(), Failure> {
    let mut verdict = verdict::verdict(run);
    if arguments.compare.is_none() && verdict.share.is_some() {
        verdict.text += " Measure the saving with --compare 3.";
    }
    if !run.ranks.is_empty() || !arguments.quiet {
        anstream::eprint!("{}", terminal::render(run, &verdict, arguments.stats));
    }
    if let Some(place) = json {
        outputs.fill(place, |out| schema::write(&json_report::document(about, run, &verdict), out))?;
    }
    outputs.commit()?;
    Ok(())
}

fn about(job: &Job, status: ExitStatus, compared: Option<&Compared>) -> Value {
    let (mpi, version, below) = match &job.position {
        Position::Above(overflow) => {
            let (name, version) = name_and_version(overflow.mpi());
            (name, version.map(str::to_owned), None)
        }
        Position::Below(below) => {
            let version = below.stack.version.as_ref().map(ToString::to_string);
            (below.stack.vendor.name(), version, Some(below))
        }
    };
    let fabric = below.and_then(|below| below.fabric.as_ref());
    json!({
        "mpi": mpi,
        "mpi_version": version,
        "position": if below.is_some() { "below" } else { "above" },
        "mpi_library": below.map(|below| &below.stack.library),
        "libfabric": fabric.map(|fabric| format!("{}.{}", fabric.version.0, fabric.version.1)),
        "core": below.map(|below| &below.choice.core),
        "exit_status": status.code(),
        "compared": compared.map(Compared::document),
    })
}

fn name_and_version(mpi: &str) -> (&str, Option<&str>) {
    match mpi.rsplit_once(' ') {
        Some((name, version)) if version.starts_with(|first: char| first.is_ascii_digit()) => {
            (name, Some(version))
        }
        _ => (mpi, None),
    }
}

fn nothing_above() -> &'static str {
    "no process reported: the program does not call MPI_Init, is linked statically, is set-user-id, sets LD_PRELOAD, uses \
     another MPI library, or its hosts do not see the folder (--folder)\n\
     hint: put the launcher itself after --, not a script that starts it, or name the compiler of its MPI with --mpicc"
}

fn nothing(run: &Run, silent: bool) -> String {
    if silent {
        return "no process loaded the provider: no process called MPI_Init, the application uses another MPI library, or \
            its hosts do not see the folder of the provider (--folder)\nhint: set FI_LOG_LEVEL=warn, and read the messages \
            of libfabric"
            .to_owned();
    }
    if let Some((why, times)) = run.unmatched.first() {
        let processes = format::counted(*times, "process");
        return format!("libfabric matched the messages itself, in {processes}: {why}");
    }
    if let Some(why) = run.unseen() {
        return why;
    }
    let alone = match run.reporting_hosts.first() {
        Some(host) if run.reporting_hosts.len() == 1 && run.expected.is_none() => {
            format!(", or hosts other than {host} lack the folder or the variables")
        }
        _ => String::new(),
    };
    format!(
        "{} loaded the provider, but the MPI selected another: by a setting, or because the core provider lacks a \
         feature{alone}\nhint: set FI_LOG_LEVEL=info and read the messages of libfabric, or try another --core",
        format::counted(run.idle, "process")
    )
}

/// Shell commands that set the environment. Comments have the remaining steps.
fn environment(job: &Job) -> String {
    let mut text = format!("# {}\n", job.describe());
    for variable in &job.variables() {
        text += &format!("# {}\n{}", variable.why, format::shell_export(variable.name, &variable.value));
    }
    let folder = job.folder.path.display();
    let passed_on = job.passed_on();
    if !passed_on.is_empty() {
        text += &format!("# For other hosts, mpirun must export: {}\n", passed_on.join(" "));
    }
    text += &format!(
        "# All hosts must see {folder}.\n# Empty {folder}/reports before each run; afterwards:\n#     matchpoint run \
         --results {folder}\n"
    );
    text
}

pub fn ask_libfabric(library: &Path) -> Result<(), Failure> {
    let text = libfabric::answer(library).map_err(Failure::Message)?;
    print(&text)
}
