//! `matchpoint profile`: a trace in, a profile for the engine `partner` out.

use std::io::Write;
use std::sync::Arc;

use matchpoint_replay::{Arrivals, Progress};

use crate::absent::tell_missing;
use crate::analyze::{open, stop_on_interrupt};
use crate::cli::Profile;
use crate::failure::Failure;
use crate::output::{Outputs, is_stdout};
use crate::progress;

/// Runs the command.
///
/// # Errors
/// The trace cannot be read, the file cannot be written, or the user interrupted it.
pub fn run(arguments: &Profile) -> Result<(), Failure> {
    let mut outputs = Outputs::default();
    let file = Some(&arguments.output).filter(|path| !is_stdout(path));
    let file = file.map(|path| outputs.reserve(path)).transpose()?;
    let progress = Arc::new(Progress::default());
    stop_on_interrupt(&progress);
    let trace = open(&arguments.trace)?;
    let profile = progress::shown(&progress, || {
        let arrivals = arguments.arrivals.unwrap_or_else(|| Arrivals::best_of(trace.as_ref()));
        matchpoint_replay::profile(trace.as_ref(), arrivals, arguments.loggp, &progress)
    })?;
    match file {
        Some(file) => outputs.fill(file, |out| profile.write(out))?,
        None => {
            let mut out = anstream::stdout().lock();
            let printed = profile.write(&mut out).and_then(|()| out.flush());
            printed.map_err(|error| Failure::printing(&error))?;
        }
    }
    if progress.stopped() {
        return Err(Failure::Interrupted);
    }
    tell_missing(
        "",
        trace.description(),
        "they have no part in the profile, and what they sent is not counted",
    );
    for path in outputs.commit()? {
        anstream::eprintln!("matchpoint: wrote {}", path.display());
    }
    Ok(())
}
