//! `matchpoint analyze`: a trace in, a verdict and its reports out.

use std::io::Write;
use std::path::Path;
use std::process;
use std::sync::Arc;

use matchpoint_replay::{Measurements, Progress, replay};
use matchpoint_trace::Trace;

use crate::cli::Analyze;
use crate::failure::Failure;
use crate::output::Outputs;
use crate::progress;
use crate::report::{self, Report};

/// Runs the command.
///
/// # Errors
/// The trace cannot be read, a file cannot be written, or the user interrupted it.
pub fn run(arguments: &Analyze) -> Result<(), Failure> {
    let mut outputs = Outputs::default();
    let wanted = Wanted::reserve(arguments, &mut outputs)?;
    let progress = Arc::new(Progress::default());
    stop_on_interrupt(&progress);
    let measurements = measure(arguments, &progress)?;
    let report = Report::new(&measurements);
    wanted.fill(&report, &mut outputs)?;
    if progress.stopped() {
        return Err(Failure::Interrupted);
    }
    let written = outputs.commit()?;
    print(&report, arguments, &written)
}

fn measure(arguments: &Analyze, progress: &Progress) -> Result<Measurements, Failure> {
    let trace = open(&arguments.trace)?;
    Ok(progress::shown(progress, || replay(trace.as_ref(), &arguments.options(), progress))?)
}

fn open(path: &Path) -> Result<Box<dyn Trace>, Failure> {
    Ok(matchpoint_trace::open(path)?)
}

fn stop_on_interrupt(progress: &Arc<Progress>) {
    let progress = Arc::clone(progress);
    // Without a handler (there can be one only) the default remains: the process ends at once.
    let _ = ctrlc::set_handler(move || {
        if progress.stopped() {
            process::exit(130); // asked twice: do not wait for a replay that does not listen
        }
        progress.stop();
    });
}

/// The files asked for, by their number in [`Outputs`].
struct Wanted {
    json: Option<usize>,
    html: Option<usize>,
    csv: Vec<usize>,
}

impl Wanted {
    fn reserve(arguments: &Analyze, outputs: &mut Outputs) -> Result<Self, Failure> {
        let mut file = |path: &Path| outputs.reserve(path);
        let json = arguments.json.as_deref().filter(|path| !is_stdout(path)).map(&mut file).transpose()?;
        let html = arguments.html.as_deref().map(&mut file).transpose()?;
        let mut csv = Vec::new();
        if let Some(folder) = &arguments.csv {
            outputs.folder(folder)?;
            for table in report::csv::TABLES {
                csv.push(outputs.reserve(&folder.join(table.file))?);
            }
        }
        Ok(Wanted { json, html, csv })
    }

    fn fill(&self, report: &Report<'_>, outputs: &mut Outputs) -> Result<(), Failure> {
        if let Some(index) = self.json {
            outputs.fill(index, |out| report::json::write(report, out))?;
        }
        if let Some(index) = self.html {
            outputs.fill(index, |out| out.write_all(report::html::render(report).as_bytes()))?;
        }
        for (table, &index) in report::csv::TABLES.iter().zip(&self.csv) {
            outputs.fill(index, |out| (table.write)(report, out))?;
        }
        Ok(())
    }
}

fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn print(report: &Report<'_>, arguments: &Analyze, written: &[std::path::PathBuf]) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    let printed = if arguments.json.as_deref().is_some_and(is_stdout) {
        report::json::write(report, &mut out)
    } else {
        out.write_all(report::terminal::render(report).as_bytes())
    };
    let named = printed.and_then(|()| out.flush()).map_err(|error| Failure::printing(&error));
    for path in written {
        anstream::eprintln!("matchpoint: wrote {}", path.display());
    }
    named
}
