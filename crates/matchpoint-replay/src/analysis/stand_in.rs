//! The stand-in: the engine that searches as the traced MPI library does, and the first engine of `analyze`.
//!
//! The choice depends on the library, its version, and its part that matches messages. The table in
//! `docs/reference/analyze.md` has the sources. The test `stand_ins` of `matchpoint-conformance` compares each engine
//! with a model of the library.

use crate::Measurements;
use crate::analysis::derived::matched_by;
use crate::measurements::EngineMeasurements;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StandIn {
    pub engine: &'static str,
    /// The library or layer with the same search, for a sentence.
    pub of: &'static str,
}

const fn list(of: &'static str) -> StandIn {
    StandIn { engine: "list", of }
}

/// The stand-in for a version string and a recorded transport.
pub fn stand_in(library: Option<&str>, transport: Option<&str>) -> StandIn {
    let library = library.unwrap_or_default();
    match (transport.unwrap_or_default(), family(library)) {
        ("", Family::OpenMpi) => StandIn { engine: "rank_array", of: "Open MPI" },
        ("ob1", Family::OpenMpi) => StandIn { engine: "rank_array", of: "Open MPI's ob1" },
        ("ucx", Family::OpenMpi) => StandIn { engine: "ucx", of: "UCX" },
        ("cm/ofi", Family::OpenMpi) => list("libfabric"),
        // No engine searches as PSM and similar layers.
        (_, Family::OpenMpi) => list("a linear list"),
        (_, Family::Intel) => list("Intel MPI"),
        ("ucx", Family::Mpich(of)) => match mpich_version(library) {
            Some(version) if version >= HASHED => StandIn { engine: "ucx:tags=mpich", of: "UCX" },
            Some(_) => list("UCX under MPICH before 4.3"),
            None => list(of),
        },
        ("ofi", Family::Mpich(_)) => list("libfabric"),
        (_, Family::Mpich(of)) => list(of),
    }
}

/// Older MPICH clears two bits of every tag mask by default, and UCX hashes full masks only.
const HASHED: (u32, u32) = (4, 3);

enum Family {
    OpenMpi,
    Intel,
    /// The name of MPICH or of a derived library.
    Mpich(&'static str),
}

fn family(library: &str) -> Family {
    if library.starts_with("Open MPI") {
        Family::OpenMpi
    } else if library.starts_with("Intel") {
        Family::Intel
    } else if library.contains("CRAY MPICH") {
        Family::Mpich("Cray MPICH")
    } else if library.starts_with("MVAPICH") {
        Family::Mpich("MVAPICH")
    } else {
        Family::Mpich("MPICH")
    }
}

/// The version of MPICH from which a library derives.
fn mpich_version(library: &str) -> Option<(u32, u32)> {
    let version = library
        .strip_prefix("MPICH Version:")
        .or_else(|| library.split_once("ANL base ").map(|(_, it)| it))?;
    let mut numbers = version.trim_start().split(|other: char| !other.is_ascii_digit());
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

pub fn bare(engine: &str) -> &str {
    engine.split(':').next().unwrap_or_default()
}

pub fn library_of(engine: &str) -> Option<&'static str> {
    match bare(engine) {
        "list" => Some("MPICH"),
        "rank_array" => Some("Open MPI"),
        "ucx" => Some("UCX"),
        _ => None,
    }
}

fn of_trace(measurements: &Measurements) -> StandIn {
    stand_in(measurements.trace.library.as_deref(), measurements.trace.transport.as_deref())
}

pub fn is_stand_in(measurements: &Measurements, engine: &EngineMeasurements) -> bool {
    bare(matched_by(engine)) == bare(of_trace(measurements).engine)
}

/// Whether the library of the trace hashes its queues, so that their length costs nothing.
pub fn is_hashed(measurements: &Measurements) -> bool {
    bare(of_trace(measurements).engine) == "ucx"
}

/// The end of a sentence with the library that searches as the engine. May be empty.
pub fn searches_as(measurements: &Measurements, engine: &EngineMeasurements) -> String {
    let traced = of_trace(measurements);
    if is_stand_in(measurements, engine) {
        return format!(", which searches as {} does", traced.of);
    }
    let Some(of) = library_of(matched_by(engine)) else { return String::new() };
    let another = match measurements.trace.library {
        Some(_) => format!(" (the traced library searches as {} does)", traced.of),
        None => String::new(),
    };
    format!(", which searches as {of} does{another}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_in_follows_library_and_transport() {
        for (library, transport, engine, of) in [
            (None, None, "list", "MPICH"),
            (Some("MPICH Version: 5.0.2"), None, "list", "MPICH"),
            (Some("MPICH Version: 5.0.2"), Some("shm"), "list", "MPICH"),
            (Some("MPICH Version: 5.0.2"), Some("ofi"), "list", "libfabric"),
            (Some("MPICH Version: 5.0.2"), Some("ucx"), "ucx:tags=mpich", "UCX"),
            (Some("MPICH Version: 4.3.0rc1"), Some("ucx"), "ucx:tags=mpich", "UCX"),
            (Some("MPICH Version: 4.2.3"), Some("ucx"), "list", "UCX under MPICH before 4.3"),
            (Some("MPICH Version: unknown"), Some("ucx"), "list", "MPICH"),
            (Some("MPI VERSION : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)"), None, "list", "Cray MPICH"),
            (
                Some("MPI VERSION : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)"),
                Some("ucx"),
                "list",
                "UCX under MPICH before 4.3",
            ),
            (Some("MVAPICH2 Version : 2.3.7"), None, "list", "MVAPICH"),
            (Some("Intel(R) MPI Library 2021.18 for Linux* OS"), Some("ofi"), "list", "Intel MPI"),
            (Some("Open MPI v5.0.11, package: …"), None, "rank_array", "Open MPI"),
            (Some("Open MPI v5.0.11, package: …"), Some("ob1"), "rank_array", "Open MPI's ob1"),
            (Some("Open MPI v4.1.4, package: …"), Some("ucx"), "ucx", "UCX"),
            (Some("Open MPI v4.1.4, package: …"), Some("cm/ofi"), "list", "libfabric"),
            (Some("Open MPI v4.1.4, package: …"), Some("cm/psm2"), "list", "a linear list"),
        ] {
            assert_eq!(stand_in(library, transport), StandIn { engine, of }, "{library:?} {transport:?}");
            assert!(matchpoint::engines::create(engine).is_ok());
        }
    }
}
