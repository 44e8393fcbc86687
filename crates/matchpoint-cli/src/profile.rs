//! `matchpoint profile`: writes a profile for the engine `partner`.

use std::sync::Arc;

use matchpoint_replay::{Arrivals, Progress};
use matchpoint_trace::open;

use crate::absent::print_missing_ranks;
use crate::analyze::stop_on_interrupt;
use crate::cli::Profile;
use crate::failure::Failure;
use crate::output::Outputs;
use crate::progress;

pub fn run(arguments: &Profile) -> Result<(), Failure> {
    let mut outputs = Outputs::default();
    let file = outputs.reserve(&arguments.output)?;
    let progress = Arc::new(Progress::default());
    stop_on_interrupt(&progress);
    let trace = open(&arguments.trace)?;
    let profile = progress::shown(&progress, || {
        let arrivals = arguments.arrivals.unwrap_or_else(|| Arrivals::best_of(trace.as_ref()));
        matchpoint_replay::profile(trace.as_ref(), arrivals, arguments.loggp, &progress)
    })?;
    outputs.fill(file, |out| profile.write(out))?;
    if progress.stopped() {
        return Err(Failure::Interrupted);
    }
    print_missing_ranks("", trace.description(), "the profile omits them, and the messages that they sent");
    outputs.finish("")
}
