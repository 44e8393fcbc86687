//! A DUMPI trace: files of one form, one file per rank.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::file_notes::FileNotes;
use super::files::{Files, file_name};
use super::form::Form;
use super::meta::MOST_RANKS;
use crate::call::{Action, Call, CommId, Peer};
use crate::error::TraceError;
use crate::readers::map::Map;
use crate::trace::{Description, Missing, RankReader, Trace};

struct Ranks {
    description: Description,
    present: Vec<u32>,
    files: Vec<(PathBuf, OnceLock<Map>)>,
    form: &'static Form,
}

impl Trace for Ranks {
    fn description(&self) -> &Description {
        &self.description
    }

    fn present(&self) -> &[u32] {
        &self.present
    }

    fn rank(&self, rank: u32) -> Result<Box<dyn RankReader + '_>, TraceError> {
        let index =
            self.present.binary_search(&rank).unwrap_or_else(|_| panic!("rank {rank} is not present"));
        let (file, kept) = &self.files[index];
        (self.form.stream)(file, kept)
    }
}

pub(super) fn of_ranks(form: &'static Form, files: Files) -> Result<Box<dyn Trace>, TraceError> {
    let counted = files.by_rank.keys().next_back().map_or(0, |last| last.saturating_add(1));
    if counted > MOST_RANKS {
        let problem = format!("the name of a file has rank {}", counted - 1);
        return Err(TraceError::new(&files.path, problem, "rename that file, or remove it"));
    }
    let meta = files.meta.unwrap_or_default();
    let mut builder = Builder::new(form, files.path, counted);
    match meta.ranks {
        Some(claimed) => builder.set_claimed_ranks(claimed),
        None => builder.count_ranks(files.by_rank.values().next()),
    }
    for (rank, file) in files.by_rank {
        builder.add_file(rank, file)?;
    }
    builder.file_notes.meta_version(meta.version);
    builder.finish(|rank| format!("no file of rank {rank} of {}", files.prefix))
}

pub(super) fn open_single(
    form: &'static Form,
    path: &Path,
    file: PathBuf,
) -> Result<Box<dyn Trace>, TraceError> {
    let identity = Identity::of(&mut *(form.stream)(&file, &OnceLock::new())?);
    let (rank, ranks, notes) = identity.resolve((form.rank)(&file));
    single(form, path, file, (rank, ranks), notes)
}

pub(super) fn single(
    form: &'static Form,
    path: &Path,
    file: PathBuf,
    (rank, ranks): (u32, u32),
    notes: Vec<String>,
) -> Result<Box<dyn Trace>, TraceError> {
    let mut builder = Builder::new(form, path.to_owned(), ranks);
    builder.notes = notes;
    builder.add_file(rank, file)?;
    builder.finish(|_| format!("only the file of rank {rank} was given"))
}

struct Builder {
    form: &'static Form,
    path: PathBuf,
    ranks: u32,
    file_notes: FileNotes,
    notes: Vec<String>,
    present: BTreeMap<u32, PathBuf>,
    empty: BTreeMap<u32, String>,
    bytes: u64,
    has_damage: Vec<TraceError>,
}

impl Builder {
    fn new(form: &'static Form, path: PathBuf, ranks: u32) -> Self {
        let (file_notes, notes) = (FileNotes::default(), Vec::new());
        let (present, empty) = (BTreeMap::new(), BTreeMap::new());
        Builder { form, path, ranks, file_notes, notes, present, empty, bytes: 0, has_damage: Vec::new() }
    }

    fn set_claimed_ranks(&mut self, claimed: u32) {
        if claimed < self.ranks {
            self.notes.push(format!(
                "The .meta file has {claimed} processes, but there are files of ranks up to {}, which are read.",
                self.ranks - 1
            ));
        }
        self.ranks = self.ranks.max(claimed);
    }

    fn count_ranks(&mut self, file: Option<&PathBuf>) {
        let stream = file.and_then(|file| (self.form.stream)(file, &OnceLock::new()).ok());
        let counted = stream.and_then(|mut stream| Identity::of(&mut *stream).ranks);
        match counted.filter(|counted| (self.ranks..=MOST_RANKS).contains(counted)) {
            Some(counted) => self.ranks = counted,
            None => self.notes.push(format!(
                "The number of processes is unknown: at least {}, by the file names.",
                self.ranks
            )),
        }
    }

