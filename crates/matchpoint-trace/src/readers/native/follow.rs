//! A rank's file while its process still writes it: what was added since it was last looked at.
//!
//! A process writes whole blocks, each second or more often, so all that is kept between two looks is how far the file was
//! read, and which objects the process has. A block that is not whole yet is waited for.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::decode::Ids;
use super::stream::Stream;
use super::survey::{Bad, Facts};
use super::unpack::{Next, next};
use crate::call::Call;
use crate::error::TraceError;
use crate::native::block::{HEADER, Header};
use crate::native::head::{End, Head, Module};
use crate::trace::RankReader;

/// How much is read at once, unless one block is more.
const CHUNK: usize = 4 << 20;

/// What a file has more of.
#[derive(Debug)]
pub enum Entry<'a> {
    /// A call.
    Call(&'a Call),
    /// What the library said of its queues, after the call before.
    Queues(Queues),
}

/// How long the library said its queues were (MPI-4.1 §15.3.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queues {
    /// When, as calls have it.
    pub at_ns: i64,
    /// Receives posted and not matched; `None` if the library does not tell.
    pub posted: Option<u64>,
    /// Messages that no receive was there for; `None` if the library does not tell.
    pub unexpected: Option<u64>,
    /// Receives from any source are not among `posted`.
    pub but_any_source: bool,
}

impl Queues {
    fn of((at_ns, [posted, unexpected, without]): (i64, [i64; 3])) -> Queues {
        let length = |said: i64| u64::try_from(said).ok();
        let but_any_source = without & 1 != 0;
        Queues { at_ns, posted: length(posted), unexpected: length(unexpected), but_any_source }
    }
}

/// Why a file cannot be followed any further.
#[derive(Debug)]
pub enum Lost {
    /// It was there, and is not any more.
    Gone,
    /// It is another file by the same name, or shorter than it was.
    Replaced,
    /// It cannot be read.
    Bad(TraceError),
}

impl Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Gone => f.write_str("its file is gone"),
            Lost::Replaced => f.write_str("its file was replaced or cut short"),
            Lost::Bad(error) => error.fmt(f),
        }
    }
}

/// Follows one file.
pub struct Follower {
    path: PathBuf,
    /// Behind the last block that was read.
    at: u64,
    /// Which file it is, once it was there.
    file: Option<(u64, u64)>,
    facts: Option<Facts>,
    ids: Ids,
    until_ns: i64,
    call: Call,
}

