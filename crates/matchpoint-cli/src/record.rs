//! `matchpoint record`: runs a job with the recorder loaded into its processes.

use std::io::Write;
use std::process::ExitStatus;

use matchpoint_record::RecordError;
use matchpoint_record::recording::{Recorded, Recording, Settings};

use crate::cli::Record;
use crate::failure::Failure;
use crate::live::Live;
use crate::{format, job};

/// Runs the command.
///
/// # Errors
/// The job cannot be started, nothing of it was recorded, or it failed: then with its exit code.
pub fn run(arguments: &Record) -> Result<(), Failure> {
    let mut recording = Recording::prepare(Settings {
        output: arguments.output.clone(),
        replace: arguments.replace,
        mpicc: arguments.mpicc.clone(),
        limit_per_process: arguments.limit,
        call_sites: arguments.callsites,
        command: arguments.command.clone(),
    })?;
    if arguments.dry_run {
        let lines = recording.variables().into_iter();
        let lines = lines.map(|(name, value)| job::export(name, &value.to_string_lossy()));
        let text: String = lines.collect();
        return anstream::stdout().write_all(text.as_bytes()).map_err(|error| Failure::printing(&error));
    }
    if recording.recorder.compiled {
        anstream::eprintln!("matchpoint: compiled the recorder for {}", recording.recorder.family.name());
    }
    recording.begins()?;
    let mut command = recording.command();
    let status = if arguments.live {
        let mut live = Live::new(recording.output(), &mut command);
        let status = job::run(command, &mut live)?;
        live.end();
        status
    } else {
        job::run(command, &mut || {})?
    };
    let recorded = recording.finish(status.code())?;
    if recorded.ranks == 0 {
        return Err(Failure::Message(nothing(status)));
    }
    anstream::eprintln!("{}", summary(&recorded));
    job::ended(status)
}

fn nothing(status: ExitStatus) -> String {
    if !status.success() {
        return format!(
            "nothing was recorded: the job failed ({status}) before any process had called MPI_Init; see what it said, and \
             whether it runs without matchpoint record --"
        );
    }
    format!(
        "nothing was recorded ({status}); the application must call MPI_Init, be linked with a shared MPI library, and not \
         be set-user-id; if processes start on other hosts, they must see the trace's folder and the recorder"
    )
}

fn summary(recorded: &Recorded) -> String {
    let per_call = recorded.bytes as f64 / recorded.calls.max(1) as f64;
    let mut lines = vec![format!(
        "matchpoint: recorded {} calls of {} processes in {} ({}, {} bytes a call)",
        format::count(recorded.calls),
        recorded.ranks,
        recorded.output.display(),
        format::bytes(recorded.bytes),
        format::digits(per_call),
    )];
    if !recorded.missing.is_empty() {
        lines.push(format!(
            "matchpoint: no file of {}; were they on hosts that see the folder?",
            ranks(&recorded.missing)
        ));
    }
    if recorded.left_out > 0 {
        lines.push(format!(
            "matchpoint: the limit was reached: {} calls were only counted; analyze tells where the trace ends",
            format::count(recorded.left_out)
        ));
    } else if !recorded.incomplete.is_empty() {
        lines.push(format!(
            "matchpoint: {} did not reach MPI_Finalize; what was written until then is readable",
            ranks(&recorded.incomplete)
        ));
    }
    for (folder, processes) in &recorded.spawned {
        let are =
            if *processes == 1 { "process that it spawned is" } else { "processes that it spawned are" };
        lines.push(format!("matchpoint: {processes} {are} a trace of their own: {}", folder.display()));
    }
    if recorded.waited_ns > 100_000_000 {
        lines.push(format!(
            "matchpoint: a process waited {} for its calls to be written; its times include that",
            format::duration_ns(recorded.waited_ns as f64)
        ));
    }
    lines.push(format!("matchpoint: next: matchpoint analyze {}", recorded.output.display()));
    lines.join("\n")
}

/// `rank 3`, `ranks 0, 1, 2 and 61 more`.
pub(crate) fn ranks(ranks: &[u32]) -> String {
    const NAMED: usize = 4;
    let named: Vec<String> = ranks.iter().take(NAMED).map(u32::to_string).collect();
    let more = if ranks.len() > NAMED { format!(" and {} more", ranks.len() - NAMED) } else { String::new() };
    format!("rank{} {}{more}", if ranks.len() == 1 { "" } else { "s" }, named.join(", "))
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        Failure::Message(error.to_string())
    }
}