    fn add_file(&mut self, rank: u32, file: PathBuf) -> Result<(), TraceError> {
        let bytes = fs::metadata(&file).map_err(|error| TraceError::io(&file, &error))?.len();
        if bytes == 0 {
            self.empty.insert(rank, format!("{} is empty, as a killed run leaves it", file_name(&file)));
            return Ok(());
        }
        match (self.form.facts)(&file) {
            Ok(facts) => self.file_notes.add_file(&facts),
            Err(error) => self.has_damage.push(error),
        }
        self.bytes += bytes;
        self.present.insert(rank, file);
        Ok(())
    }

    /// Accepts a trace with some damaged ranks, because their readers report the damage.
    fn finish(mut self, why: impl Fn(u32) -> String) -> Result<Box<dyn Trace>, TraceError> {
        if self.present.is_empty() {
            return Err(self.no_readable_file());
        }
        if self.file_notes.is_empty() && !self.has_damage.is_empty() {
            return Err(self.has_damage.swap_remove(0));
        }
        let missing = self.missing_ranks(why);
        self.notes.extend(self.file_notes.notes());
        self.notes.extend(self.damage_note());
        let version = self.file_notes.version().map_or(String::new(), |version| format!(" {version}"));
        let format = format!("DUMPI{version}{}", self.form.suffix);
        let calls_left_out = self.file_notes.calls_left_out();
        let Builder { form, path, ranks, notes, bytes, .. } = self;
        let (present, files) =
            self.present.into_iter().map(|(rank, file)| (rank, (file, OnceLock::new()))).unzip();
        let description = Description {
            format,
            path,
            ranks,
            missing,
            bytes,
            calls_left_out,
            null_looks_any: true,
            notes,
            ..Description::default()
        };
        Ok(Box::new(Ranks { description, present, files, form }))
    }

    fn no_readable_file(&self) -> TraceError {
        let advice = "trace the run again: it was killed before it wrote its calls";
        TraceError::new(&self.path, "the file of every rank is empty", advice)
    }

    fn damage_note(&self) -> Option<String> {
        let first = self.has_damage.first()?;
        let place = first.offset.map_or(String::new(), |offset| format!(" at byte {offset}"));
        let (count, problem) = (self.has_damage.len(), &first.problem);
        Some(format!("The files of {count} ranks are damaged, the first{place}: {problem}."))
    }

    fn missing_ranks(&self, why: impl Fn(u32) -> String) -> Vec<Missing> {
        let absent = (0..self.ranks).filter(|rank| !self.present.contains_key(rank));
        let why = |rank| self.empty.get(&rank).cloned().unwrap_or_else(|| why(rank));
        absent.map(|rank| Missing { rank, why: why(rank) }).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Identity {
    pub rank: Option<u32>,
    pub ranks: Option<u32>,
    /// Highest rank of any communicator: a lower bound of the number of ranks.
    pub highest: u32,
}

impl Identity {
    /// Reads a stream up to the first damage. A later reader reports the damage.
    pub fn of(stream: &mut dyn RankReader) -> Identity {
        let (mut identity, mut call) = (Identity::default(), Call::default());
        while !identity.is_complete() && stream.read(&mut call).unwrap_or(false) {
            identity.add_action(&call.action);
        }
        identity
    }

    fn is_complete(&self) -> bool {
        self.rank.is_some() && self.ranks.is_some()
    }

    fn add_action(&mut self, action: &Action) {
        match *action {
            Action::CommRank { comm: CommId::WORLD, rank } => self.rank = Some(rank),
            Action::CommSize { comm: CommId::WORLD, size } => self.ranks = Some(size),
            Action::Send { args, .. } | Action::SendInit { args, .. } => self.add_peer(args.dest),
            Action::Receive { args, .. } | Action::ReceiveInit { args, .. } => self.add_peer(args.source),
            Action::SendReceive { send, receive, .. } => {
                self.add_peer(send.dest);
                self.add_peer(receive.source);
            }
            _ => {}
        }
    }

    fn add_peer(&mut self, peer: Peer) {
        if let Peer::Rank(rank) = peer {
            self.highest = self.highest.max(rank);
        }
    }
}

impl Identity {
    pub fn resolve(self, named: Option<u32>) -> (u32, u32, Vec<String>) {
        let mut notes = Vec::new();
        let rank = self.rank.or(named).unwrap_or(0).min(MOST_RANKS - 1);
        if self.rank.is_none() {
            let from = if named.is_some() { "taken from the file name" } else { "assumed to be 0" };
            notes.push(format!("The stream does not contain the rank of its process: {from}."));
        }
        let least = self.highest.max(rank).saturating_add(1);
        let known = self.ranks.filter(|ranks| *ranks > rank);
        if known.is_none() {
            notes.push(format!("The stream does not contain the number of processes: at least {least}."));
        }
        (rank, known.unwrap_or(least).min(MOST_RANKS), notes)
    }
}
