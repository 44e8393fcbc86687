//! Text form of a list of events: one line each, with `#` comments and blank lines.
//!
//! ```text
//! post r1 0/3/7                 receive 1: context 0, source 3, tag 7
//! post r2 0/*/0x10~0xf          from any source, a tag that is 0x10 but for its low four bits
//! arrive m1 0/?/7               message 1, its source not known yet
//! arrive m4 0/3/7               message 4
//! arrive_batch m2=0/3/7 m3=0/4/7
//! probe 0/*/*
//! matched_probe 0/3/*
//! cancel r1 0/3/7               receive 1, with the selector that it was posted with
//! retract m4 0/3/7              message 4, with its current envelope
//! readdress m1 0/?/7 3          message 1: its source is 3
//! set_hints 0 no_any_tag,no_unexpected
//! set_hints 0                   back to MPI's full semantics
//! close 0
//! fail_source 0 3
//! post r1..r70000 0/3/7         70,000 of them, named in turn; so are arrive, cancel and retract, upwards or downwards
//! ```
//!
//! Numbers are decimal, or hexadecimal after `0x`.

use std::fmt::{self, Display};
use std::str::FromStr;

use super::Event;
use crate::engine::{Message, MsgId, Receive, RecvId};
use crate::envelope::{ContextId, Envelope, Rank, Selector, Tag, TagMask, Wild};
use crate::hints::Hints;

/// Parses a script.
///
/// # Errors
/// The first invalid line, and the expected text.
pub fn parse(text: &str) -> Result<Vec<Event>, ScriptError> {
    let mut events = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(strip_comment)).filter(|(_, line)| !line.is_empty()) {
        let range =
            line.split_whitespace().nth(1).and_then(|word| word.split_once("..").map(|range| (word, range)));
        let read = match range {
            Some((word, (from, to))) => parse_event_range(line, word, from, to, &mut events),
            None => parse_event(line).map(|event| events.push(event)),
        };
        read.map_err(|error| error.at(number))?;
    }
    Ok(events)
}

/// Prints a script. Eight or more equal events with consecutive ids become one line.
pub fn print(events: &[Event]) -> String {
    let mut text = String::new();
    let mut rest = events;
    while let Some((first, others)) = rest.split_first() {
        let run = 1 + range_length(first, others);
        if run < RUN_MIN {
            text += &format!("{first}\n");
            rest = others;
            continue;
        }
        let (line, last) = (first.to_string(), rest[run - 1].to_string());
        let [name, last] = [&line, &last].map(|line| line.split_whitespace().nth(1).unwrap_or(""));
        text += &format!("{}\n", line.replacen(name, &format!("{name}..{last}"), 1));
        rest = &rest[run..];
    }
    text
}

/// Minimum of a range line.
const RUN_MIN: usize = 8;

/// Maximum of a range line, so that a short script does not exhaust memory.
const RUN_MAX: u64 = 1 << 22;

fn id_mut(event: &mut Event) -> Option<&mut u64> {
    match event {
        Event::Post(receive) | Event::Cancel(receive) => Some(&mut receive.id.0),
        Event::Arrive(message) | Event::Retract(message) => Some(&mut message.id.0),
        _ => None,
    }
}

/// The same event, with ids that increase or decrease by one.
fn range_length(first: &Event, others: &[Event]) -> usize {
    let (mut next, mut step) = (first.clone(), 0);
    let continues = |other: &&Event| {
        let id = |event: &Event| id_mut(&mut event.clone()).copied();
        let (Some(was), Some(is)) = (id(&next), id(other)) else { return false };
        if step == 0 {
            step = if is == was.wrapping_sub(1) { -1 } else { 1 };
        }
        let follows = was.checked_add_signed(step);
        id_mut(&mut next).into_iter().for_each(|name| *name = follows.unwrap_or(was));
        follows.is_some() && next == **other
    };
    others.iter().take_while(continues).count()
}

fn parse_event_range(
    line: &str,
    word: &str,
    from: &str,
    to: &str,
    out: &mut Vec<Event>,
) -> Result<(), ScriptError> {
    const EXPECTED: &str = "a range of ids (r1..r9, m1..m9) in post, arrive, cancel or retract";
    let [mut first, mut last] =
        [parse_event(&line.replacen(word, from, 1))?, parse_event(&line.replacen(word, to, 1))?];
    let (Some(from), Some(to)) = (id_mut(&mut first).copied(), id_mut(&mut last).copied()) else {
        return Err(error(word, EXPECTED));
    };
    if from.abs_diff(to) >= RUN_MAX {
        return Err(error(word, "a range of at most 4194304 events"));
    }
    let mut add = |at: u64| {
        id_mut(&mut first).into_iter().for_each(|name| *name = at);
        out.push(first.clone());
    };
    if from <= to {
        (from..=to).for_each(&mut add)
    } else {
        (to..=from).rev().for_each(&mut add)
    }
    Ok(())
}

