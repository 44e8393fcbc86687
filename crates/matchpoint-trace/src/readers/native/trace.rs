//! A trace in Matchpoint's format: one file per rank.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::clock::{Timeline, UNKNOWN_NS};
use super::facts::{Facts, FactsError, RankFile};
use super::files::Files;
use super::notes;
use super::stream::Stream;
use crate::error::TraceError;
use crate::native::manifest::{self, Manifest};
use crate::native::{VERSION, arrivals, file_name};
use crate::readers::map::Map;
use crate::search::SearchCost;
use crate::trace::{Arrivals, Description, Missing, Nanoseconds, RankReader, Trace};

struct Ranks {
    description: Description,
    present: Vec<u32>,
    files: Vec<RankFile>,
}

impl Trace for Ranks {
    fn description(&self) -> &Description {
        &self.description
    }

    fn present(&self) -> &[u32] {
        &self.present
    }

    fn crowding(&self) -> Option<f64> {
        let mut hosts: BTreeMap<(&str, &str), (u32, u32)> = BTreeMap::new();
        for facts in self.files.iter().flat_map(|file| &file.facts) {
            let (processes, processors) = hosts.entry(facts.host()).or_default();
            (*processes, *processors) = (*processes + 1, facts.head.processors.max(*processors));
        }
        let known = hosts.into_values().filter(|&(_, processors)| processors > 0);
        let crowding = known.map(|(processes, processors)| f64::from(processes) / f64::from(processors));
        crowding.map(|crowding| crowding.max(1.0)).reduce(f64::max)
    }

    fn searches(&self) -> Vec<SearchCost> {
        let facts = self.files.iter().flat_map(|file| &file.facts);
        facts.flat_map(|facts| facts.searches.iter().cloned()).collect()
    }

