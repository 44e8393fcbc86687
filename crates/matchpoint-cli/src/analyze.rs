//! `matchpoint analyze`: a trace in, a verdict and its reports out.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use matchpoint_replay::{Measurements, Progress, replay};
use matchpoint_trace::Trace;

use crate::cli::Analyze;
use crate::delivery::Delivery;
use crate::failure::Failure;
use crate::library_cost;
use crate::output::is_stdout;
use crate::places;
use crate::progress;
use crate::report::{Report, json, terminal};

/// Runs the command.
///
/// # Errors
/// The trace cannot be read, a file cannot be written, or the user interrupted it.
pub fn run(arguments: &Analyze) -> Result<(), Failure> {
    let mut delivery = Delivery::prepare(arguments)?;
    let progress = Arc::new(Progress::default());
    stop_on_interrupt(&progress);
    let mut measurements = measure(arguments, &progress)?;
    places::name(&mut measurements)?;
    library_cost::apply(&mut measurements);
    let report = Report::new(&measurements);
    delivery.fill(&report)?;
    if progress.stopped() {
        return Err(Failure::Interrupted);
    }
    let written = delivery.commit()?;
    print(&report, arguments, &written)
}

fn measure(arguments: &Analyze, progress: &Progress) -> Result<Measurements, Failure> {
    let trace = open(&arguments.trace)?;
    Ok(progress::shown(progress, || replay(trace.as_ref(), &arguments.options(trace.as_ref()), progress))?)
}

/// Opens a trace.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Trace>, Failure> {
    Ok(matchpoint_trace::open(path)?)
}

/// Lets an interruption end the work in good order: no file is left behind.
pub(crate) fn stop_on_interrupt(progress: &Arc<Progress>) {
    let progress = Arc::clone(progress);
    // Without a handler (there can be one only) the default remains: the process ends at once.
    let _ = ctrlc::set_handler(move || progress.stop());
}

fn print(report: &Report<'_>, arguments: &Analyze, written: &[PathBuf]) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    let printed = if arguments.json.as_deref().is_some_and(is_stdout) {
        json::write(report, &mut out)
    } else {
        out.write_all(terminal::render(report).as_bytes())
    };
    for path in written {
        anstream::eprintln!("matchpoint: wrote {}", path.display());
    }
    printed.and_then(|()| out.flush()).map_err(|error| Failure::printing(&error))
}
