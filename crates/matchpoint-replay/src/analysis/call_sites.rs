//! Sentences about the call sites of receives.

use std::cmp::Reverse;

use crate::Measurements;
use crate::format;
use crate::measurements::{PlaceMeasurements, SiteReceives};

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
    sorted.sort_by_key(|place| Reverse(of(&place.receives)));
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
