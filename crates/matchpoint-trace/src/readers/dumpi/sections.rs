//! Sections of a binary file. The last bytes of the file give their positions.

use std::path::Path;

use super::cursor::{Cursor, Fault, Violation};
use super::ids::Sizes;
use super::layout::{LAYOUTS, label};
use super::version::Version;
use crate::error::TraceError;

/// First eight bytes of a file. The index begins with the same bytes.
pub(super) const MAGIC: u64 = 0xffaa_dd44_554d_5049;
pub(super) const FOOTER_MAGIC: u64 = 0xf007_fee7;

#[derive(Clone, Debug)]
pub(super) struct Sections {
    pub version: Version,
    /// Bias of processor times, in seconds.
    pub cpu_bias: i32,
    /// Bias of wall clock times, in seconds.
    pub wall_bias: i32,
    pub start: usize,
    pub end: usize,
    pub sizes: Sizes,
    footer: Option<usize>,
}

pub(super) struct Counts {
    pub called: Vec<u32>,
    pub ignored: Vec<u32>,
}

/// Offsets of sections; 0 if a section is absent.
#[derive(Default)]
struct Index {
    sizes: u64,
    others: [u64; 3],
    header: u64,
    body: u64,
    footer: u64,
}

impl Index {
    /// Finds the index. Newer versions added sections at its beginning, so its length follows from the
    /// position of the magic number.
    fn find(bytes: &[u8]) -> Option<(usize, Index)> {
        (5..=8).rev().find_map(|words| {
            let at = bytes.len().checked_sub(words * 8).filter(|at| *at >= 16)?;
            let mut cursor = Cursor::new(bytes, at);
            (cursor.u64().ok()? == MAGIC).then_some(())?;
            let mut index = Index::default();
            let mut optional = |present: bool| if present { cursor.u64().ok() } else { Some(0) };
            index.sizes = optional(words >= 8)?;
            index.others[0] = optional(words >= 7)?;
            index.others[1] = optional(words >= 6)?;
            index.header = optional(true)?;
            index.body = optional(true)?;
            index.footer = optional(true)?;
            index.others[2] = optional(true)?;
            Some((at, index))
        })
    }

    fn offsets(&self) -> [u64; 7] {
        let [addresses, counters, keys] = self.others;
        [self.header, self.body, self.footer, self.sizes, addresses, counters, keys]
    }
}

impl Sections {
    pub fn find(path: &Path, bytes: &[u8]) -> Result<Sections, TraceError> {
        if Cursor::new(bytes, 0).u64() != Ok(MAGIC) {
            return Err(not_dumpi(path, bytes));
        }
        let Some((end, index)) = Index::find(bytes) else { return Err(no_index(path, bytes.len())) };
        if index.body == 0 {
            return Err(no_stream(path, end));
        }
        match index.offsets().into_iter().find(|place| *place > end as u64) {
            Some(place) => Err(invalid_offset(path, end, place)),
            None => Sections::at(bytes, end, &index).map_err(|fault| invalid_section(path, fault)),
        }
    }

    fn at(bytes: &[u8], index_at: usize, index: &Index) -> Result<Sections, Fault> {
        let place = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
        let mut body = Cursor::new(bytes, place(index.body));
        let (cpu_bias, wall_bias, start) = (body.i32()?, body.i32()?, body.at());
        let after = index.offsets().map(place).into_iter().filter(|place| *place >= start).min();
        Ok(Sections {
            version: read_version(bytes, place(index.header))?,
            cpu_bias,
            wall_bias,
            start,
            end: after.unwrap_or(index_at),
            sizes: read_sizes(&bytes[..index_at], place(index.sizes))?,
            footer: Some(place(index.footer)).filter(|at| *at > 0),
        })
    }

    pub fn counts(&self, bytes: &[u8]) -> Option<Counts> {
        let mut cursor = Cursor::new(bytes, self.footer?);
        let magic = cursor.u64().ok()?;
        let mut table = || {
            let table: Result<Vec<u32>, Fault> =
                (0..=label::TOTALS).map(|_| cursor.i32().map(|count| count as u32)).collect();
            table.ok().map(|mut table| {
                table.truncate(LAYOUTS.len());
                table
            })
        };
        let (called, ignored) = (table()?, table()?);
        (magic == FOOTER_MAGIC).then_some(Counts { called, ignored })
    }
}

fn read_version(bytes: &[u8], header: usize) -> Result<Version, Fault> {
    if header == 0 {
        return Ok(Version::default());
    }
    let mut cursor = Cursor::new(bytes, header);
    Ok(Version(cursor.u8()?, cursor.u8()?, cursor.u8()?))
}

fn read_sizes(bytes: &[u8], at: usize) -> Result<Sizes, Fault> {
    if at == 0 {
        return Ok(Sizes::default());
    }
    let table = Cursor::new(bytes, at).counted(4)?;
    Ok(Sizes::new(super::cursor::integers(table).collect()))
}

fn not_dumpi(path: &Path, bytes: &[u8]) -> TraceError {
    if bytes.is_empty() {
        return TraceError::new(
            path,
            "the file is empty",
            "trace the run again: it was killed before it wrote this",
        );
    }
    if super::text::line::looks_like(bytes) {
        let problem = "this is the text that dumpi2ascii prints, not a binary trace";
        return TraceError::new(path, problem, "rename it to end in .txt, or give its path alone");
    }
    let first = &bytes[..bytes.len().min(8)];
    let problem = format!("the first bytes are {first:02x?}, not those of a DUMPI trace");
    TraceError::new(path, problem, "give a file that sst-dumpi wrote; unpack it first if it is compressed")
}

fn no_index(path: &Path, length: usize) -> TraceError {
    let problem = format!("no index at the end of the file's {length} bytes");
    let advice = "the file is cut short: copy it again, or remove it to analyze the other ranks without it";
    TraceError::new(path, problem, advice).at_offset(length as u64)
}

fn no_stream(path: &Path, index: usize) -> TraceError {
    let problem = "the index contains no stream of calls";
    TraceError::new(path, problem, "the file is damaged: copy it again").at_offset(index as u64)
}

fn invalid_offset(path: &Path, index: usize, place: u64) -> TraceError {
    let problem = format!("the index has a part at byte {place}, after the index itself");
    TraceError::new(path, problem, "the file is damaged: copy it again").at_offset(index as u64)
}

fn invalid_section(path: &Path, fault: Fault) -> TraceError {
    let problem = match fault.violation {
        Violation::Count(count) => format!("the table of datatypes claims {count} entries"),
        Violation::Short | Violation::Label(_) => "a part that the index names is cut short".to_owned(),
    };
    TraceError::new(path, problem, "the file is damaged: copy it again").at_offset(fault.at as u64)
}
