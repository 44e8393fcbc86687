//! A trace: a file for each rank.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::clock::Timeline;
use super::files::Files;
use super::notes;
use super::stream::Stream;
use super::survey::{Bad, Facts};
use crate::error::TraceError;
use crate::native::manifest::Manifest;
use crate::native::{VERSION, arrivals, file_name};
use crate::readers::map::Map;
use crate::trace::{Arrivals, Description, Missing, Nanoseconds, RankReader, Trace};

struct Ranks {
    description: Description,
    present: Vec<u32>,
    files: Vec<RankFile>,
}

/// A rank's file, mapped.
pub(super) struct RankFile {
    pub path: PathBuf,
    pub map: Map,
    /// `Err` if it cannot be read: whoever begins to read is told why.
    pub facts: Result<Arc<Facts>, String>,
}

impl Trace for Ranks {
    fn description(&self) -> &Description {
        &self.description
    }

    fn present(&self) -> &[u32] {
        &self.present
    }

    fn rank(&self, rank: u32) -> Result<Box<dyn RankReader + '_>, TraceError> {
        let RankFile { path, map, facts } = self.file(rank);
        let facts = match facts {
            Ok(facts) => facts.clone(),
            // Finds the error again.
            Err(problem) => match Facts::of(path, map) {
                Err(Bad::Damaged(error)) => return Err(error),
                _ => return Err(TraceError::new(path, problem, "leave this rank out")),
            },
        };
        Ok(Box::new(Stream::new(path.clone(), map.clone(), facts)?))
    }

    fn arrivals(&self, rank: u32) -> Result<Option<Arrivals<'_>>, TraceError> {
        let path = self.file(rank).path.with_extension(arrivals::EXTENSION);
        if !path.is_file() {
            return Ok(None);
        }
        Ok(Some(Box::new(super::arrivals::Arrivals::open(&path)?)))
    }

    fn nanoseconds(&self, rank: u32) -> Option<Nanoseconds<'_>> {
        let facts = self.file(rank).facts.as_ref().ok()?;
        let mut time = Timeline::new(&facts.time, facts.head.clock.hz);
        Some(Box::new(move |ticks| time.ns(ticks)))
    }
}

impl Ranks {
    fn file(&self, rank: u32) -> &RankFile {
        let index = self.present.binary_search(&rank);
        &self.files[index.unwrap_or_else(|_| panic!("rank {rank} is not present"))]
    }
}

/// Opens the trace of these files.
///
/// # Errors
/// None of them can be read, or they are of different runs.
pub(super) fn open(files: Files) -> Result<Box<dyn Trace>, TraceError> {
    let mut found = Found::default();
    for (rank, file) in &files.by_rank {
        found.file(*rank, file)?;
    }
    if found.present.is_empty() {
        return Err(nothing(&files, &found));
    }
    if let Some(rank) = files.only {
        found.rename(rank);
    }
    found.one_run(&files.path)?;
    found.use_wall_clocks();
    if !found.present.values().any(|file| file.facts.is_ok()) {
        return Err(found.first_error());
    }
    Ok(Box::new(found.finish(files)))
}

/// What the files are.
#[derive(Default)]
struct Found {
    present: BTreeMap<u32, RankFile>,
    /// Why others are not.
    empty: BTreeMap<u32, String>,
    bytes: u64,
}

impl Found {
    fn file(&mut self, rank: u32, path: &Path) -> Result<(), TraceError> {
        let bytes = fs::metadata(path).map_err(|error| TraceError::io(path, &error))?.len();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if bytes == 0 {
            self.empty
                .insert(rank, format!("{name} is empty: its process was killed before it wrote anything"));
            return Ok(());
        }
        let map = Map::open(path)?;
        let facts = match Facts::of(path, &map) {
            Ok(facts) => Ok(Arc::new(facts)),
            Err(Bad::Short) => {
                self.empty.insert(rank, format!("{name} ends before any call: its process was killed early"));
                return Ok(());
            }
            Err(Bad::Damaged(error)) => Err(error.problem),
        };
        self.bytes += bytes;
        self.present.insert(rank, RankFile { path: path.to_owned(), map, facts });
        Ok(())
    }

    /// A file alone is of the rank that its head says.
    fn rename(&mut self, rank: u32) {
        if let Some(file) = self.present.remove(&rank) {
            let rank = file.facts.as_ref().map_or(rank, |facts| facts.head.rank);
            self.present.insert(rank, file);
        }
    }

    fn facts(&self) -> impl Iterator<Item = (u32, &Facts)> {
        self.present.iter().filter_map(|(rank, file)| Some((*rank, &**file.facts.as_ref().ok()?)))
    }