/// Line number, text found and text expected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptError {
    line: usize,
    read: String,
    expected: &'static str,
}

impl ScriptError {
    fn at(self, line: usize) -> Self {
        ScriptError { line, ..self }
    }

    /// Line number, from 1.
    pub fn line(&self) -> usize {
        self.line
    }
}

impl Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: read `{}`, expected {}", self.line, self.read, self.expected)
    }
}

impl std::error::Error for ScriptError {}

impl FromStr for Event {
    type Err = ScriptError;

    fn from_str(line: &str) -> Result<Self, ScriptError> {
        parse_event(strip_comment(line)).map_err(|error| error.at(1))
    }
}

impl Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Post(receive) => write!(f, "post r{} {}", receive.id.0, receive.selector),
            Event::Arrive(message) => write!(f, "arrive m{} {}", message.id.0, EnvelopeOf(message)),
            Event::Probe(selector) => write!(f, "probe {selector}"),
            Event::MatchedProbe(selector) => write!(f, "matched_probe {selector}"),
            Event::Cancel(receive) => write!(f, "cancel r{} {}", receive.id.0, receive.selector),
            Event::Retract(message) => write!(f, "retract m{} {}", message.id.0, EnvelopeOf(message)),
            Event::Readdress(message, Rank::UNKNOWN) => {
                write!(f, "readdress m{} {} ?", message.id.0, EnvelopeOf(message))
            }
            Event::Readdress(message, source) => {
                write!(f, "readdress m{} {} {}", message.id.0, EnvelopeOf(message), source.0)
            }
            Event::SetHints(context, hints) => write_hints(f, *context, *hints),
            Event::Close(context) => write!(f, "close {}", context.0),
            Event::FailSource(context, Rank::UNKNOWN) => write!(f, "fail_source {} ?", context.0),
            Event::FailSource(context, source) => write!(f, "fail_source {} {}", context.0, source.0),
            Event::ArriveBatch(messages) => {
                f.write_str("arrive_batch")?;
                messages
                    .iter()
                    .try_for_each(|message| write!(f, " m{}={}", message.id.0, EnvelopeOf(message)))
            }
        }
    }
}

struct EnvelopeOf<'a>(&'a Message);

impl Display for EnvelopeOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.envelope.fmt(f)
    }
}

type Assertion = (&'static str, fn(&mut Hints) -> &mut bool);

const ASSERTIONS: [Assertion; 5] = [
    ("no_any_source", |hints| &mut hints.no_any_source),
    ("no_any_tag", |hints| &mut hints.no_any_tag),
    ("exact_length", |hints| &mut hints.exact_length),
    ("allow_overtaking", |hints| &mut hints.allow_overtaking),
    ("no_unexpected", |hints| &mut hints.no_unexpected),
];

fn write_hints(f: &mut fmt::Formatter<'_>, context: ContextId, mut hints: Hints) -> fmt::Result {
    write!(f, "set_hints {}", context.0)?;
    let given: Vec<_> =
        ASSERTIONS.iter().filter(|(_, field)| *field(&mut hints)).map(|(word, _)| *word).collect();
    if given.is_empty() { Ok(()) } else { write!(f, " {}", given.join(",")) }
}

fn strip_comment(line: &str) -> &str {
    line.split_once('#').map_or(line, |(before, _)| before).trim()
}

struct Words<'a>(std::str::SplitWhitespace<'a>);

