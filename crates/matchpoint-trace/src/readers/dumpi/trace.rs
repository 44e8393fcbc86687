//! A trace of the binary form.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::files::{Files, Found, find, meta_of, numbered};
use super::identity::Identity;
use super::map::Map;
use super::meta::{MOST_RANKS, Meta};
use super::stream::Stream;
use super::survey::Survey;
use crate::error::TraceError;
use crate::trace::{Description, Missing, RankReader, Trace};

/// A trace, of which every rank's file is mapped while it is read.
pub(super) struct Binary {
    description: Description,
    present: Vec<u32>,
    files: Vec<PathBuf>,
}

/// Opens a folder, a `.meta` file, or the `.bin` file of one rank.
///
/// # Errors
/// There is no trace, more than one, or none of whose files can be read.
pub(super) fn open(path: &Path) -> Result<Box<dyn Trace>, TraceError> {
    let trace = match find(path)? {
        Found::Ranks(files) => Binary::of_ranks(files)?,
        Found::Alone(file) => match meta_of(&file) {
            Some((meta, rank)) => Binary::of_many(path, file, rank, &Meta::read(&meta)?)?,
            None => Binary::alone(path, file)?,
        },
    };
    Ok(Box::new(trace))
}

fn length(path: &Path) -> Result<u64, TraceError> {
    fs::metadata(path).map(|meta| meta.len()).map_err(|error| TraceError::io(path, &error))
}

impl Binary {
    fn of_ranks(files: Files) -> Result<Binary, TraceError> {
        let counted = files.by_rank.keys().next_back().map_or(0, |last| last.saturating_add(1));
        let claimed = files.meta.as_ref().and_then(|meta| meta.ranks);
        let ranks = claimed.unwrap_or(0).max(counted);
        if ranks > MOST_RANKS {
            let problem = format!("the name of a file gives rank {}", ranks - 1);
            return Err(TraceError::new(&files.path, problem, "rename that file, or remove it"));
        }
        let version = files.meta.as_ref().and_then(|meta| meta.version);
        let mut builder = Builder::new(files.path, ranks);
        match claimed {
            None => builder.notes.push(format!(
                "No .meta file tells the number of processes; {ranks} is what the names of the files give."
            )),
            Some(claimed) if claimed < counted => builder.notes.push(format!(
                "The .meta file tells of {claimed} processes, but there are files of ranks up to {}, which are read.",
                counted - 1
            )),
            Some(_) => {}
        }
        for (rank, file) in files.by_rank {
            builder.file(rank, file)?;
        }
        builder.finish(version, |rank| format!("there is no file {}-{rank:04}.bin", files.prefix))
    }

    fn of_many(path: &Path, file: PathBuf, rank: u32, meta: &Meta) -> Result<Binary, TraceError> {
        let ranks = meta.ranks.unwrap_or(0).max(rank.saturating_add(1)).min(MOST_RANKS);
        Binary::single(path, file, rank, ranks, Vec::new())
    }

    fn alone(path: &Path, file: PathBuf) -> Result<Binary, TraceError> {
        let mut stream = Stream::new(file.clone(), Map::open(&file)?)?;
        let (rank, ranks, notes) = Identity::of(&mut stream).settle(numbered(&file).map(|(_, rank)| rank));
        Binary::single(path, file, rank, ranks, notes)
    }

    fn single(
        path: &Path,
        file: PathBuf,
        rank: u32,
        ranks: u32,
        notes: Vec<String>,
    ) -> Result<Binary, TraceError> {
        let mut builder = Builder::new(path.to_owned(), ranks);
        builder.notes = notes;
        builder.file(rank, file)?;
        builder.finish(None, |_| format!("only the file of rank {rank} was given"))
    }
}

/// Gathers what becomes a [`Binary`].
struct Builder {
    path: PathBuf,
    ranks: u32,
    survey: Survey,
    notes: Vec<String>,
    present: BTreeMap<u32, PathBuf>,
    empty: BTreeMap<u32, String>,
    bytes: u64,
    damage: Option<TraceError>,
}

impl Builder {
    fn new(path: PathBuf, ranks: u32) -> Self {
        Builder {
            path,
            ranks,
            survey: Survey::default(),
            notes: Vec::new(),
            present: BTreeMap::new(),
            empty: BTreeMap::new(),
            bytes: 0,
            damage: None,
        }
    }

    fn file(&mut self, rank: u32, file: PathBuf) -> Result<(), TraceError> {
        let bytes = length(&file)?;
        if bytes == 0 {
            let name = super::files::name(&file);
            self.empty.insert(rank, format!("{name} is empty, as a killed run leaves it"));
            return Ok(());
        }
        match Map::open(&file).and_then(|map| Stream::new(file.clone(), map)) {
            Ok(stream) => self.survey(&stream),
            Err(error) => drop(self.damage.get_or_insert(error)),
        }
        self.bytes += bytes;
        self.present.insert(rank, file);
        Ok(())
    }

    fn survey(&mut self, stream: &Stream<Map>) {
        self.survey.file(Some(stream.sections().version));
        if let Some(counts) = stream.counts() {
            self.survey.counts(&counts.called, &counts.ignored);
        }
        let (wall, cpu) = stream.timed();
        self.survey.timed(wall, cpu);
    }

    /// A trace with some damaged ranks is opened: reading those tells. One with no other ranks is not.
    fn finish(
        mut self,
        meta: Option<super::version::Version>,
        why: impl Fn(u32) -> String,
    ) -> Result<Binary, TraceError> {
        match self.damage {
            Some(error) if self.survey.is_empty() => return Err(error),
            None if self.present.is_empty() => {
                let advice = "trace the run again: it was killed before it wrote its calls";
                return Err(TraceError::new(&self.path, "the file of every rank is empty", advice));
            }
            _ => {}
        }
        let absent = |rank: &u32| !self.present.contains_key(rank);
        let missing = (0..self.ranks)
            .filter(absent)
            .map(|rank| Missing { rank, why: self.empty.get(&rank).cloned().unwrap_or_else(|| why(rank)) });
        let missing = missing.collect();
        self.notes.extend(self.survey.notes(meta));
        let version = self.survey.version().unwrap_or_default();
        let (format, ranks, path) = (format!("DUMPI {version}"), self.ranks, self.path);
        let description = Description { format, path, ranks, missing, bytes: self.bytes, notes: self.notes };
        let (present, files) = self.present.into_iter().unzip();
        Ok(Binary { description, present, files })
    }
}

impl Trace for Binary {
    fn description(&self) -> &Description {
        &self.description
    }

    fn present(&self) -> &[u32] {
        &self.present
    }

    fn rank(&self, rank: u32) -> Result<Box<dyn RankReader + '_>, TraceError> {
        let index =
            self.present.binary_search(&rank).unwrap_or_else(|_| panic!("rank {rank} is not present"));
        let file = &self.files[index];
        Ok(Box::new(Stream::new(file.clone(), Map::open(file)?)?))
    }
}
