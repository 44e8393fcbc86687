//! Reader of a rank's file while the process still writes the file.
//!
//! A process writes whole blocks, at least one each second. The follower waits for incomplete blocks.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::decode::Ids;
use super::facts::{Facts, FactsError};
use super::stream::Stream;
use super::unpack::{NextBlock, next};
use crate::call::Call;
use crate::error::TraceError;
use crate::native::block::{HEADER, Header};
use crate::native::head::{End, Head, Module};
use crate::trace::RankReader;

const CHUNK: usize = 4 << 20;

#[derive(Debug)]
pub enum Entry<'a> {
    Call(&'a Call),
    /// Lengths of the library's queues after the previous call.
    Queues(Queues),
}

/// `None` if unknown (MPI-4.1 §15.3.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queues {
    /// Time of the report, in the clock of the calls.
    pub at_ns: i64,
    pub posted: Option<u64>,
    pub unexpected: Option<u64>,
    /// True if `posted` excludes receives from any source.
    pub excludes_any_source: bool,
}

impl Queues {
    fn of((at_ns, [posted, unexpected, without]): (i64, [i64; 3])) -> Queues {
        let length = |lengths: i64| u64::try_from(lengths).ok();
        let excludes_any_source = without & 1 != 0;
        Queues { at_ns, posted: length(posted), unexpected: length(unexpected), excludes_any_source }
    }
}

#[derive(Debug)]
pub enum FollowError {
    Removed,
    Replaced,
    Unreadable(TraceError),
}

impl Display for FollowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FollowError::Removed => f.write_str("file removed"),
            FollowError::Replaced => f.write_str("file replaced or truncated"),
            FollowError::Unreadable(error) => f.write_str(&error.problem),
        }
    }
}

pub struct Follower {
    path: PathBuf,
    at: u64,
    file: Option<(u64, u64)>,
    facts: Option<Facts>,
    ids: Ids,
    until_ns: i64,
    call: Call,
}

