//! DUMPI, the format of SST's tracing library: a `.meta` file, and a `.bin` file for each rank.
//!
//! A `.bin` file is a stream of records, one for each call, then tables (counts of calls, sizes of datatypes, …), and
//! last an index of where they are. Integers have their most significant byte first. A record is a function's number,
//! a mask of what it holds, thread, times and counters if so, and the function's arguments. Communicators, groups
//! and requests are numbered by each process for itself, and requests are recycled.

mod action;
mod clock;
mod cursor;
mod decode;
mod files;
mod identity;
mod ids;
mod layout;
mod map;
mod meta;
mod record;
mod sections;
mod sizes;
mod stream;
mod survey;
mod text;
mod trace;
mod version;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::Reader;
use crate::error::TraceError;
use crate::trace::RankReader;

/// Reader of the binary form.
pub(super) const BINARY: Reader = Reader { name: "DUMPI (.meta and .bin)", recognise, open: trace::open };

/// Reads the stream of one rank from the bytes of a `.bin` file.
///
/// # Errors
/// These are not the bytes of such a file.
pub fn read_bytes(bytes: &[u8]) -> Result<impl RankReader + '_, TraceError> {
    stream::Stream::new(Path::new("(bytes)").to_owned(), bytes)
}

fn recognise(path: &Path) -> bool {
    if path.is_dir() {
        return files::listed(path).is_ok_and(|files| files.iter().any(|file| is_part(file)));
    }
    is_part(path)
}

/// Whether this is a file of such a trace, if only a damaged one, by its name.
fn is_part(path: &Path) -> bool {
    files::has_extension(path, "meta") || {
        let first = first_bytes(path);
        first.starts_with(&sections::MAGIC.to_be_bytes())
            || (files::has_extension(path, "bin") && !text::looks_like(&first))
    }
}

fn first_bytes(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(256).read_to_end(&mut bytes));
    read.map(|_| bytes).unwrap_or_default()
}
