//! Decoder of one record of the binary form: head and fields.

use super::cursor::{Cursor, Fault, Violation, integers};
use super::ids;
use super::layout::{Field, Kind, LAYOUTS, Layout, Name, label};
use super::record::Record;
use super::version::Version;
use crate::call::{Call, Peer, Status, TagArg};

mod mask_bits {
    pub const STATUSES: u8 = 0b11;
    pub const CPU_TIMES: u8 = 1 << 2;
    pub const WALL_TIMES: u8 = 1 << 3;
    pub const THREAD: u8 = 1 << 6;
    pub const COUNTERS: u8 = 1 << 7;
    /// Parts that nearly every record has, besides the arguments.
    pub const USUAL: u8 = THREAD | CPU_TIMES | WALL_TIMES;
}

/// Biased seconds in 16 bits, and nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Times {
    pub enter: (u16, i32),
    pub leave: (u16, i32),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    mask: u8,
    /// 0 if the trace has no thread numbers.
    pub thread: u16,
    pub cpu: Option<Times>,
    pub wall: Option<Times>,
}

#[inline]
fn read_times(cursor: &mut Cursor, present: bool) -> Result<Option<Times>, Fault> {
    if !present {
        return Ok(None);
    }
    Ok(Some(times_of(&cursor.array()?)))
}

#[inline]
fn times_of(&[a, b, c, d, e, f, g, h, i, j, k, l]: &[u8; 12]) -> Times {
    let enter = (u16::from_be_bytes([a, b]), i32::from_be_bytes([c, d, e, f]));
    Times { enter, leave: (u16::from_be_bytes([g, h]), i32::from_be_bytes([i, j, k, l])) }
}

impl Head {
    pub fn read(cursor: &mut Cursor) -> Result<Head, Fault> {
        let mask = cursor.u8()?;
        let thread = if mask & mask_bits::THREAD != 0 { cursor.u16()? } else { 0 };
        let cpu = read_times(cursor, mask & mask_bits::CPU_TIMES != 0)?;
        let wall = read_times(cursor, mask & mask_bits::WALL_TIMES != 0)?;
        if mask & mask_bits::COUNTERS != 0 {
            let counters = cursor.u8()?;
            cursor.bytes(usize::from(counters) * 16)?;
        }
        Ok(Head { mask, thread, cpu, wall })
    }
}

/// Returns `None` for records with other parts, without advancing.
/// advancing.
#[inline]
pub(super) fn read_usual_head(cursor: &mut Cursor) -> Option<(&'static Layout, Head)> {
    let bytes: &[u8; 29] = cursor.peek()?;
    let [a, b, mask, c, d, times @ ..] = bytes;
    let layout = LAYOUTS.get(usize::from(u16::from_be_bytes([*a, *b])))?;
    if mask & !mask_bits::STATUSES != mask_bits::USUAL {
        return None;
    }
    let wall = times.last_chunk().map(times_of);
    cursor.skip(29);
    Some((layout, Head { mask: *mask, thread: u16::from_be_bytes([*c, *d]), cpu: None, wall }))
}

#[derive(Clone, Copy)]
pub(super) struct Statuses {
    present: bool,
    width: usize,
}

impl Statuses {
    pub fn width(version: Version) -> usize {
        if version >= Version::STATUS_TAGS { 14 } else { 10 }
    }

    #[inline]
    pub fn new(width: usize, head: &Head) -> Self {
        Statuses { present: head.mask & mask_bits::STATUSES != 0, width }
    }

    #[inline]
    pub fn read<'b>(self, cursor: &mut Cursor<'b>) -> Result<impl Iterator<Item = Status> + use<'b>, Fault> {
        Ok(self.skip(cursor)?.chunks_exact(self.width).map(status))
    }

    #[inline]
    pub fn skip<'b>(self, cursor: &mut Cursor<'b>) -> Result<&'b [u8], Fault> {
        if self.present { cursor.counted(self.width) } else { Ok(&[]) }
    }
}

pub(super) enum Entry {
    Call(&'static Layout),
    /// Entry or exit of an instrumented function of the program.
    Mark,
    End,
}

#[inline]
pub(super) fn read_entry(cursor: &mut Cursor) -> Result<Entry, Fault> {
    let here = *cursor;
    let number = cursor.u16()?;
    if let Some(layout) = LAYOUTS.get(usize::from(number)) {
        return Ok(Entry::Call(layout));
    }
    match number {
        label::ENTER | label::EXIT => Ok(Entry::Mark),
        label::END | label::TOTALS => Ok(Entry::End),
        _ => Err(here.fault(Violation::Label(number))),
    }
}

pub(super) fn skip_mark(cursor: &mut Cursor) -> Result<(), Fault> {
    cursor.bytes(8).map(|_| ())
}

pub(super) struct Fields<'c, 'b, 'r> {
    cursor: &'c mut Cursor<'b>,
    version: Version,
    statuses: Statuses,
    record: &'r mut Record,
    call: &'r mut Call,
}

