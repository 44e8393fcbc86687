//! Reader of our own format: see `docs/reference/trace-format.md`.
//!
//! A file is mapped. When it is opened its blocks are hopped through by their headers: which threads there are, how
//! ticks become nanoseconds, how it ended. Its calls are unpacked and checked block by block as they are read, several
//! threads' in the order of their entry, and handles become small ids on the way.

mod arrivals;
mod clock;
mod comms;
mod cursor;
mod decode;
mod files;
mod follow;
mod lane;
mod notes;
mod plan;
mod rank_file;
mod requests;
mod stream;
mod summary;
mod survey;
mod trace;
mod unpack;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use self::stream::Stream;
use self::survey::{Bad, Facts};
use crate::error::TraceError;
use crate::native::block::MAGIC;
use crate::native::is_rank_file;
use crate::readers::reader::Reader;
use crate::trace::{RankReader, Trace};

pub use follow::{Entry, Follower, Lost, Queues};
pub use summary::{Summary, summaries};

/// Reader of folders, their `manifest.json`, and the `.mpt` file of one rank.
pub(super) const READER: Reader =
    Reader { name: "a recorded trace (manifest.json and rank-*.mpt)", recognise, open };

/// Reads the stream of one rank from the bytes of its file.
///
/// # Errors
/// These are not the bytes of such a file.
pub fn read_bytes(bytes: &[u8]) -> Result<impl RankReader + '_, TraceError> {
    let path = Path::new("(bytes)");
    let facts = Facts::of(path, bytes).map_err(|bad| match bad {
        Bad::Damaged(error) => error,
        Bad::Short => TraceError::new(path, "there is no whole head", "record the run again"),
    })?;
    Stream::new(path.to_owned(), bytes, Arc::new(facts))
}

fn recognise(path: &Path) -> bool {
    let looks = |file: &Path| match () {
        () if files::is_manifest(file) => {
            fs::read(file).is_ok_and(|text| text.windows(16).any(|part| part == b"matchpoint trace"))
        }
        () => is_rank_file(file) || begins(file),
    };
    if !path.is_dir() {
        return looks(path);
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut named = entries.filter(|file| files::is_manifest(file) || is_rank_file(file));
    named.any(|file| looks(&file))
}

/// Whether a file begins as that of a rank does.
fn begins(path: &Path) -> bool {
    use std::io::Read;
    let mut first = [0; MAGIC.len()];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == MAGIC
}

fn open(path: &Path) -> Result<Box<dyn Trace>, TraceError> {
    trace::open(files::find(path)?)
}
