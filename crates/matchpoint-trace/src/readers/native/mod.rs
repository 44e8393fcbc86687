//! Reader of Matchpoint's trace format (`docs/reference/trace-format.md`).
//!
//! Opening a trace reads the headers of all blocks. A stream unpacks and checks calls block by block, merges
//! threads in the order of entry, and maps handles to small ids.

mod arrivals;
mod clock;
mod comms;
mod cursor;
mod decode;
mod facts;
mod files;
mod follow;
mod lane;
mod notes;
mod plan;
mod requests;
mod stream;
mod summary;
mod trace;
mod unpack;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use self::facts::{Facts, FactsError};
use self::stream::Stream;
use crate::error::TraceError;
use crate::native::block::MAGIC;
use crate::native::is_rank_file;
use crate::readers::reader::Reader;
use crate::trace::{RankReader, Trace};

pub use follow::{Entry, FollowError, Follower, Queues};
pub use summary::{Summary, summaries};

pub(super) const READER: Reader =
    Reader { name: "a recorded trace (manifest.json and rank-*.mpt)", is_trace, open };

/// Reads one rank from the bytes of its file.
pub fn read_bytes(bytes: &[u8]) -> Result<impl RankReader + '_, TraceError> {
    let path = Path::new("(bytes)");
    let facts = Facts::of(path, bytes).map_err(|bad| match bad {
        FactsError::Damaged(error) => error,
        FactsError::Truncated => TraceError::new(path, "the head is incomplete", "record the run again"),
    })?;
    Stream::new(path.to_owned(), bytes, Arc::new(facts))
}

fn is_trace(path: &Path) -> bool {
    let looks = |file: &Path| match () {
        () if files::is_manifest(file) => {
            fs::read(file).is_ok_and(|text| text.windows(16).any(|part| part == b"matchpoint trace"))
        }
        () => is_rank_file(file) || has_magic(file),
    };
    if !path.is_dir() {
        return looks(path);
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut named = entries.filter(|file| files::is_manifest(file) || is_rank_file(file));
    named.any(|file| looks(&file))
}

fn has_magic(path: &Path) -> bool {
    use std::io::Read;
    let mut first = [0; MAGIC.len()];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == MAGIC
}

fn open(path: &Path) -> Result<Box<dyn Trace>, TraceError> {
    trace::open(files::find(path)?)
}
