//! Stream of one rank in the binary form of DUMPI.

use std::ops::Deref;
use std::path::PathBuf;

use super::action::interpret;
use super::clock::Clock;
use super::cursor::{Cursor, Fault, Violation};
use super::decode::{Entry, Fields, Head, Statuses, Times, read_entry, read_usual_head, skip_mark};
use super::frequent;
use super::layout::Layout;
use super::record::Record;
use super::sections::{Counts, Sections};
use super::version::Version;
use crate::call::Call;
use crate::error::TraceError;
use crate::function::Function;
use crate::trace::RankReader;

pub(super) struct Stream<B> {
    bytes: B,
    path: PathBuf,
    sections: Sections,
    at: usize,
    wall: Clock,
    cpu: Clock,
    finalized: bool,
    status_width: usize,
    record: Record,
}

impl<B: Deref<Target = [u8]>> Stream<B> {
    pub fn new(path: PathBuf, bytes: B) -> Result<Self, TraceError> {
        let sections = Sections::find(&path, &bytes)?;
        Ok(Stream {
            at: sections.start,
            wall: Clock::at(i64::from(sections.wall_bias)),
            cpu: Clock::at(i64::from(sections.cpu_bias)),
            finalized: false,
            status_width: Statuses::width(sections.version),
            record: Record::default(),
            bytes,
            path,
            sections,
        })
    }

    pub fn version(&self) -> Version {
        self.sections.version
    }

    /// Whether the first call has wall clock times, and whether the first call has processor times.
    pub fn timed(&self) -> (bool, bool) {
        let mut cursor = self.cursor();
        let head = read_entry(&mut cursor).and_then(|_| Head::read(&mut cursor));
        head.map_or((true, true), |head| (head.wall.is_some(), head.cpu.is_some()))
    }

    pub fn counts(&self) -> Option<Counts> {
        self.sections.counts(&self.bytes)
    }

    fn cursor(&self) -> Cursor<'_> {
        Cursor::new(&self.bytes[..self.sections.end], self.at)
    }

    /// With `OUTLINE`, the function skips data that the first pass does not use.
    #[inline]
    fn advance<const OUTLINE: bool>(&mut self, call: &mut Call) -> Result<bool, Fault> {
        let Stream { bytes, sections, record, .. } = self;
        let mut cursor = Cursor::new(&bytes[..sections.end], self.at);
        let (layout, head) = match read_usual_head(&mut cursor) {
            Some(usual) if !self.finalized => usual,
            _ => {
                cursor = Cursor::new(&bytes[..sections.end], self.at);
                let Some(layout) = next_layout(&mut cursor, &mut self.at, self.finalized)? else {
                    self.at = bytes.len();
                    return Ok(false);
                };
                (layout, Head::read(&mut cursor)?)
            }
        };
        call.requests.clear();
        call.completions.clear();
        call.integers.clear();
        call.function = layout.function;
        call.thread = head.thread;
        call.offset = self.at as u64;
        (call.enter_ns, call.leave_ns) = match (head.wall, head.cpu) {
            (Some(times), _) => nanoseconds(&mut self.wall, sections.wall_bias, times),
            (None, Some(times)) => nanoseconds(&mut self.cpu, sections.cpu_bias, times),
            (None, None) => (0, 0),
        };
        let statuses = Statuses::new(self.status_width, &head);
        if OUTLINE && frequent::skip_requests(&mut cursor, statuses, call)? {
        } else if !frequent::read(&mut cursor, &sections.sizes, statuses, call)? {
            record.clear();
            Fields::new(&mut cursor, sections.version, statuses, record, call).read(layout)?;
            interpret(record, &sections.sizes, call);
            self.finalized |= layout.function == Function::Finalize;
        }
        self.at = cursor.at();
        Ok(true)
    }

    #[cold]
    fn error_of_fault(&self, fault: Fault) -> TraceError {
        let name = match read_entry(&mut self.cursor()) {
            Ok(Entry::Call(layout)) => layout.function.name(),
            _ => "a function",
        };
        let problem = match fault.violation {
            Violation::Short => format!("the record of {name} at byte {} is cut short", self.at),
            Violation::Count(count) => {
                format!(
                    "the record of {name} at byte {} claims {count} elements, but the file ends before",
                    self.at
                )
            }
            Violation::Label(label) => format!("{label} is not the number of an MPI function in DUMPI"),
        };
        let advice = "the stream is damaged from here on: copy the file again, or remove the file to analyze the other ranks";
        TraceError::new(&self.path, problem, advice).at_offset(fault.at as u64)
    }
}

/// Layout of the next record; `None` at the end. In older versions the stream ends with `MPI_Finalize`,
/// without an end mark.
#[inline]
fn next_layout(
    cursor: &mut Cursor,
    at: &mut usize,
    finalized: bool,
) -> Result<Option<&'static Layout>, Fault> {
    while !cursor.ended() {
        *at = cursor.at();
        match read_entry(cursor)? {
            Entry::Call(layout) if finalized && layout.function == Function::Send => return Ok(None),
            Entry::Call(layout) => return Ok(Some(layout)),
            Entry::Mark => {
                Head::read(cursor)?;
                skip_mark(cursor)?;
            }
            Entry::End => return Ok(None),
        }
    }
    Ok(None)
}

#[inline]
fn nanoseconds(clock: &mut Clock, bias: i32, Times { enter, leave }: Times) -> (i64, i64) {
    let bias = i64::from(bias);
    clock.nanoseconds((bias + i64::from(enter.0), enter.1), (bias + i64::from(leave.0), leave.1))
}

impl<B: Deref<Target = [u8]> + Send> RankReader for Stream<B> {
    fn read(&mut self, call: &mut Call) -> Result<bool, TraceError> {
        self.advance::<false>(call).map_err(|fault| self.error_of_fault(fault))
    }

    fn read_outline(&mut self, call: &mut Call) -> Result<bool, TraceError> {
        self.advance::<true>(call).map_err(|fault| self.error_of_fault(fault))
    }

    fn position(&self) -> u64 {
        self.at as u64
    }
}
