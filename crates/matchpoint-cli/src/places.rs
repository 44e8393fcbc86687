//! Call sites of receives: functions and source lines for the addresses of the replay.

use std::collections::BTreeMap;
use std::path::Path;

use matchpoint_record::sites::{self, Place};
use matchpoint_replay::Measurements;
use matchpoint_replay::measurements::{PlaceMeasurements, SiteReceives};

use crate::failure::{Failure, folder_of};
use crate::format;

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
    measurements.places.sort_by_key(|place| std::cmp::Reverse((compared(place), place.receives.late)));
    Ok(())
}

/// Entries compared in both queues for receives of this call site.
pub fn compared(place: &PlaceMeasurements) -> u64 {
    place.receives.found.attempts + place.receives.sought.attempts
}

/// The function and source line of a call site without folders, such as `exchange (halo.c:94)`, or the known part.
pub fn short(place: &PlaceMeasurements) -> String {
    let file = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    match (&place.function, &place.source) {
        (Some(function), Some(source)) => format!("{function} ({})", file(source)),
        (None, Some(source)) => file(source),
        (Some(function), None) => format!("{function} ({}+{:#x})", file(&place.module), place.address),
        (None, None) => format!("{}+{:#x}", file(&place.module), place.address),
    }
}

/// A sentence about the call sites with most of the receives that `of` counts. Empty without call sites.
pub fn most(measurements: &Measurements, of: impl Fn(&SiteReceives) -> u64) -> String {
    const NAMED: usize = 3;
    let whole: u64 = measurements.places.iter().map(|place| of(&place.receives)).sum();
    let mut sorted: Vec<_> = measurements.places.iter().filter(|place| of(&place.receives) > 0).collect();
    sorted.sort_by_key(|place| std::cmp::Reverse(of(&place.receives)));
    let part = |place: &&PlaceMeasurements| {
        format!("{} {}", format::share(of(&place.receives) as f64 / whole as f64), short(place))
    };
    match &sorted[..] {
        [] => String::new(),
        [only] => format!(" All are posted by {}.", short(only)),
        _ => {
            let named: Vec<String> = sorted.iter().take(NAMED).map(part).collect();
            format!(" Call sites: {}.", named.join(", "))
        }
    }
}
