//! Stream of one rank in the text form of DUMPI.

use std::io::{BufRead, Read};
use std::path::PathBuf;

use super::super::action::interpret;
use super::super::clock::Clock;
use super::super::ids::Sizes;
use super::super::layout::{Field, Kind, Layout};
use super::super::record::Record;
use super::line::{
    Argument, CallLine, EntryLine, ReturnLine, Time, is_table, layout, parse_list, parse_statuses,
};
use crate::call::Call;
use crate::error::TraceError;
use crate::trace::RankReader;

/// Maximum length of a line. A line with a million requests is shorter.
const LONGEST_LINE: u64 = 64 << 20;

const DAMAGED: &str = "print the text again with dumpi2ascii, or remove the file to analyze the other ranks";

pub(super) struct Stream<R> {
    lines: Lines<R>,
    sizes: Sizes,
    wall: Clock,
    cpu: Clock,
    record: Record,
    numbers: Vec<i32>,
}

struct Lines<R> {
    path: PathBuf,
    input: R,
    line: Vec<u8>,
    number: u64,
    start: u64,
    end: u64,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> Result<bool, TraceError> {
        self.line.clear();
        let read = self.input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| TraceError::io(&self.path, &error))? as u64;
        self.number += 1;
        (self.start, self.end) = (self.end, self.end + read);
        if read == LONGEST_LINE {
            return Err(self.error_here("an incomplete line"));
        }
        while matches!(self.line.last(), Some(b'\n' | b'\r')) {
            self.line.pop();
        }
        Ok(read > 0)
    }

    fn error_here(&self, problem: impl Into<String>) -> TraceError {
        TraceError::new(&self.path, problem, DAMAGED).at_line(self.number)
    }

    fn line_beginning(&self) -> String {
        String::from_utf8_lossy(&self.line[..self.line.len().min(60)]).into_owned()
    }
}

struct StartedCall {
    layout: Option<&'static Layout>,
    name: Vec<u8>,
    wall: Time,
    cpu: Time,
}

impl<R: BufRead> Stream<R> {
    pub fn new(path: PathBuf, input: R, sizes: Sizes) -> Self {
        Stream {
            lines: Lines { path, input, line: Vec::new(), number: 0, start: 0, end: 0 },
            sizes,
            wall: Clock::unset(),
            cpu: Clock::unset(),
            record: Record::default(),
            numbers: Vec::new(),
        }
    }

    fn find_call(&mut self, call: &mut Call) -> Result<Option<StartedCall>, TraceError> {
        while self.lines.next()? {
            if let Some(CallLine { name, wall, cpu, thread }) = EntryLine::parse(&self.lines.line) {
                (call.thread, call.offset) = (thread, self.lines.start);
                let layout = layout(name);
                if layout.is_none() && !name.starts_with(b"Function_") {
                    let name = String::from_utf8_lossy(name);
                    return Err(self.lines.error_here(format!("{name} is not a function in DUMPI")));
                }
                return Ok(Some(StartedCall { layout, name: name.to_owned(), wall, cpu }));
            }
            if !is_table(&self.lines.line) {
                let problem =
                    format!("“{}” is no line that dumpi2ascii prints here", self.lines.line_beginning());
                return Err(self.lines.error_here(problem));
            }
        }
        Ok(None)
    }

    fn read_arguments(&mut self, started: &StartedCall, call: &mut Call) -> Result<(), TraceError> {
        self.record.clear();
        call.requests.clear();
        call.completions.clear();
        call.integers.clear();
        let mut open = None;
        while self.lines.next()? {
            match ReturnLine::parse(&self.lines.line) {
                Some(CallLine { name, wall, cpu, .. }) if name == started.name => {
                    (call.enter_ns, call.leave_ns) = self.times_of(started, wall, cpu);
                    return Ok(());
                }
                _ => open = self.read_argument(started.layout, open, call)?,
            }
        }
        let name = String::from_utf8_lossy(&started.name);
        Err(self.lines.error_here(format!("the text ends within a call of {name}")))
    }

    /// Times of a call. Without wall clock times (0), processor times are used.
    fn times_of(&mut self, started: &StartedCall, wall: Time, cpu: Time) -> (i64, i64) {
        if (started.wall, wall) == ((0, 0), (0, 0)) {
            return self.cpu.nanoseconds(started.cpu, cpu);
        }
        self.wall.nanoseconds(started.wall, wall)
    }

    /// Returns the field if the argument is a list of lists that continues on the next line. The last line of
    /// the list also contains the next argument.
    fn read_argument(
        &mut self,
        layout: Option<&'static Layout>,
        open: Option<Field>,
        call: &mut Call,
    ) -> Result<Option<Field>, TraceError> {
        let line = &self.lines.line[..];
        if let (Some(field), Some(more)) = (open, line.strip_prefix(b", ")) {
            let read = parse_list(more, &mut self.numbers);
            return self.store_numbers(field, read, call);
        }
        let line = if open.is_some() { line.strip_prefix(b"]").unwrap_or(line) } else { line };
        let Some(argument) = Argument::parse(line) else { return Ok(None) };
        if argument.status {
            let read = parse_statuses(argument.value, &mut self.record.statuses);
            return read.map(|()| None).ok_or_else(|| self.malformed());
        }
        let Some(&field) = layout.and_then(|layout| layout.field(argument.name)) else { return Ok(None) };
        let read = if matches!(field.kind, Kind::Int | Kind::Half) {
            argument.scalar().map(|value| self.scalar(field, value))
        } else {
            parse_list(argument.value, &mut self.numbers)
        };
        self.store_numbers(field, read, call)
    }

    fn scalar(&mut self, Field { kind, name }: Field, value: i32) {
        // The text form prints this unsigned value as signed.
        let value = if kind == Kind::Half { i32::from(value as u16) } else { value };
        self.record.set(name, value);
        self.numbers.clear();
    }

    fn store_numbers(
        &mut self,
        field: Field,
        read: Option<()>,
        call: &mut Call,
    ) -> Result<Option<Field>, TraceError> {
        read.ok_or_else(|| self.malformed())?;
        self.record.extend(call, field.name, self.numbers.iter().copied());
        Ok((field.kind == Kind::Matrix).then_some(field))
    }

    fn malformed(&self) -> TraceError {
        self.lines.error_here(format!("“{}” cannot be read", self.lines.line_beginning()))
    }

    fn advance(&mut self, call: &mut Call) -> Result<bool, TraceError> {
        while let Some(started) = self.find_call(call)? {
            self.read_arguments(&started, call)?;
            if let Some(layout) = started.layout {
                call.function = layout.function;
                interpret(&self.record, &self.sizes, call);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl<R: BufRead + Send> RankReader for Stream<R> {
    fn read(&mut self, call: &mut Call) -> Result<bool, TraceError> {
        self.advance(call)
    }

    fn position(&self) -> u64 {
        self.lines.end
    }
}
