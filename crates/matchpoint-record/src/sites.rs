//! Call sites of a recorded job: which functions and lines the addresses in its trace are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use addr2line::Loader;
use matchpoint_trace::native::Summary;
use matchpoint_trace::{Call, Trace, TraceError};
use serde::Serialize;

use crate::error::RecordError;

/// Its file, beside the rank files.
pub const FILE: &str = "callsites.json";

/// A place in the application that called MPI.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Site {
    /// The file with the code.
    pub module: String,
    /// The address that the call returns to, in that file.
    pub address: u64,
    /// The function that called, if the file has symbols.
    pub function: Option<String>,
    /// Source file and line, if the file has them.
    pub source: Option<String>,
    /// The MPI functions called there, and how often, over all processes.
    pub calls: BTreeMap<&'static str, u64>,
}

/// Writes the call sites of a trace beside its rank files.
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
    written.map_err(|error| RecordError::file(&path, &error))
}

/// Finds the call sites of a trace, by how often they called: the busiest first. Code that is not on this host keeps its
/// address.
///
/// # Errors
/// The trace is damaged.
pub fn resolve(trace: &dyn Trace, files: &[Summary]) -> Result<Vec<Site>, TraceError> {
    let mut found: BTreeMap<(&str, u64), BTreeMap<&'static str, u64>> = BTreeMap::new();
    for file in files.iter().filter(|file| trace.present().contains(&file.head.rank)) {
        for ((address, function), count) in addresses(trace, file.head.rank)? {
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
            // The call itself stands before the address that it returns to.
            let at = address.saturating_sub(1);
            let loader = loaders.get(module);
            let function = loader.and_then(|loader| function(loader, at));
            let source = loader.and_then(|loader| source(loader, at));
            Site { module: module.to_owned(), address, function, source, calls }
        })
        .collect();
    sites.sort_by_key(|site| std::cmp::Reverse(site.calls.values().sum::<u64>()));
    Ok(sites)
}

fn addresses(trace: &dyn Trace, rank: u32) -> Result<BTreeMap<(u64, &'static str), u64>, TraceError> {
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

fn function(loader: &Loader, address: u64) -> Option<String> {
    let mut frames = loader.find_frames(address).ok()?;
    let debugged = frames.next().ok().flatten().and_then(|frame| frame.function);
    let named = debugged.and_then(|function| Some(function.demangle().ok()?.into_owned()));
    named.or_else(|| Some(loader.find_symbol(address)?.to_owned()))
}

fn source(loader: &Loader, address: u64) -> Option<String> {
    let location = loader.find_location(address).ok()??;
    Some(format!("{}:{}", location.file?, location.line?))
}
