//! Lines of the text form of DUMPI.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::ids;
use super::super::version::Version;
use crate::call::Status;
use crate::readers::dumpi::layout::{LAYOUTS, Layout};

pub(super) type Time = (i64, i32);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CallLine<'a> {
    pub name: &'a [u8],
    pub wall: Time,
    pub cpu: Time,
    pub thread: u16,
}

pub(super) struct EntryLine;

pub(super) struct ReturnLine;

impl EntryLine {
    pub fn parse(line: &[u8]) -> Option<CallLine<'_>> {
        parse_edge(line, b" entering at walltime ")
    }
}

impl ReturnLine {
    pub fn parse(line: &[u8]) -> Option<CallLine<'_>> {
        parse_edge(line, b" returning at walltime ")
    }
}

fn parse_edge<'a>(line: &'a [u8], verb: &[u8]) -> Option<CallLine<'a>> {
    let (name, rest) = line.split_at_checked(line.iter().position(|byte| *byte == b' ')?)?;
    let rest = rest.strip_prefix(verb)?;
    let (wall, rest) = split(rest, b", cputime ")?;
    let (cpu, thread) = split(rest, b" seconds in thread ")?;
    let thread = parse_number(thread.strip_suffix(b".")?)?;
    Some(CallLine { name, wall: parse_time(wall)?, cpu: parse_time(cpu)?, thread })
}

pub(super) fn split<'a>(text: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = text.windows(separator.len()).position(|window| window == separator)?;
    Some((&text[..at], &text[at + separator.len()..]))
}

fn parse_time(text: &[u8]) -> Option<Time> {
    let (seconds, nanoseconds) = split(text, b".")?;
    Some((i64::from(parse_number::<i32>(seconds)?), parse_number(nanoseconds)?))
}

pub(super) fn parse_number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// `type name=value`, or `type name[length]=value`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Argument<'a> {
    pub name: &'a [u8],
    pub status: bool,
    pub value: &'a [u8],
}

impl Argument<'_> {
    pub fn parse(line: &[u8]) -> Option<Argument<'_>> {
        let (left, value) = split(line, b"=")?;
        let (kind, name) = split(left, b" ")?;
        let name = name.split(|byte| *byte == b'[').next().filter(|name| !name.is_empty())?;
        Some(Argument { name, status: kind == b"MPI_Status", value })
    }

    /// Value of the argument. Words in parentheses may follow the number; requests are in brackets.
    pub fn scalar(&self) -> Option<i32> {
        let value = self.value.strip_prefix(b"[").unwrap_or(self.value);
        parse_number(value.split(|byte| matches!(byte, b' ' | b']')).next()?)
    }
}

/// `[1, 2]` or `[[1, 2], [3, 4]]`, or `<IGNORED>`. Returns `None` for other text.
pub(super) fn parse_list(value: &[u8], numbers: &mut Vec<i32>) -> Option<()> {
    numbers.clear();
    if value.starts_with(b"<IGNORED>") {
        return Some(());
    }
    let separators = |byte: &u8| matches!(byte, b'[' | b']' | b',' | b' ');
    for word in value.split(separators).filter(|word| !word.is_empty()) {
        numbers.push(parse_number(word)?);
    }
    Some(())
}

/// `[{bytes=8, cancelled=0, source=1, tag=2, error=0}]`, or `<IGNORED>`.
pub(super) fn parse_statuses(value: &[u8], statuses: &mut Vec<Status>) -> Option<()> {
    for one in value.split(|byte| *byte == b'{').skip(1) {
        let field = |name: &[u8]| {
            let (_, value) = split(one, name)?;
            parse_number::<i32>(value.split(|byte| matches!(byte, b',' | b'}')).next()?)
        };
        statuses.push(Status {
            bytes: u64::try_from(field(b"bytes=")?).ok(),
            source: ids::sender(field(b"source=")?),
            tag: ids::tag(field(b"tag=")?),
            cancelled: field(b"cancelled=")? != 0,
        });
    }
    Some(())
}

pub(super) fn version(first: &[u8]) -> Option<Version> {
    let line = first.split(|byte| *byte == b'\n').next()?.strip_prefix(b"version=")?;
    let mut parts = line.split(|byte| *byte == b'.').map(parse_number::<u8>);
    Some(Version(parts.next()??, parts.next()??, parts.next()??))
}

pub(super) fn is_table(line: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 5] =
        [b"Total keyvals", b"Performance counters", b"    ", b"Function address ", b"Datatype "];
    line.is_empty()
        || line.contains(&b'=')
        || line.ends_with(b" times")
        || BEGINNINGS.iter().any(|beginning| line.starts_with(beginning))
}

pub fn looks_like(bytes: &[u8]) -> bool {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let version = first.strip_prefix(b"version=").and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit);
    version || EntryLine::parse(first).is_some()
}

static NUMBERS: LazyLock<HashMap<String, usize>> = LazyLock::new(|| {
    let name = |layout: &Layout| printed_name(layout.function.name());
    LAYOUTS.iter().enumerate().map(|(number, layout)| (name(layout), number)).collect()
});

/// Name of the function in the text form: MPI-IO functions with separate requests have another prefix.
fn printed_name(name: &str) -> String {
    match name.strip_prefix("MPI_Io_") {
        Some(rest) => format!("MPIO_{}{}", rest[..1].to_ascii_uppercase(), &rest[1..]),
        None => name.to_owned(),
    }
}

pub(super) fn number(name: &[u8]) -> Option<usize> {
    NUMBERS.get(std::str::from_utf8(name).ok()?).copied()
}

pub(super) fn layout(name: &[u8]) -> Option<&'static Layout> {
    number(name).map(|number| &LAYOUTS[number])
}
