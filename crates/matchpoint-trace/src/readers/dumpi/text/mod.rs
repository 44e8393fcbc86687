//! Reader of the text form, the output of `dumpi2ascii -S`. With `-X` the text has sizes of messages, with
//! `-F` numbers of omitted calls.

pub(super) mod line;
mod stream;
mod tail;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use self::line::looks_like;
use self::stream::Stream;
use super::files::{Files, file_name, first_bytes, list_folder, several_traces};
use super::form::{Facts, Form};
use super::ids::Sizes;
use super::trace;
use crate::error::TraceError;
use crate::readers::map::Map;
use crate::readers::reader::Reader;
use crate::trace::{RankReader, Trace};

pub(in crate::readers) const READER: Reader = Reader { name: "text of dumpi2ascii", is_trace, open };

static FORM: Form = Form { suffix: ", as text", rank, facts, stream };

/// Reads the text of one rank. Sizes of messages are unknown, because their table follows the calls.
pub fn read(input: impl BufRead + Send) -> impl RankReader {
    Stream::new(Path::new("(text)").to_owned(), input, Sizes::default())
}

fn is_trace(path: &Path) -> bool {
    let is_part = |file: &Path| looks_like(&first_bytes(file));
    if path.is_dir() {
        list_folder(path).is_ok_and(|files| files.iter().any(|file| is_part(file)))
    } else {
        is_part(path)
    }
}

fn open(path: &Path) -> Result<Box<dyn Trace>, TraceError> {
    if !path.is_dir() {
        return trace::open_single(&FORM, path, path.to_owned());
    }
    let mut texts = list_folder(path)?;
    texts.retain(|file| looks_like(&first_bytes(file)));
    let mut traces: BTreeMap<String, BTreeMap<u32, PathBuf>> = BTreeMap::new();
    for file in &texts {
        let (prefix, rank) = rank_in_name(file).unwrap_or_else(|| (file_name(file), 0));
        traces.entry(prefix).or_default().insert(rank, file.clone());
    }
    match (traces.pop_first(), traces.is_empty(), &texts[..]) {
        (Some(_), true, [only]) => trace::open_single(&FORM, path, only.clone()),
        (Some((prefix, by_rank)), true, _) => {
            trace::of_ranks(&FORM, Files { path: path.to_owned(), by_rank, meta: None, prefix })
        }
        _ => Err(several_traces(path, "texts of different traces", texts.iter().map(|file| file_name(file)))),
    }
}

/// The number after `rank`, else the last number; and the part of the name before the number.
fn rank_in_name(path: &Path) -> Option<(String, u32)> {
    let name = file_name(path).replace("dumpi2ascii", "");
    let digits =
        |at: usize| name[at..].find(|c: char| !c.is_ascii_digit()).map_or(name.len(), |end| at + end);
    let after_rank = name.rfind("rank").map(|at| at + "rank".len()).filter(|at| digits(*at) > *at);
    let start = after_rank.or_else(|| {
        let last = name.rfind(|c: char| c.is_ascii_digit())?;
        Some(
            name[..last]
                .rfind(|c: char| !c.is_ascii_digit())
                .map_or(0, |before| before + name[before..].chars().next().map_or(0, char::len_utf8)),
        )
    })?;
    name[start..digits(start)].parse().ok().map(|rank| (name[..start].to_owned(), rank))
}

fn rank(path: &Path) -> Option<u32> {
    rank_in_name(path).map(|(_, rank)| rank)
}

fn facts(path: &Path) -> Result<Facts, TraceError> {
    let (version, tail) = (line::version(&first_bytes(path)), tail::read(path)?);
    Ok(Facts { version, counts: tail.counts, timed: (true, true) })
}

fn stream(path: &Path, _: &OnceLock<Map>) -> Result<Box<dyn RankReader>, TraceError> {
    let sizes = tail::read(path)?.sizes;
    let file = File::open(path).map_err(|error| TraceError::io(path, &error))?;
    Ok(Box::new(Stream::new(path.to_owned(), BufReader::new(file), sizes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_in_names() {
        let of = |name: &str| rank_in_name(Path::new(name));
        assert_eq!(of("rank0013.dumpi2ascii.txt"), Some(("rank".into(), 13)));
        assert_eq!(of("lulesh-8.rank0003.dumpi2ascii.txt"), Some(("lulesh-8.rank".into(), 3)));
        assert_eq!(of("dumpi-2026.11.21.08.28.41-0007.txt"), Some(("dumpi-2026.11.21.08.28.41-".into(), 7)));
        assert_eq!(of("trace.txt"), None);
    }

    #[test]
    fn text_without_header_is_recognised() {
        assert!(looks_like(b"version=13.0.0\nstarttime=Sat Nov 21"));
        assert!(looks_like(b"MPI_Init entering at walltime 1.000000002, cputime 0.5 seconds in thread 0.\n"));
        assert!(!looks_like(b"version=next\n"));
        assert!(!looks_like(b"hostname=vm\nnumprocs=8\n"));
    }
}
