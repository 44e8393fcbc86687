//! `matchpoint convert`: writes the calls of a trace in another format.

mod csv;
mod folder;
mod origin;
#[cfg(feature = "parquet")]
mod parquet;
mod ranks;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use matchpoint_replay::{Progress, format};
use matchpoint_trace::{Trace, open};

use self::folder::Folder;
use self::origin::Origin;
use self::ranks::{Written, failed};
use crate::absent::print_missing_ranks;
use crate::analyze::stop_on_interrupt;
use crate::cli::{Convert, Format};
use crate::failure::Failure;
use crate::output::{Outputs, is_stdout};
use crate::progress;

const WITHOUT_PARQUET: &str = "this build has no Parquet support\nhint: build with \
     `cargo build --release --features parquet`, or write CSV (--to csv)";

pub fn run(arguments: &Convert) -> Result<(), Failure> {
    let to = arguments.format().map_err(Failure::usage)?;
    let progress = Arc::new(Progress::default());
    stop_on_interrupt(&progress);
    let output = &arguments.output;
    if to == Format::Parquet && cfg!(not(feature = "parquet")) {
        return Err(Failure::Message(WITHOUT_PARQUET.to_owned()));
    }
    let (trace, written) = match to {
        Format::Dumpi | Format::Native => {
            let folder = Folder::reserve(output)?;
            let trace = open(&arguments.trace)?;
            let written = folder.fill(trace.as_ref(), to, &progress)?;
            (trace, written)
        }
        Format::Parquet if is_stdout(output) && io::stdout().is_terminal() => {
            let problem =
                "cannot write Parquet to a terminal\nhint: name a file, or redirect standard output";
            return Err(Failure::Message(problem.to_owned()));
        }
        _ if is_stdout(output) => {
            let trace = open(&arguments.trace)?;
            let mut out = io::BufWriter::new(io::stdout());
            let written = table(trace.as_ref(), to, &mut out, &progress);
            let written = written.and_then(|written| out.flush().map(|()| written));
            (trace, written.map_err(|error| failed(&progress, &error, Failure::printing))?)
        }
        _ => {
            let mut outputs = Outputs::default();
            let file = outputs.reserve(output)?;
            let trace = open(&arguments.trace)?;
            let mut written = Ok(Written { calls: 0, notes: Vec::new() });
            outputs.fill(file, |out| {
                written = progress::shown(&progress, || table(trace.as_ref(), to, out, &progress));
                Ok(())
            })?;
            let writing = |error: &io::Error| Failure::writing(output, error);
            let written = written.map_err(|error| failed(&progress, &error, writing))?;
            outputs.commit()?;
            (trace, written)
        }
    };
    print_summary(trace.as_ref(), output, &written);
    Ok(())
}

fn table(
    trace: &dyn Trace,
    to: Format,
    out: &mut (dyn Write + Send),
    progress: &Progress,
) -> io::Result<Written> {
    progress.bytes_total.store(trace.description().bytes, Relaxed);
    let origin = Origin::of(trace);
    let calls = match to {
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::write(trace, &origin, out, progress)?,
        _ => csv::write(trace, &origin, out, progress)?,
    };
    Ok(Written { calls, notes: origin.lost(to) })
}

fn print_summary(trace: &dyn Trace, output: &Path, written: &Written) {
    let ranks = format::counted(trace.present().len() as u64, "rank");
    let name = if is_stdout(output) { "standard output".to_owned() } else { output.display().to_string() };
    anstream::eprintln!("matchpoint: wrote {} calls of {ranks} to {name}", format::count(written.calls));
    print_missing_ranks("", trace.description(), "the output lacks them too");
    // The output format has no place for the notes of the original, so the command prints the notes.
    for note in &trace.description().notes {
        anstream::eprintln!("matchpoint: note: of the original: {note}");
    }
    for note in &written.notes {
        anstream::eprintln!("matchpoint: note: {note}");
    }
}
