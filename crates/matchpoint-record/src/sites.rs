//! Call sites: functions and source lines of the return addresses in a trace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use addr2line::Loader;
use matchpoint_trace::native::{self, Summary};
use matchpoint_trace::{Call, Trace, TraceError};
use serde::{Deserialize, Serialize};

use crate::error::RecordError;

/// File with resolved call sites, next to the rank files.
pub const FILE: &str = "callsites.json";

/// A call site: code of the application that called MPI.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Site {
    /// File with the code.
    pub module: String,
    /// Return address in the file.
    pub address: u64,
    /// Function, if the file has symbols.
    pub function: Option<String>,
    /// Source file and line, if known.
    pub source: Option<String>,
    /// Calls by MPI function, summed over all processes.
    pub calls: BTreeMap<&'static str, u64>,
}

/// Resolves the call sites of a trace and writes them to [`FILE`].
///
/// # Errors
/// The trace is damaged, or the file cannot be written.
pub(crate) fn write(folder: &Path, files: &[Summary]) -> Result<(), RecordError> {
    let failed = |error: TraceError| RecordError(error.to_string());
    let trace = matchpoint_trace::open(folder).map_err(failed)?;
    let sites = resolve(&*trace, files).map_err(failed)?;
    let path = folder.join(FILE);
    let written =
        fs::File::create(&path).and_then(|mut file| Ok(serde_json::to_writer_pretty(&mut file, &sites)?));
    written.map_err(|error| RecordError::of_file(&path, &error))
}

/// Resolves all call sites of a trace, most frequent first. Code that is missing on this host keeps its
/// address.
///
/// # Errors
/// The trace is damaged.
pub fn resolve(trace: &dyn Trace, files: &[Summary]) -> Result<Vec<Site>, TraceError> {
    let mut found: BTreeMap<(&str, u64), BTreeMap<&'static str, u64>> = BTreeMap::new();
    for file in files.iter().filter(|file| trace.present().contains(&file.head.rank)) {
        for ((address, function), count) in count_addresses(trace, file.head.rank)? {
            let module = file.modules.iter().find(|module| (module.from..module.to).contains(&address));
            let place = module.map_or(("", address), |module| (module.path.as_str(), address - module.base));
            *found.entry(place).or_default().entry(function).or_default() += count;
        }
    }
    let modules: BTreeSet<&str> = found.keys().map(|(module, _)| *module).collect();
    let loaders: BTreeMap<&str, Loader> = modules
        .into_iter()
        .filter_map(|module| Some((module, Loader::new(Path::new(module)).ok()?)))
        .collect();
    let mut sites: Vec<Site> = found
        .into_iter()
        .map(|((module, address), calls)| {
            // The call instruction precedes its return address.
            let at = address.saturating_sub(1);
            let loader = loaders.get(module);
            let function = loader.and_then(|loader| find_function_name(loader, at));
            let source = loader.and_then(|loader| source(loader, at));
            Site { module: module.to_owned(), address, function, source, calls }
        })
        .collect();
    sites.sort_by_key(|site| std::cmp::Reverse(site.calls.values().sum::<u64>()));
    Ok(sites)
}

/// A location in the code of a program: file, function and source line of an address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// File with the code; empty if unknown.
    pub module: String,
    /// Address in the file.
    pub address: u64,
    /// Function, if the file has symbols.
    pub function: Option<String>,
    /// Source file and line, if known.
    pub source: Option<String>,
}

/// Resolves pairs of rank and address, in the given order: from [`FILE`] (written on the host of the
/// application), else from the code files on this host.
///
/// # Errors
/// The folder cannot be read.
pub fn places(folder: &Path, wanted: &[(u32, u64)]) -> Result<Vec<Place>, TraceError> {
    let files = native::summaries(folder)?;
    let of_rank: BTreeMap<u32, &Summary> = files.iter().map(|file| (file.head.rank, file)).collect();
    let stored_places = stored_places(folder);
    let mut loaders: BTreeMap<String, Option<Loader>> = BTreeMap::new();
    let mut place = |&(rank, address): &(u32, u64)| {
        let modules = of_rank.get(&rank).map_or(&[][..], |file| &file.modules);
        let Some(module) = modules.iter().find(|module| (module.from..module.to).contains(&address)) else {
            return Place { address, ..Place::default() };
        };
        let at = address - module.base;
        let mut place = Place { module: module.path.clone(), address: at, ..Place::default() };
        if let Some(stored) = stored_places.get(&(module.path.clone(), at)) {
            place.clone_from(stored);
        } else if let Some(loader) =
            loaders.entry(module.path.clone()).or_insert_with(|| Loader::new(Path::new(&module.path)).ok())
        {
            place.function = find_function_name(loader, at.saturating_sub(1));
            place.source = source(loader, at.saturating_sub(1));
        }
        place
    };
    Ok(wanted.iter().map(&mut place).collect())
}

/// The places in [`FILE`].
fn stored_places(folder: &Path) -> BTreeMap<(String, u64), Place> {
    #[derive(Deserialize)]
    struct StoredSite {
        module: String,
        address: u64,
        function: Option<String>,
        source: Option<String>,
    }
    let text = fs::read(folder.join(FILE)).unwrap_or_default();
    let stored: Vec<StoredSite> = serde_json::from_slice(&text).unwrap_or_default();
    let place = |StoredSite { module, address, function, source }| {
        ((module.clone(), address), Place { module, address, function, source })
    };
    stored.into_iter().map(place).collect()
}

fn count_addresses(trace: &dyn Trace, rank: u32) -> Result<BTreeMap<(u64, &'static str), u64>, TraceError> {
    let mut counts = BTreeMap::new();
    let mut call = Call::default();
    let mut reader = trace.rank(rank)?;
    while reader.read(&mut call)? {
        if call.site != 0 {
            *counts.entry((call.site, call.function.name())).or_default() += 1;
        }
    }
    Ok(counts)
}

fn find_function_name(loader: &Loader, address: u64) -> Option<String> {
    let mut frames = loader.find_frames(address).ok()?;
    let debugged = frames.next().ok().flatten().and_then(|frame| frame.function);
    let named = debugged.and_then(|function| Some(function.demangle().ok()?.into_owned()));
    named.or_else(|| Some(loader.find_symbol(address)?.to_owned()))
}

fn source(loader: &Loader, address: u64) -> Option<String> {
    let location = loader.find_location(address).ok()??;
    Some(format!("{}:{}", location.file?, location.line?))
}
