//! Report of a check: counts, or the broken law with its script.

use std::fmt::{self, Display};
use std::mem;

use matchpoint::event::script;
use matchpoint::{Engine, Event};

use crate::law::Broken;
use crate::run::{Run, run};
use crate::shrink::shrink;
use crate::terms::Terms;

/// Counts of a check without a violation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Each on one or two new engines.
    pub streams: u64,
    pub events: u64,
    pub matches: u64,
    /// The fallback engine that ended some streams, if any.
    pub substitute: Option<Substitute>,
}

/// A fallback engine in use: see [`Engine::substitute`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Substitute {
    /// Of the first fallback engine.
    pub name: String,
    /// Streams that ended on a fallback engine.
    pub streams: u64,
}

/// A broken law, with the shortest script found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The law, and how the last event of the script broke the law.
    pub broken: Broken,
    pub events: Vec<Event>,
    /// The stream that broke the law first.
    pub stream: String,
    /// The fallback engine in use at the end of the script, if any.
    pub substitute: Option<String>,
    pub played: Report,
}

impl Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}\n# Law: {}", self.broken.how, self.broken.law.sentence())?;
        writeln!(f, "# First seen in: {}", self.stream)?;
        f.write_str(&script::print(&self.events))
    }
}

impl std::error::Error for Violation {}

pub(crate) type Factory<'a> = &'a dyn Fn() -> Box<dyn Engine>;

impl Report {
    pub(crate) fn of(run: &Run) -> Self {
        let substitute = run.substitute.clone().map(|name| Substitute { name, streams: 1 });
        Report { streams: 1, events: run.played.len() as u64, matches: run.matches, substitute }
    }

    /// A violation gets the counts so far.
    pub(crate) fn take(&mut self, stream: Result<Report, Box<Violation>>) -> Result<(), Box<Violation>> {
        match stream {
            Ok(report) => {
                self.add(report);
                Ok(())
            }
            Err(mut violation) => {
                self.add(mem::take(&mut violation.played));
                violation.played = mem::take(self);
                Err(violation)
            }
        }
    }

    fn add(&mut self, other: Report) {
        self.streams += other.streams;
        self.events += other.events;
        self.matches += other.matches;
        if let Some(more) = other.substitute {
            let substitute = self.substitute.get_or_insert(Substitute { streams: 0, ..more.clone() });
            substitute.streams += more.streams;
        }
    }
}

/// Runs `events` on a new engine. `stream` returns the name of the stream.
///
/// # Errors
/// The violation, shrunk.
pub fn check_events(
    factory: Factory<'_>,
    events: Vec<Event>,
    terms: impl Into<Terms>,
    stream: impl FnOnce() -> String,
) -> Result<Report, Box<Violation>> {
    let terms = terms.into();
    let played = |events: &[Event]| run(&mut *factory(), events, terms);
    let first = played(&events);
    let report = Report::of(&first);
    let Some(broken) = first.broken else {
        return Ok(report);
    };
    let same = |events: &[Event]| played(events).broken.is_some_and(|other| other.law == broken.law);
    let shrunk = played(&shrink(first.played, &same));
    let (broken, events, substitute) = (shrunk.broken.unwrap_or(broken), shrunk.played, shrunk.substitute);
    Err(Box::new(Violation { broken, events, stream: stream(), substitute, played: report }))
}