    fn rank(&self, rank: u32) -> Result<Box<dyn RankReader + '_>, TraceError> {
        let RankFile { path, map, facts } = self.file(rank);
        let facts = match facts {
            Ok(facts) => facts.clone(),
            Err(problem) => match Facts::of(path, map) {
                Err(FactsError::Damaged(error)) => return Err(error),
                _ => {
                    return Err(TraceError::new(path, problem, "remove the file to analyze the other ranks"));
                }
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

pub(super) fn open(files: Files) -> Result<Box<dyn Trace>, TraceError> {
    let mut opened = OpenedFiles::default();
    for (rank, file) in &files.by_rank {
        opened.file(*rank, file)?;
    }
    if let Some(rank) = files.only {
        opened.rename(rank);
    }
    opened.check_same_run(&files.path)?;
    opened.use_wall_clocks();
    if opened.present.values().all(RankFile::is_silent) {
        return Err(no_readable_file(&files, &opened));
    }
    if !opened.present.values().any(|file| file.facts.is_ok()) {
        return Err(opened.first_error());
    }
    Ok(Box::new(opened.finish(files)))
}

#[derive(Default)]
struct OpenedFiles {
    present: BTreeMap<u32, RankFile>,
    empty: BTreeMap<u32, String>,
    bytes: u64,
}

impl OpenedFiles {
    fn file(&mut self, rank: u32, path: &Path) -> Result<(), TraceError> {
        let bytes = fs::metadata(path).map_err(|error| TraceError::io(path, &error))?.len();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if bytes == 0 {
            self.empty.insert(rank, format!("{name} is empty: its process wrote nothing"));
            return Ok(());
        }
        let map = Map::open(path)?;
        let facts = match Facts::of(path, &map) {
            Ok(facts) => Ok(Arc::new(facts)),
            Err(FactsError::Truncated) => {
                self.empty.insert(rank, format!("{name} ends before any call: {DIED}"));
                return Ok(());
            }
            Err(FactsError::Damaged(error)) => Err(error.problem),
        };
        self.bytes += bytes;
        self.present.insert(rank, RankFile { path: path.to_owned(), map, facts });
        Ok(())
    }

    fn rename(&mut self, rank: u32) {
        if let Some(file) = self.present.remove(&rank) {
            let rank = file.facts.as_ref().map_or(rank, |facts| facts.head.rank);
            self.present.insert(rank, file);
        }
    }

    fn facts(&self) -> impl Iterator<Item = (u32, &Facts)> {
        self.present.iter().filter_map(|(rank, file)| Some((*rank, &**file.facts.as_ref().ok()?)))
    }

    fn check_same_run(&self, path: &Path) -> Result<(), TraceError> {
        let sizes: BTreeSet<u32> = self.facts().map(|(_, facts)| facts.head.size).collect();
        if sizes.len() > 1 {
            let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
            let problem = format!("the files belong to different runs: of {} processes", sizes.join(" and "));
            return Err(TraceError::new(path, problem, "put each run into a separate folder"));
        }
        match self.facts().find(|(rank, facts)| facts.head.rank != *rank) {
            Some((rank, facts)) => {
                let problem =
                    format!("the name of the file has rank {rank}, its head rank {}", facts.head.rank);
                Err(TraceError::new(&self.present[&rank].path, problem, "rename it"))
            }
            None => Ok(()),
        }
    }

    /// Uses wall clocks: monotonic clocks of hosts differ by days, wall clocks only by little.
    fn use_wall_clocks(&mut self) {
        let mut next_call: BTreeMap<(String, String), i64> = BTreeMap::new();
        let mut root = None;
        let key = |facts: &Facts| (facts.head.host.clone(), facts.head.boot.clone());
        for (_, facts) in self.facts().filter(|(_, facts)| facts.head.started_ns > 0) {
            // The shortest interruption between the readings of both clocks gives the best estimate.
            let difference = facts.head.started_ns.saturating_sub(facts.head.clock.ns);
            let known = next_call.entry(key(facts)).or_insert(difference);
            *known = (*known).max(difference);
            root.get_or_insert_with(|| key(facts));
        }
        let Some(root) = root.filter(|_| next_call.len() > 1) else { return };
        for file in self.present.values_mut() {
            let Some(facts) = file.facts.as_mut().ok().and_then(Arc::get_mut) else { continue };
            let host = key(facts);
            if let Some(difference) = next_call.get(&host).filter(|_| facts.time.offsets.is_empty()) {
                let ns = difference.saturating_sub(next_call[&root]);
                facts.time.offset(facts.head.clock.ticks, ns, UNKNOWN_NS);
            }
        }
    }

    fn calls_cut_off(&self, finished: &BTreeMap<u32, &manifest::RankFile>) -> u64 {
        let there = |rank: &u32| match (self.present.get(rank), self.empty.get(rank)) {
            (Some(file), _) => Some(file.facts.as_ref().map_or(u64::MAX, |facts| facts.calls)),
            (None, Some(_)) => Some(0),
            (None, None) => None,
        };
        let cut_off =
            finished.iter().filter_map(|(rank, listed)| Some(listed.calls.saturating_sub(there(rank)?)));
        cut_off.fold(0, u64::saturating_add)
    }

    fn first_error(&self) -> TraceError {
        let file = self.present.values().next().expect("there is one");
        match Facts::of(&file.path, &file.map) {
            Err(FactsError::Damaged(error)) => error,
            _ => TraceError::new(&file.path, "the file cannot be read", "copy it again"),
        }
    }

    /// Moves ranks without calls to the missing ranks. `listed` are the files of the manifest.
    fn move_silent_to_missing(&mut self, listed: &BTreeMap<u32, &manifest::RankFile>) {
        let (silent, present): (BTreeMap<_, _>, _) =
            std::mem::take(&mut self.present).into_iter().partition(|(_, file)| file.is_silent());
        self.present = present;
        self.empty.extend(silent.iter().map(|(&rank, file)| (rank, reason_for_silence(file))));
        for (rank, why) in &mut self.empty {
            if let Some(listed) = listed.get(rank).filter(|listed| listed.calls > 0) {
                let (name, calls) = (&listed.file, listed.calls);
                *why = format!("{name} was truncated after the run, and has none of its {calls} calls");
            }
        }
    }

    fn finish(mut self, files: Files) -> Ranks {
        let manifest = files.manifest.unwrap_or_default();
        let listed = self.facts().map(|(_, facts)| facts.head.size).max().unwrap_or(0);
        let counted = self.present.keys().chain(self.empty.keys()).max().map_or(0, |last| last + 1);
        let ranks = listed.max(counted).max(manifest.ranks.unwrap_or(0));
        let notes = notes::all(&self.present, &manifest, ranks);
        let calls_left_out = self
            .facts()
            .filter_map(|(_, facts)| facts.end.as_ref())
            .map(|end| end.left_out.saturating_add(end.unseen));
        let calls_left_out = calls_left_out.fold(0, u64::saturating_add);
        let clock_error_ns = notes::clock_error_ns(&self.present);
        let version = self.facts().map(|(_, facts)| facts.head.version).max().unwrap_or(VERSION);
        let library = self.facts().find_map(|(_, facts)| facts.head.library_line());
        let transport =
            self.facts().map(|(_, facts)| &facts.head.transport).find(|name| !name.is_empty()).cloned();
        let null_looks_any = self.facts().any(|(_, facts)| facts.head.null_looks_any);
        let finished = manifest.finished();
        let calls_cut_off = self.calls_cut_off(&finished);
        self.move_silent_to_missing(&finished);
        let missing = missing(&self, &manifest, ranks, files.only);
        let ended_early = self.facts().filter(|(_, facts)| facts.end.is_none() && !facts.has_damage);
        let ended_early = ended_early.map(|(rank, _)| rank).collect();
        let present = std::mem::take(&mut self.present);
        let (present, mapped) = present.into_iter().unzip();
        let description = Description {
            format: format!("Matchpoint {version}"),
            library,
            transport,
            command: manifest.command.clone(),
            started: manifest.started.clone(),
            path: files.path,
            ranks,
            missing,
            bytes: self.bytes,
            calls_left_out,
            calls_cut_off,
            ended_early,
            clock_error_ns,
            null_looks_any,
            notes,
        };
        Ranks { description, present, files: mapped }
    }
}

fn reason_for_silence(file: &RankFile) -> String {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    let end = file.facts.as_ref().ok().and_then(|facts| facts.end.as_ref());
    match end.map(|end| end.left_out) {
        Some(1..) => format!("{name} has no call: the limit of disk space was reached before the first"),
        Some(0) => format!("{name} has no call: no call of its process could be recorded"),
        None => format!("{name} has no call: {DIED}"),
    }
}

const DIED: &str = "its process died before the first write, or the file is incomplete";

fn missing(opened: &OpenedFiles, manifest: &Manifest, ranks: u32, only: Option<u32>) -> Vec<Missing> {
    let listed: BTreeMap<u32, &str> =
        manifest.files.iter().map(|file| (file.rank, file.file.as_str())).collect();
    let why = |rank: u32| match (opened.empty.get(&rank), listed.get(&rank), only) {
        (Some(why), _, _) => why.clone(),
        (_, _, Some(only)) => format!("only the file of rank {only} was given"),
        (_, Some(name), _) => format!("{name} is in the manifest, but missing"),
        _ => format!("no file {}", file_name(rank)),
    };
    let absent = (0..ranks).filter(|rank| !opened.present.contains_key(rank));
    absent.map(|rank| Missing { rank, why: why(rank) }).collect()
}

fn no_readable_file(files: &Files, opened: &OpenedFiles) -> TraceError {
    let limited = |file: &RankFile| {
        let end = file.facts.as_ref().ok().and_then(|facts| facts.end.as_ref());
        end.is_some_and(|end| end.left_out > 0)
    };
    let finished = files.manifest.as_ref().map(Manifest::finished).unwrap_or_default();
    let (problem, advice) = if opened.empty.is_empty() && opened.present.is_empty() {
        ("a manifest, but no file of a rank", "put the rank-*.mpt files next to it")
    } else if finished.values().any(|listed| listed.calls > 0) {
        (
            "no file of a rank has calls, unlike in the manifest: the files were truncated after the run",
            "copy the trace again",
        )
    } else if opened.present.values().any(limited) {
        (
            "no file of a rank has calls: the limit of disk space was reached before the first was written",
            "record the run again with a larger --limit, or without",
        )
    } else {
        (
            "no file of a rank has calls: every process died before its first write",
            "record a longer run: calls are written after 0.1 s and then once a second, and when a process ends by \
             MPI_Finalize, MPI_Abort or exit",
        )
    };
    TraceError::new(&files.path, problem, advice)
}