impl<'a> Words<'a> {
    fn take(&mut self, expected: &'static str) -> Result<&'a str, ScriptError> {
        self.0.next().ok_or(error("end of line", expected))
    }
}

fn error(read: &str, expected: &'static str) -> ScriptError {
    ScriptError { line: 0, read: read.to_owned(), expected }
}

const EVENT: &str = "post, arrive, arrive_batch, probe, matched_probe, cancel, retract, readdress, set_hints, close or \
                     fail_source";
const SELECTOR: &str = "context/source/tag, with `*` for a wildcard, value~ignore for a masked tag";
const ENVELOPE: &str = "context/source/tag, with `?` for an unknown source";
const SOURCE: &str = "a source, or `?` for an unknown source";

fn parse_event(line: &str) -> Result<Event, ScriptError> {
    let mut words = Words(line.split_whitespace());
    let event = match words.take(EVENT)? {
        "post" => Event::Post(parse_receive(&mut words)?),
        "arrive" => Event::Arrive(parse_message(&mut words)?),
        "arrive_batch" => Event::ArriveBatch(words.0.by_ref().map(parse_batched).collect::<Result<_, _>>()?),
        "probe" => Event::Probe(parse_selector(&mut words)?),
        "matched_probe" => Event::MatchedProbe(parse_selector(&mut words)?),
        "cancel" => Event::Cancel(parse_receive(&mut words)?),
        "retract" => Event::Retract(parse_message(&mut words)?),
        "readdress" => {
            Event::Readdress(parse_message(&mut words)?, parse_source(words.take(SOURCE)?, SOURCE)?)
        }
        "set_hints" => {
            Event::SetHints(parse_context(&mut words)?, parse_hints(words.0.next().unwrap_or(""))?)
        }
        "close" => Event::Close(parse_context(&mut words)?),
        "fail_source" => {
            Event::FailSource(parse_context(&mut words)?, parse_source(words.take(SOURCE)?, SOURCE)?)
        }
        other => return Err(error(other, EVENT)),
    };
    words.0.next().map_or(Ok(event), |more| Err(error(more, "the end of the line")))
}

fn parse_number(text: &str, expected: &'static str) -> Result<u64, ScriptError> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| error(text, expected))
}

fn parse_id(word: &str, letter: char, expected: &'static str) -> Result<u64, ScriptError> {
    parse_number(word.strip_prefix(letter).ok_or(error(word, expected))?, expected)
}

fn parse_receive(words: &mut Words<'_>) -> Result<Receive, ScriptError> {
    const EXPECTED: &str = "a receive's id (r1)";
    let id = parse_id(words.take(EXPECTED)?, 'r', EXPECTED)?;
    Ok(Receive::new(RecvId(id), parse_selector(words)?))
}

fn parse_message(words: &mut Words<'_>) -> Result<Message, ScriptError> {
    const EXPECTED: &str = "a message's id (m1)";
    let id = parse_id(words.take(EXPECTED)?, 'm', EXPECTED)?;
    build_message(MsgId(id), words.take(ENVELOPE)?)
}

fn parse_batched(word: &str) -> Result<Message, ScriptError> {
    const EXPECTED: &str = "a message with its envelope (m1=0/3/7)";
    let (id, range) = word.split_once('=').ok_or(error(word, EXPECTED))?;
    build_message(MsgId(parse_id(id, 'm', EXPECTED)?), range)
}

fn build_message(id: MsgId, word: &str) -> Result<Message, ScriptError> {
    Ok(Message::new(id, parse_envelope(word)?))
}

fn parse_rank(text: &str, expected: &'static str) -> Result<Rank, ScriptError> {
    let number =
        u32::try_from(parse_number(text, expected)?).ok().filter(|&number| Rank(number) != Rank::UNKNOWN);
    number.map(Rank).ok_or_else(|| error(text, "a source below 4294967295"))
}

fn parse_context_id(text: &str, expected: &'static str) -> Result<ContextId, ScriptError> {
    let id =
        u32::try_from(parse_number(text, expected)?).map_err(|_| error(text, "a context id of 32 bits"))?;
    Ok(ContextId(id))
}

fn parse_context(words: &mut Words<'_>) -> Result<ContextId, ScriptError> {
    const EXPECTED: &str = "a context id";
    parse_context_id(words.take(EXPECTED)?, EXPECTED)
}

fn parse_source(text: &str, expected: &'static str) -> Result<Rank, ScriptError> {
    if text == "?" { Ok(Rank::UNKNOWN) } else { parse_rank(text, expected) }
}

fn split_fields<'a>(word: &'a str, expected: &'static str) -> Result<[&'a str; 3], ScriptError> {
    let parts: Vec<_> = word.split('/').collect();
    parts.try_into().map_err(|_| error(word, expected))
}

fn parse_envelope(word: &str) -> Result<Envelope, ScriptError> {
    let [context, from, tag] = split_fields(word, ENVELOPE)?;
    let context = parse_context_id(context, ENVELOPE)?;
    Ok(Envelope::new(context, parse_source(from, ENVELOPE)?, Tag(parse_number(tag, ENVELOPE)?)))
}

