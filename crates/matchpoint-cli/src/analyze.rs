//! `matchpoint analyze`: reports a verdict on a trace.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use matchpoint_record::sites::{self, Place};
use matchpoint_replay::analysis::{call_sites, library_cost};
use matchpoint_replay::measurements::{PlaceMeasurements, SiteReceives};
use matchpoint_replay::{Measurements, Progress, replay};
use matchpoint_trace::open;

use crate::cli::Analyze;
use crate::delivery::Delivery;
use crate::failure::{Failure, folder_of};
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
    name_places(&mut measurements)?;
    library_cost::apply(&mut measurements);
    Ok(measurements)
}

pub(crate) fn stop_on_interrupt(progress: &Arc<Progress>) {
    let progress = Arc::clone(progress);
    // A process has only one handler. Without the handler, an interrupt ends the process immediately.
    let _ = ctrlc::set_handler(move || progress.stop());
}

/// Fills [`Measurements::places`], sorted by compared entries.
fn name_places(measurements: &mut Measurements) -> Result<(), Failure> {
    if measurements.sites.is_empty() {
        return Ok(());
    }
    let path = Path::new(&measurements.trace.path);
    let folder = if path.is_dir() { path } else { folder_of(path) };
    let wanted: Vec<(u32, u64)> = measurements.sites.iter().map(|site| (site.rank, site.address)).collect();
    let named = sites::places(folder, &wanted)?;
    let mut merged: BTreeMap<Place, (u64, SiteReceives)> = BTreeMap::new();
    for (place, site) in named.into_iter().zip(&measurements.sites) {
        let entry = merged.entry(place).or_default();
        entry.0 += 1;
        entry.1 += site.receives;
    }
    let place = |(place, (ranks, receives)): (Place, (u64, SiteReceives))| PlaceMeasurements {
        module: place.module,
        address: place.address,
        function: place.function,
        source: place.source,
        ranks,
        receives,
    };
    measurements.places = merged.into_iter().map(place).collect();
    measurements
        .places
        .sort_by_key(|place| std::cmp::Reverse((call_sites::compared(place), place.receives.late)));
    Ok(())
}