impl Follower {
    /// Of the file at a path, which need not be there yet.
    pub fn new(path: PathBuf) -> Follower {
        let ids = Ids::default();
        Follower { path, at: 0, file: None, facts: None, ids, until_ns: 0, call: Call::default() }
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Who writes it, once that is known.
    pub fn head(&self) -> Option<&Head> {
        self.facts.as_ref().map(|facts| &facts.head)
    }

    /// How it ended, once it has.
    pub fn end(&self) -> Option<&End> {
        self.facts.as_ref().and_then(|facts| facts.end.as_ref())
    }

    /// Where the process's code lies, if it keeps call sites.
    pub fn modules(&self) -> &[Module] {
        self.facts.as_ref().map_or(&[], |facts| &facts.modules)
    }

    /// The function of MPI that a thread has been within for a second or more, as far as was written.
    pub fn within(&self) -> Option<&str> {
        Some(self.facts.as_ref()?.within().next()?.0)
    }

    /// Calls in what was read.
    pub fn calls(&self) -> u64 {
        self.facts.as_ref().map_or(0, |facts| facts.calls)
    }

    /// Calls in a second, over the last times that the process wrote what it had.
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

    /// When the process last wrote what it had, on the clock of its calls.
    pub fn until_ns(&self) -> i64 {
        self.until_ns
    }

    /// The same in nanoseconds since 1970, by the clock of its host.
    pub fn until_wall_ns(&self) -> i64 {
        let Some(facts) = &self.facts else { return 0 };
        let last_ns = facts.time.pairs.last().map_or(facts.head.clock.ns, |pair| pair.1);
        facts.head.started_ns.saturating_add(last_ns.saturating_sub(facts.head.clock.ns))
    }

    /// Reads some of what was added, in the order of its threads' calls; whether there is more to read at once.
    ///
    /// # Errors
    /// The file cannot be followed any further. What was read before is good.
    pub fn read(&mut self, each: &mut dyn FnMut(Entry<'_>)) -> Result<bool, Lost> {
        let Some((mut file, length)) = self.open()? else { return Ok(false) };
        if length <= self.at {
            return Ok(false);
        }
        let bad = |error: io::Error| Lost::Bad(TraceError::io(&self.path, &error));
        let bytes = chunk(&mut file, self.at, length).map_err(bad)?;
        let read = self.take(&bytes, each).map_err(|mut error| {
            error.offset = error.offset.map(|offset| offset + self.at);
            Lost::Bad(error)
        })?;
        self.at += read as u64;
        Ok(read > 0 && self.at < length)
    }

    fn open(&mut self) -> Result<Option<(File, u64)>, Lost> {
        let bad = |error: &io::Error| Lost::Bad(TraceError::io(&self.path, error));
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(bad(&error)),
            Err(_) if self.file.is_some() => return Err(Lost::Gone),
            Err(_) => return Ok(None),
        };
        let known = file.metadata().map_err(|error| bad(&error))?;
        let identity = identity(&known);
        if self.file.is_some_and(|before| before != identity) || known.len() < self.at {
            return Err(Lost::Replaced);
        }
        self.file = Some(identity);
        Ok(Some((file, known.len())))
    }

    /// Takes what is whole; how much that was.
    fn take(&mut self, bytes: &[u8], each: &mut dyn FnMut(Entry<'_>)) -> Result<usize, TraceError> {
        let mut behind_head = 0;
        if self.facts.is_none() {
            match Facts::of_head(&self.path, bytes) {
                Ok(facts) => (behind_head, self.facts) = (facts.good, Some(facts)),
                Err(Bad::Short) => return Ok(0),
                // As below: the bytes may come later than the size.
                Err(Bad::Damaged(_)) if is_last(bytes) => return Ok(0),
                Err(Bad::Damaged(error)) => return Err(error),
            }
        }
        let Some(mut facts) = self.facts.take() else { return Ok(0) };
        let result = facts.go_on(&self.path, &bytes[behind_head..]);
        let read = facts.good;
        let facts = Arc::new(facts);
        let called = self.calls_of(&bytes[behind_head..behind_head + read], &facts, each);
        let mut facts = Arc::into_inner(facts).expect("the stream has ended");
        facts.keep_recent_time();
        self.facts = Some(facts);
        let behind = |mut error: TraceError| {
            error.offset = error.offset.map(|offset| offset + behind_head as u64);
            error
        };
        result.and(called).map_err(behind)?;
        Ok(behind_head + read)
    }

    fn calls_of(
        &mut self,
        bytes: &[u8],
        facts: &Arc<Facts>,
        each: &mut dyn FnMut(Entry<'_>),
    ) -> Result<(), TraceError> {
        let ids = std::mem::take(&mut self.ids);
        let mut stream = Stream::after(self.path.clone(), bytes, facts.clone(), ids)?;
        // A remark is met while the call after it is looked for.
        while stream.read(&mut self.call)? {
            each(Entry::Call(&self.call));
            stream.queues().into_iter().for_each(|said| each(Entry::Queues(Queues::of(said))));
        }
        stream.queues().into_iter().for_each(|said| each(Entry::Queues(Queues::of(said))));
        if let Some(&(ticks, _)) = facts.time.pairs.last() {
            self.until_ns = stream.ns(ticks);
        }
        self.ids = stream.into_ids();
        Ok(())
    }
}

/// Whether nothing follows the first block.
fn is_last(bytes: &[u8]) -> bool {
    match next(bytes, 0) {
        Next::Block(header) => bytes[HEADER + header.packed as usize..].iter().all(|&byte| byte == 0),
        _ => false,
    }
}

fn chunk(file: &mut File, at: u64, length: u64) -> io::Result<Vec<u8>> {
    let left = length - at;
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at))?;
    file.by_ref().take(left.min(CHUNK as u64)).read_to_end(&mut bytes)?;
    let first = bytes.first_chunk::<HEADER>().and_then(Header::read).filter(Header::is_possible);
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
