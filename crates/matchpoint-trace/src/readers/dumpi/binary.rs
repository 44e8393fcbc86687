//! Reader of the binary form of DUMPI.

use std::path::Path;
use std::sync::OnceLock;

use super::files::{TraceFiles, find, first_bytes, has_extension, list_folder, meta_of, rank_in_name};
use super::form::{Facts, Form};
use super::meta::{MOST_RANKS, Meta};
use super::sections::MAGIC;
use super::stream::Stream;
use super::{text, trace};
use crate::error::TraceError;
use crate::readers::map::Map;
use crate::readers::reader::Reader;
use crate::trace::{RankReader, Trace};

pub(in crate::readers) const READER: Reader = Reader { name: "DUMPI (.meta and .bin)", is_trace, open };

static FORM: Form = Form { suffix: "", rank: |path| rank_in_name(path).map(|(_, rank)| rank), facts, stream };

/// Reads one rank from the bytes of a `.bin` file.
pub fn read_bytes(bytes: &[u8]) -> Result<impl RankReader + '_, TraceError> {
    Stream::new(Path::new("(bytes)").to_owned(), bytes)
}

fn is_trace(path: &Path) -> bool {
    if path.is_dir() {
        list_folder(path).is_ok_and(|files| files.iter().any(|file| is_part(file)))
    } else {
        is_part(path)
    }
}

/// Accepts the file of a trace by its name, even if the file is damaged.
fn is_part(path: &Path) -> bool {
    if has_extension(path, "meta") {
        return true;
    }
    let first = first_bytes(path);
    first.starts_with(&MAGIC.to_be_bytes()) || (has_extension(path, "bin") && !text::line::looks_like(&first))
}

fn open(path: &Path) -> Result<Box<dyn Trace>, TraceError> {
    match find(path)? {
        TraceFiles::Ranks(files) => trace::of_ranks(&FORM, files),
        TraceFiles::SingleRank(file) => match meta_of(&file) {
            Some((meta, rank)) => {
                let ranks = Meta::read(&meta)?.ranks.unwrap_or(0).max(rank.saturating_add(1)).min(MOST_RANKS);
                trace::single(&FORM, path, file, (rank, ranks), Vec::new())
            }
            None => trace::open_single(&FORM, path, file),
        },
    }
}

fn facts(path: &Path) -> Result<Facts, TraceError> {
    let stream = Stream::new(path.to_owned(), Map::open(path)?)?;
    Ok(Facts { version: Some(stream.version()), counts: stream.counts(), timed: stream.timed() })
}

fn stream(path: &Path, kept: &OnceLock<Map>) -> Result<Box<dyn RankReader>, TraceError> {
    let map = match kept.get() {
        Some(map) => map.clone(),
        None => Map::open(path)?,
    };
    // The map is kept for the second pass: its page faults took 3 % of the time of both passes.
    Ok(Box::new(Stream::new(path.to_owned(), kept.get_or_init(|| map).clone())?))
}