impl<'c, 'b, 'r> Fields<'c, 'b, 'r> {
    pub fn new(
        cursor: &'c mut Cursor<'b>,
        version: Version,
        statuses: Statuses,
        record: &'r mut Record,
        call: &'r mut Call,
    ) -> Self {
        Fields { cursor, version, statuses, record, call }
    }

    #[inline]
    pub fn read(mut self, layout: &'static Layout) -> Result<(), Fault> {
        self.read_fields(layout.fields)?;
        if !layout.at_root.is_empty() {
            if self.record.get(Name::commrank) == self.record.get(Name::root) {
                self.read_fields(layout.at_root)?;
            }
            self.read_fields(layout.last)?;
        }
        Ok(())
    }

    #[inline]
    fn read_fields(&mut self, fields: &'static [Field]) -> Result<(), Fault> {
        fields.iter().try_for_each(|field| self.read_field(*field))
    }

    #[inline(always)]
    fn read_field(&mut self, Field { kind, name }: Field) -> Result<(), Fault> {
        match kind {
            Kind::Int => {
                let value = self.cursor.i32()?;
                self.record.set(name, value);
            }
            Kind::Half => {
                let value = self.cursor.u16()?;
                self.record.set(name, i32::from(value));
            }
            Kind::Statuses => self.read_statuses()?,
            Kind::Ints => self.read_integers(name)?,
            _ => self.skip_rare_field(kind, name)?,
        }
        Ok(())
    }

    #[inline]
    fn read_integers(&mut self, name: Name) -> Result<(), Fault> {
        let elements = self.cursor.counted(4)?;
        self.record.extend(self.call, name, integers(elements));
        Ok(())
    }

    #[inline]
    fn read_statuses(&mut self) -> Result<(), Fault> {
        self.record.statuses.extend(self.statuses.read(self.cursor)?);
        Ok(())
    }

    #[inline(never)]
    fn skip_rare_field(&mut self, kind: Kind, name: Name) -> Result<(), Fault> {
        match kind {
            Kind::Byte => drop(self.cursor.u8()?),
            Kind::Long => drop(self.cursor.u64()?),
            Kind::Bytes | Kind::Text => drop(self.cursor.counted(1)?),
            Kind::Halves => drop(self.cursor.counted(2)?),
            Kind::IntsSince068 => self.skip_integers_since(Version(0, 6, 8))?,
            Kind::IntsSince069 => self.skip_integers_since(Version(0, 6, 9))?,
            Kind::Matrix => self.repeat_counted(|fields| fields.read_integers(name))?,
            Kind::Texts => self.skip_texts()?,
            Kind::TextTable => self.repeat_counted(Self::skip_texts)?,
            Kind::Arguments => self.skip_arguments()?,
            Kind::Int | Kind::Half | Kind::Ints | Kind::Statuses => {} // frequent kinds are read elsewhere
        }
        Ok(())
    }

    fn repeat_counted(&mut self, mut one: impl FnMut(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        let count = self.cursor.count(4)?;
        (0..count).try_for_each(|_| one(self))
    }

    fn skip_texts(&mut self) -> Result<(), Fault> {
        self.repeat_counted(|fields| fields.cursor.counted(1).map(|_| ()))
    }

    fn skip_integers_since(&mut self, version: Version) -> Result<(), Fault> {
        if self.version >= version {
            self.cursor.counted(4).map(|_| ())
        } else {
            self.cursor.i32().map(|_| ())
        }
    }

    fn skip_arguments(&mut self) -> Result<(), Fault> {
        if self.version >= Version(0, 6, 2) {
            return self.skip_texts();
        }
        self.cursor.i32()?;
        self.skip_texts()
    }
}

/// Reads a status. Before version 0.6.3, statuses had no tag.
#[inline]
fn status(bytes: &[u8]) -> Status {
    let word = |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk).copied().map(i32::from_be_bytes);
    let Some(&[a, b, c, d, e, f, g, h, cancelled]) = bytes.first_chunk() else { return NO_STATUS };
    Status {
        bytes: u64::try_from(i32::from_be_bytes([a, b, c, d])).ok(),
        source: ids::sender(i32::from_be_bytes([e, f, g, h])),
        cancelled: cancelled != 0,
        tag: word(10).map_or(TagArg::Any, ids::tag),
    }
}

const NO_STATUS: Status = Status { bytes: None, source: Peer::Any, tag: TagArg::Any, cancelled: false };
