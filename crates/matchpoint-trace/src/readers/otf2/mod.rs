//! OTF2, the format of Score-P and other tools, read through its library.
//!
//! OTF2 records completions, not posts: the format has no wildcards, no unmatched receives and no probes. The
//! notes of the trace label rebuilt calls as *inferred*.

mod archive;
mod calls;
mod definitions;
mod lane;
mod library;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::archive::Archive;
use self::calls::RebuiltCalls;
use self::definitions::Definitions;
use self::lane::{Lane, Span};
use crate::call::Call;
use crate::error::TraceError;
use crate::readers::reader::Reader;
use crate::trace::{Description, Missing, RankReader, Trace};

pub(super) const READER: Reader = Reader { name: "OTF2 (traces.otf2)", is_trace, open };

const NOTES: [&str; 3] = [
    "Calls are inferred from an OTF2 trace, which contains completions only: receives have the sender, tag and \
     length of their message. Wildcards are unknown.",
    "OTF2 does not contain receives without a message, probes, and MPI_PROC_NULL: inferred calls have none. Queues \
     may have been longer.",
    "OTF2 contains the members of a communicator, not the call that created it: inferred calls of \
     MPI_Comm_create_from_group precede the first use.",
];

fn anchor(path: &Path) -> Option<PathBuf> {
    let is_anchor = |path: &Path| path.extension().is_some_and(|extension| extension == "otf2");
    if !path.is_dir() {
        return is_anchor(path).then(|| path.to_owned());
    }
    let files = fs::read_dir(path).ok()?.flatten().map(|entry| entry.path());
    let mut anchors = files.filter(|path| path.is_file() && is_anchor(path));
    anchors.next().filter(|_| anchors.next().is_none())
}

fn is_trace(path: &Path) -> bool {
    anchor(path).is_some()
}

fn open(path: &Path) -> Result<Box<dyn Trace>, TraceError> {
    let Some(anchor) = anchor(path) else {
        return Err(TraceError::new(path, "no anchor file", "name traces.otf2"));
    };
    let found = Archive::open(&anchor)?.definitions(&anchor)?;
    let definitions = Definitions::of(&found);
    if definitions.ranks.is_empty() {
        let advice = "give a trace of an MPI program, recorded with MPI events";
        return Err(TraceError::new(path, "the archive defines no processes of MPI", advice));
    }
    Ok(Box::new(ArchiveTrace::new(path, anchor, definitions)))
}

struct ArchiveTrace {
    description: Description,
    present: Vec<u32>,
    anchor: PathBuf,
    definitions: Arc<Definitions>,
    /// Sizes of the event files in bytes, by rank.
    bytes: Vec<u64>,
}

impl ArchiveTrace {
    fn new(path: &Path, anchor: PathBuf, definitions: Definitions) -> Self {
        let folder = anchor.with_extension("");
        let size = |location: &u64| {
            fs::metadata(folder.join(format!("{location}.evt"))).map_or(0, |file| file.len())
        };
        let bytes: Vec<u64> =
            definitions.ranks.iter().map(|threads| threads.iter().map(size).sum()).collect();
        let count =
            |threads: &Vec<u64>| threads.iter().filter_map(|id| definitions.events.get(id)).sum::<u64>();
        let ranks = definitions.ranks.len() as u32;
        let (present, missing): (Vec<u32>, Vec<u32>) =
            (0..ranks).partition(|&rank| count(&definitions.ranks[rank as usize]) > 0);
        let why = "the archive has no events of it".to_owned();
        let missing = missing.into_iter().map(|rank| Missing { rank, why: why.clone() }).collect();
        let description = Description {
            format: "OTF2 (inferred)".to_owned(),
            path: path.to_owned(),
            ranks,
            missing,
            bytes: bytes.iter().sum(),
            notes: NOTES.map(str::to_owned).to_vec(),
            ..Description::default()
        };
        ArchiveTrace { description, present, anchor, definitions: Arc::new(definitions), bytes }
    }
}

impl Trace for ArchiveTrace {
    fn description(&self) -> &Description {
        &self.description
    }

    fn present(&self) -> &[u32] {
        &self.present
    }

    fn rank(&self, rank: u32) -> Result<Box<dyn RankReader + '_>, TraceError> {
        assert!(self.present.binary_search(&rank).is_ok(), "rank {rank} is not present");
        let threads = &self.definitions.ranks[rank as usize];
        let mut archive = Archive::open(&self.anchor)?;
        // The library requires definitions before events.
        archive.definitions(&self.anchor)?;
        archive.select(&self.anchor, threads)?;
        let lanes = (0..threads.len()).map(|at| Lane::new(self.definitions.clone(), at));
        let events = threads.iter().filter_map(|id| self.definitions.events.get(id)).sum::<u64>();
        Ok(Box::new(Stream {
            archive,
            path: &self.anchor,
            heads: threads.iter().map(|_| VecDeque::new()).collect(),
            lanes: lanes.collect(),
            rebuilt: RebuiltCalls::default(),
            definitions: self.definitions.clone(),
            bytes: self.bytes[rank as usize],
            events: events.max(1),
            given: 0,
        }))
    }
}

struct Stream<'t> {
    archive: Archive,
    path: &'t Path,
    lanes: Vec<Lane>,
    /// Calls of each lane that were read ahead; empty at the end of the lane.
    heads: Vec<VecDeque<Span>>,
    rebuilt: RebuiltCalls,
    definitions: Arc<Definitions>,
    bytes: u64,
    events: u64,
    given: u64,
}

impl Stream<'_> {
    fn first(&mut self) -> Result<Option<Span>, TraceError> {
        for (lane, head) in self.lanes.iter_mut().zip(&mut self.heads) {
            if head.is_empty() {
                head.extend(lane.next(&mut self.archive, self.path)?);
            }
        }
        let entered = |head: &VecDeque<Span>| head.front().map(|span| span.enter);
        let heads = self.heads.iter().enumerate();
        let first = heads.filter_map(|(at, head)| Some((entered(head)?, at))).min();
        Ok(first.and_then(|(_, at)| self.heads[at].pop_front()))
    }
}

impl RankReader for Stream<'_> {
    fn read(&mut self, call: &mut Call) -> Result<bool, TraceError> {
        while !self.rebuilt.is_ready() {
            match self.first()? {
                Some(span) => self.rebuilt.take(span, &self.definitions),
                None => break,
            }
        }
        match self.rebuilt.next(&self.definitions) {
            Some(next) => *call = Call { offset: self.given, ..next },
            None => return Ok(false),
        }
        self.given += 1;
        Ok(true)
    }

    fn position(&self) -> u64 {
        let read: u64 = self.lanes.iter().map(|lane| lane.read).sum();
        (u128::from(self.bytes) * u128::from(read.min(self.events)) / u128::from(self.events)) as u64
    }
}