fn parse_selector(words: &mut Words<'_>) -> Result<Selector, ScriptError> {
    let [context, source, tag] = split_fields(words.take(SELECTOR)?, SELECTOR)?;
    let source = match source {
        "*" => Wild::Any,
        rank => Wild::Is(self::parse_rank(rank, SELECTOR)?),
    };
    let tag = match (tag, tag.split_once('~')) {
        ("*", _) => Wild::Any,
        (_, Some((value, ignore))) => Wild::Masked(TagMask {
            value: Tag(parse_number(value, SELECTOR)?),
            ignore: parse_number(ignore, SELECTOR)?,
        }),
        (tag, None) => Wild::Is(Tag(parse_number(tag, SELECTOR)?)),
    };
    Ok(Selector::new(parse_context_id(context, SELECTOR)?, source, tag))
}

fn parse_hints(word: &str) -> Result<Hints, ScriptError> {
    const EXPECTED: &str =
        "no_any_source, no_any_tag, exact_length, allow_overtaking or no_unexpected, separated by commas";
    let mut hints = Hints::default();
    for name in word.split(',').filter(|name| !name.is_empty()) {
        let assertion = ASSERTIONS.iter().find(|(word, _)| *word == name);
        *assertion.ok_or(error(name, EXPECTED))?.1(&mut hints) = true;
    }
    Ok(hints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_script_parses_to_same_events() {
        let text = "\
post r1 0/3/7
post r4294967296 9/*/0x10~0xf
post r3 0/3/*
arrive m1 0/?/18446744073709551615
arrive m1 1/3/7
arrive_batch m2=0/3/7 m3=0/4/7
arrive_batch
probe 0/*/*
matched_probe 0/3/*
cancel r1 0/3/0x10~0xf
retract m1 0/3/7
readdress m1 0/?/7 3
readdress m1 0/?/7 ?
set_hints 0 no_any_source,no_any_tag,exact_length,allow_overtaking,no_unexpected
set_hints 1
close 0
fail_source 0 3
fail_source 0 ?
";
        assert_eq!(print(&parse(text).unwrap()), text);
    }

    #[test]
    fn range_of_events_is_one_line() {
        let text = "\
post r1..r70000 0/*/0x10~0xf
arrive m18446744073709551600..m18446744073709551615 0/3/7
cancel r9..r2 0/*/7
retract m10..m17 0/3/7
retract m17 0/3/7
post r1 0/0/0
post r2 0/0/1
";
        let events = parse(text).unwrap();
        assert_eq!(events.len(), 70_000 + 16 + 8 + 8 + 3);
        assert_eq!(print(&events), text);
        let few = "post r1..r3 0/0/0";
        assert_eq!(print(&parse(few).unwrap()), "post r1 0/0/0\npost r2 0/0/0\npost r3 0/0/0\n");
    }

    #[test]
    fn script_error_reports_line_and_expected_text() {
        for (text, expected) in [
            ("\n# fine\npost r1 0/1/2\nreceive r1", "line 4: read `receive`, expected post, arrive,"),
            ("post m1 0/1/2", "line 1: read `m1`, expected a receive's id (r1)"),
            ("post r1", "line 1: read `end of line`, expected context/source/tag"),
            ("cancel r1", "line 1: read `end of line`, expected context/source/tag, with `*`"),
            ("retract m1", "line 1: read `end of line`, expected context/source/tag, with `?`"),
            ("readdress m1 3", "line 1: read `3`, expected context/source/tag, with `?`"),
            ("readdress m1 0/?/2", "line 1: read `end of line`, expected a source"),
            ("post r1 0/1", "line 1: read `0/1`, expected context/source/tag"),
            ("arrive m1 0/*/2", "line 1: read `*`, expected context/source/tag, with `?`"),
            ("close 4294967296", "line 1: read `4294967296`, expected a context id of 32 bits"),
            ("close 0 1", "line 1: read `1`, expected the end of the line"),
            ("close 0..1", "line 1: read `0..1`, expected a range of ids"),
            ("arrive m1..r2 0/1/2", "line 1: read `r2`, expected a message's id (m1)"),
            ("cancel r0..r4194304 0/1/2", "line 1: read `r0..r4194304`, expected a range of at most"),
            ("set_hints 0 fast", "line 1: read `fast`, expected no_any_source,"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