    /// Files of two runs would make up a run that there never was.
    fn one_run(&self, path: &Path) -> Result<(), TraceError> {
        let sizes: BTreeSet<u32> = self.facts().map(|(_, facts)| facts.head.size).collect();
        if sizes.len() > 1 {
            let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
            let problem = format!("the files are of different runs: of {} processes", sizes.join(" and "));
            return Err(TraceError::new(path, problem, "put each run into a folder of its own"));
        }
        match self.facts().find(|(rank, facts)| facts.head.rank != *rank) {
            Some((rank, facts)) => {
                let problem = format!(
                    "by its name this is the file of rank {rank}, by its head of {}",
                    facts.head.rank
                );
                Err(TraceError::new(&self.present[&rank].path, problem, "rename it"))
            }
            None => Ok(()),
        }
    }

    /// Where hosts' clocks were not compared: clocks of hosts differ by days, and wall clocks by little.
    fn use_wall_clocks(&mut self) {
        let mut ahead: BTreeMap<(String, String), i64> = BTreeMap::new();
        let mut root = None;
        let key = |facts: &Facts| (facts.head.host.clone(), facts.head.boot.clone());
        for (_, facts) in self.facts().filter(|(_, facts)| facts.head.started_ns > 0) {
            // Of all processes of a host the one that was interrupted least between the two readings.
            let difference = facts.head.started_ns.saturating_sub(facts.head.clock.ns);
            let known = ahead.entry(key(facts)).or_insert(difference);
            *known = (*known).max(difference);
            root.get_or_insert_with(|| key(facts));
        }
        let Some(root) = root.filter(|_| ahead.len() > 1) else { return };
        for file in self.present.values_mut() {
            let Some(facts) = file.facts.as_mut().ok().and_then(Arc::get_mut) else { continue };
            let host = key(facts);
            if let Some(difference) = ahead.get(&host).filter(|_| facts.time.offsets.is_empty()) {
                let ns = difference.saturating_sub(ahead[&root]);
                facts.time.offset(facts.head.clock.ticks, ns, notes::UNKNOWN_NS);
            }
        }
    }

    fn first_error(&self) -> TraceError {
        let file = self.present.values().next().expect("there is one");
        match Facts::of(&file.path, &file.map) {
            Err(Bad::Damaged(error)) => error,
            _ => TraceError::new(&file.path, "the file cannot be read", "copy it again"),
        }
    }

    fn finish(mut self, files: Files) -> Ranks {
        let manifest = files.manifest.unwrap_or_default();
        let told = self.facts().map(|(_, facts)| facts.head.size).max().unwrap_or(0);
        let counted = self.present.keys().chain(self.empty.keys()).max().map_or(0, |last| last + 1);
        let ranks = told.max(counted).max(manifest.ranks.unwrap_or(0));
        let notes = notes::all(&self.present, &manifest, ranks);
        let calls_left_out = self
            .facts()
            .filter_map(|(_, facts)| facts.end.as_ref())
            .map(|end| end.left_out.saturating_add(end.unseen));
        let calls_left_out = calls_left_out.fold(0, u64::saturating_add);
        let clock_error_ns = notes::clock_error_ns(&self.present);
        let version = self.facts().map(|(_, facts)| facts.head.version).max().unwrap_or(VERSION);
        let null_looks_any = self.facts().any(|(_, facts)| facts.head.null_looks_any);
        let missing = missing(&self, &manifest, ranks, files.only);
        let present = std::mem::take(&mut self.present);
        let (present, mapped) = present.into_iter().unzip();
        let description = Description {
            format: format!("Matchpoint {version}"),
            path: files.path,
            ranks,
            missing,
            bytes: self.bytes,
            calls_left_out,
            clock_error_ns,
            null_looks_any,
            notes,
        };
        Ranks { description, present, files: mapped }
    }
}

fn missing(found: &Found, manifest: &Manifest, ranks: u32, only: Option<u32>) -> Vec<Missing> {
    let listed: BTreeMap<u32, &str> =
        manifest.files.iter().map(|file| (file.rank, file.file.as_str())).collect();
    let why = |rank: u32| match (found.empty.get(&rank), listed.get(&rank), only) {
        (Some(why), _, _) => why.clone(),
        (_, _, Some(only)) => format!("only the file of rank {only} was given"),
        (_, Some(name), _) => format!("the manifest tells of {name}, which is not there"),
        _ => format!("there is no file {}", file_name(rank)),
    };
    let absent = (0..ranks).filter(|rank| !found.present.contains_key(rank));
    absent.map(|rank| Missing { rank, why: why(rank) }).collect()
}

fn nothing(files: &Files, found: &Found) -> TraceError {
    let (problem, advice) = if found.empty.is_empty() {
        ("there is a manifest, but no file of any rank", "put the rank-*.mpt files beside it")
    } else {
        ("no file of any rank holds calls", "record the run again: it was killed before it called anything")
    };
    TraceError::new(&files.path, problem, advice)
}
