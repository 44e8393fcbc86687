//! `matchpoint analyze`: reports a verdict on a trace.

use std::sync::Arc;

use matchpoint_replay::analysis::library_cost;
use matchpoint_replay::{Measurements, Progress, replay};
use matchpoint_trace::open;

use crate::cli::Analyze;
use crate::delivery::Delivery;
use crate::failure::Failure;
use crate::places;
use crate::progress;
use crate::report::{Report, terminal};

pub fn run(arguments: &Analyze) -> Result<(), Failure> {
    let mut delivery = Delivery::prepare(arguments)?;
    let progress = Arc::new(Progress::default());
    stop_on_interrupt(&progress);
    let measurements = progress::shown(&progress, || measure(arguments, &progress))?;
    let report = Report::new(&measurements);
    delivery.fill(&report)?;
    if progress.stopped() {
        return Err(Failure::Interrupted);
    }
    delivery.finish(&terminal::render(&report))
}

/// # Errors
/// A trace or an engine cannot be used, or [`Progress::stop`] was called.
pub fn measure(arguments: &Analyze, progress: &Progress) -> Result<Measurements, Failure> {
    let trace = open(&arguments.trace)?;
    let mut measurements = replay(trace.as_ref(), &arguments.options(trace.as_ref()), progress)?;
    places::name(&mut measurements)?;
    library_cost::apply(&mut measurements);
    Ok(measurements)
}

pub(crate) fn stop_on_interrupt(progress: &Arc<Progress>) {
    let progress = Arc::clone(progress);
    // A process has only one handler. Without the handler, an interrupt ends the process immediately.
    let _ = ctrlc::set_handler(move || progress.stop());
}
