//! Tables after the calls: sizes of datatypes, and counts of calls.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::super::ids::Sizes;
use super::super::layout::LAYOUTS;
use super::super::sections::Counts;
use super::line::{self, parse_number, split};
use crate::error::TraceError;

/// Maximum size of the tables: at most 32,767 datatypes, with about 50 bytes per line.
const LONGEST: u64 = 4 << 20;
const MOST_TYPES: usize = 1 << 15;

#[derive(Default)]
pub(super) struct Tables {
    pub sizes: Sizes,
    pub counts: Option<Counts>,
}

pub(super) fn read(path: &Path) -> Result<Tables, TraceError> {
    let bytes = read_last_bytes(path).map_err(|error| TraceError::io(path, &error))?;
    let mut sizes = Vec::new();
    let mut counts = Counts { called: vec![0; LAYOUTS.len()], ignored: vec![0; LAYOUTS.len()] };
    let mut counted = false;
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some((datatype, size)) = parse_size(line) {
            sizes.resize(sizes.len().max(datatype + 1), 0);
            sizes[datatype] = size;
        } else if let Some((function, called, ignored)) = parse_count(line) {
            (counts.called[function], counts.ignored[function]) = (called, ignored);
            counted = true;
        }
    }
    Ok(Tables { sizes: Sizes::new(sizes), counts: counted.then_some(counts) })
}

fn read_last_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST)))?;
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// `Datatype 28 (user-defined-datatype) has size 4`
fn parse_size(line: &[u8]) -> Option<(usize, i32)> {
    let (datatype, rest) = split(line.strip_prefix(b"Datatype ")?, b" ")?;
    let datatype = parse_number(datatype).filter(|datatype| *datatype < MOST_TYPES)?;
    Some((datatype, parse_number(split(rest, b" has size ")?.1)?))
}

/// `MPI_Send called 3 times and ignored 1 times`
fn parse_count(line: &[u8]) -> Option<(usize, u32, u32)> {
    let (name, rest) = split(line, b" called ")?;
    let (called, rest) = split(rest, b" times and ignored ")?;
    // The text form prints counts as signed numbers.
    let count = |text| parse_number::<i64>(text).map(|count| count as u32);
    Some((line::number(name)?, count(called)?, count(rest.strip_suffix(b" times")?)?))
}
