//! `matchpoint record`: runs a job with the recorder loaded into its processes.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use matchpoint_record::RecordError;
use matchpoint_record::recording::{Recorded, Recording, Settings};
use matchpoint_replay::format;

use crate::cli::Record;
use crate::failure::Failure;
use crate::job;
use crate::live::Live;
use crate::output::print;

pub fn run(arguments: &Record) -> Result<(), Failure> {
    let settings = Settings {
        output: arguments.output.clone(),
        replace: arguments.replace,
        mpicc: arguments.mpicc.clone(),
        limit_per_process: arguments.limit,
        call_sites: arguments.callsites,
        no_search_cost: arguments.no_search_cost,
        command: arguments.command.clone(),
    };
    let mut recording = prepare(settings)?;
    if arguments.dry_run {
        let lines = recording.variables().into_iter();
        let lines = lines.map(|(name, value)| format::shell_export(name, &value.to_string_lossy()));
        let text: String = lines.collect();
        return print(&text);
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
    let ended = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    let recorded = recording.finish(ended)?;
    if recorded.ranks == 0 {
        return Err(Failure::Message(nothing(status)));
    }
    anstream::eprintln!("{}", summary(&recorded));
    if recorded.calls > 0 {
        let trace = format::shell_word(&recorded.output.to_string_lossy());
        anstream::eprintln!("matchpoint: next: matchpoint analyze {trace}");
    }
    job::exit_result(status)
}

pub(crate) fn prepare(settings: Settings) -> Result<Recording, RecordError> {
    Recording::prepare(settings, &mut |library| {
        anstream::eprintln!("matchpoint: compiling the recorder for {library} (once)");
    })
}

fn nothing(status: ExitStatus) -> String {
    if !status.success() {
        return format!(
            "nothing was recorded: the job failed ({status}) before a process with the recorder wrote a call\nhint: read the \
             messages of the job, and run it without `matchpoint record`"
        );
    }
    format!(
        "nothing was recorded ({status}): no process loaded the recorder\nhint: check that the application calls MPI_Init, \
         is linked with a shared MPI library, is not set-user-id, and that no script or option file sets LD_PRELOAD. Other \
         hosts must see the folders of the trace and of the recorder"
    )
}

pub(crate) fn summary(recorded: &Recorded) -> String {
    let mut lines = vec![format!(
        "matchpoint: recorded {} of {} in {} ({}{})",
        format::counted(recorded.calls, "call"),
        format::counted(recorded.ranks.into(), "process"),
        recorded.output.display(),
        format::bytes(recorded.bytes),
        per_call(recorded),
    )];
    if !recorded.missing.is_empty() {
        lines.push(format!(
            "matchpoint: no file of {}: their hosts may not see the folder",
            ranks(&recorded.missing)
        ));
    }
    if !recorded.silent.is_empty() {
        lines.push(format!(
            "matchpoint: no calls of {}: a process writes calls after 0.1 s and then once a second, and may have crashed \
             before",
            ranks(&recorded.silent)
        ));
    }
    if !recorded.all_left_out.is_empty() {
        lines.push(format!(
            "matchpoint: no calls of {} within the limit\nhint: use a larger --limit, or none",
            ranks(&recorded.all_left_out)
        ));
    }
    if recorded.left_out > 0 {
        lines.push(format!(
            "matchpoint: the limit was reached: {} only counted{}",
            calls_were(recorded.left_out),
            if recorded.calls > 0 { "; analyze reports the end of the trace" } else { "" }
        ));
    } else if !recorded.incomplete.is_empty() {
        lines.push(format!(
            "matchpoint: {} did not reach MPI_Finalize, or could not write to the end{}",
            ranks(&recorded.incomplete),
            if recorded.calls > 0 { "; the calls before are readable" } else { "" }
        ));
        lines.extend(within(&recorded.within));
    }
    if recorded.unseen > 0 {
        lines.push(format!(
            "matchpoint: {} not recorded: in callbacks, left by a jump, too long, or without memory",
            calls_were(recorded.unseen)
        ));
    }
    for (folder, processes) in &recorded.spawned {
        let of_job = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("job-"));
        let origin = if of_job { "of another job" } else { "spawned by the job" };
        lines.push(format!(
            "matchpoint: separate trace of {} {origin}: {}",
            format::counted(*processes as u64, "process"),
            folder.display()
        ));
    }
    lines.extend(recorded.unwritten.iter().map(|error| format!("matchpoint: warning: {error}")));
    if recorded.waited_ns > 100_000_000 {
        lines.push(format!(
            "matchpoint: a process waited {} for the recorder; its times include this wait",
            format::duration_ns(recorded.waited_ns as f64)
        ));
    }
    lines.join("\n")
}

fn calls_were(number: u64) -> String {
    format!("{} {}", format::counted(number, "call"), if number == 1 { "was" } else { "were" })
}

/// Empty if the headers of the files, of about 4 KiB each, dominate the size.
fn per_call(recorded: &Recorded) -> String {
    const ENOUGH: u64 = 1000;
    if recorded.calls < ENOUGH * u64::from(recorded.ranks) {
        return String::new();
    }
    format!(", {} bytes per call", format::digits(recorded.bytes as f64 / recorded.calls as f64))
}

/// MPI functions that had not returned at the end of a process.
fn within(all: &[(String, u32)]) -> Vec<String> {
    let mut by_function: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (function, rank) in all {
        by_function.entry(function).or_default().push(*rank);
    }
    let line = |(function, of): (&str, Vec<u32>)| {
        format!("matchpoint: {function} had not returned at {}", ranks(&of))
    };
    by_function.into_iter().map(line).collect()
}

/// `rank 3`, `ranks 0, 1, 2 and 61 more`.
pub(crate) fn ranks(ranks: &[u32]) -> String {
    const NAMED: usize = 4;
    let named: Vec<String> = ranks.iter().take(NAMED).map(u32::to_string).collect();
    let more = if ranks.len() > NAMED { format!(" and {} more", ranks.len() - NAMED) } else { String::new() };
    format!("rank{} {}{more}", if ranks.len() == 1 { "" } else { "s" }, named.join(", "))
}