impl Follower {
    /// The file need not exist yet.
    pub fn new(path: PathBuf) -> Follower {
        let ids = Ids::default();
        Follower { path, at: 0, file: None, facts: None, ids, until_ns: 0, call: Call::default() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Head of the file; `None` before the process writes the head.
    pub fn head(&self) -> Option<&Head> {
        self.facts.as_ref().map(|facts| &facts.head)
    }

    pub fn end(&self) -> Option<&End> {
        self.facts.as_ref().and_then(|facts| facts.end.as_ref())
    }

    /// Executable and shared libraries of the process, if the file has call sites.
    pub fn modules(&self) -> &[Module] {
        self.facts.as_ref().map_or(&[], |facts| &facts.modules)
    }

    /// Function that a thread entered a second or longer before the last write, and has not left.
    pub fn unfinished_call(&self) -> Option<&str> {
        Some(self.facts.as_ref()?.unfinished_calls().next()?.0)
    }

    pub fn calls(&self) -> u64 {
        self.facts.as_ref().map_or(0, |facts| facts.calls)
    }

    /// Calls per second between recent writes of the process.
    pub fn calls_per_s(&self) -> f64 {
        let reports = self.facts.as_ref().map(|facts| &facts.reports);
        let ends = reports.and_then(|reports| Some((reports.front()?, reports.back()?)));
        match ends {
            Some((first, last)) if first.0 < last.0 => {
                (last.1 - first.1) as f64 * 1e9 / (last.0 - first.0) as f64
            }
            _ => 0.0,
        }
    }

    /// Time of the process's last write, in the clock of the calls.
    pub fn until_ns(&self) -> i64 {
        self.until_ns
    }

    /// Time of the process's last write since 1970, in the host's clock.
    pub fn until_wall_ns(&self) -> i64 {
        let Some(facts) = &self.facts else { return 0 };
        let last_ns = facts.time.pairs.last().map_or(facts.head.clock.ns, |pair| pair.1);
        facts.head.started_ns.saturating_add(last_ns.saturating_sub(facts.head.clock.ns))
    }

    /// Reads new content in the order of calls. Returns true if more content is available.
    ///
    /// # Errors
    /// The file cannot be followed any further. Earlier results remain valid.
    pub fn read(&mut self, each: &mut dyn FnMut(Entry<'_>)) -> Result<bool, FollowError> {
        let Some((mut file, length)) = self.open()? else { return Ok(false) };
        if length <= self.at {
            return Ok(false);
        }
        let bad = |error: io::Error| FollowError::Unreadable(TraceError::io(&self.path, &error));
        let bytes = chunk(&mut file, self.at, length).map_err(bad)?;
        let read = self.take(&bytes, each).map_err(|mut error| {
            error.offset = error.offset.map(|offset| offset + self.at);
            FollowError::Unreadable(error)
        })?;
        self.at += read as u64;
        Ok(read > 0 && self.at < length)
    }

    fn open(&mut self) -> Result<Option<(File, u64)>, FollowError> {
        let bad = |error: &io::Error| FollowError::Unreadable(TraceError::io(&self.path, error));
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(bad(&error)),
            Err(_) if self.file.is_some() => return Err(FollowError::Removed),
            Err(_) => return Ok(None),
        };
        let known = file.metadata().map_err(|error| bad(&error))?;
        let identity = identity(&known);
        if self.file.is_some_and(|before| before != identity) || known.len() < self.at {
            return Err(FollowError::Replaced);
        }
        self.file = Some(identity);
        Ok(Some((file, known.len())))
    }

    fn take(&mut self, bytes: &[u8], each: &mut dyn FnMut(Entry<'_>)) -> Result<usize, TraceError> {
        let mut after_head = 0;
        if self.facts.is_none() {
            match Facts::of_head(&self.path, bytes) {
                Ok(facts) => (after_head, self.facts) = (facts.good, Some(facts)),
                Err(FactsError::Truncated) => return Ok(0),
                // The file size may become visible before the bytes.
                Err(FactsError::Damaged(_)) if is_last(bytes) => return Ok(0),
                Err(FactsError::Damaged(error)) => return Err(error),
            }
        }
        let Some(mut facts) = self.facts.take() else { return Ok(0) };
        let result = facts.extend(&self.path, &bytes[after_head..]);
        let read = facts.good;
        let facts = Arc::new(facts);
        let called = self.calls_of(&bytes[after_head..after_head + read], &facts, each);
        let mut facts = Arc::into_inner(facts).expect("the stream has ended");
        facts.keep_recent_time();
        self.facts = Some(facts);
        let after = |mut error: TraceError| {
            error.offset = error.offset.map(|offset| offset + after_head as u64);
            error
        };
        result.and(called).map_err(after)?;
        Ok(after_head + read)
    }

    fn calls_of(
        &mut self,
        bytes: &[u8],
        facts: &Arc<Facts>,
        each: &mut dyn FnMut(Entry<'_>),
    ) -> Result<(), TraceError> {
        let ids = std::mem::take(&mut self.ids);
        let mut stream = Stream::after(self.path.clone(), bytes, facts.clone(), ids)?;
        // A read of the next call also reads the remarks on the call.
        while stream.read(&mut self.call)? {
            each(Entry::Call(&self.call));
            stream.queues().into_iter().for_each(|lengths| each(Entry::Queues(Queues::of(lengths))));
        }
        stream.queues().into_iter().for_each(|lengths| each(Entry::Queues(Queues::of(lengths))));
        if let Some(&(ticks, _)) = facts.time.pairs.last() {
            self.until_ns = stream.ns(ticks);
        }
        self.ids = stream.into_ids();
        Ok(())
    }
}

fn is_last(bytes: &[u8]) -> bool {
    match next(bytes, 0) {
        NextBlock::Block(header) => bytes[HEADER + header.packed as usize..].iter().all(|&byte| byte == 0),
        _ => false,
    }
}

fn chunk(file: &mut File, at: u64, length: u64) -> io::Result<Vec<u8>> {
    let left = length - at;
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at))?;
    file.by_ref().take(left.min(CHUNK as u64)).read_to_end(&mut bytes)?;
    let first = bytes.first_chunk::<HEADER>().and_then(Header::read).filter(Header::has_valid_sizes);
    let needed = first.map_or(0, |header| HEADER + header.packed as usize);
    if needed > bytes.len() {
        let more = (needed - bytes.len()) as u64;
        file.by_ref().take(more).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

#[cfg(unix)]
fn identity(known: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (known.dev(), known.ino())
}

#[cfg(not(unix))]
fn identity(_: &std::fs::Metadata) -> (u64, u64) {
    (0, 0)
}
