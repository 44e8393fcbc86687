//! Call sites of receives: functions and source lines for the addresses of the replay.

use std::collections::BTreeMap;
use std::path::Path;

use matchpoint_record::sites::{self, Place};
use matchpoint_replay::Measurements;
use matchpoint_replay::analysis::call_sites;
use matchpoint_replay::measurements::{PlaceMeasurements, SiteReceives};

use crate::failure::{Failure, folder_of};

/// Fills [`Measurements::places`], sorted by compared entries.
pub fn name(measurements: &mut Measurements) -> Result<(), Failure> {
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
