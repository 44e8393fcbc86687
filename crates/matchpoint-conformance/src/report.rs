//! Result of a stream on a new engine: counts, or the broken law.

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
    /// Streams, each on one or two new engines.
    pub streams: u64,
    /// Events of all streams.
    pub events: u64,
    /// Matches of all streams.
    pub matches: u64,
    /// The fallback engine that replaced the requested engine.
    pub substitute: Option<Substitute>,
}

/// A fallback engine that replaced another engine: see [`Engine::substitute`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Substitute {
    /// The first fallback engine.
    pub name: String,
    /// Streams that ended on the fallback engine.
    pub streams: u64,
}

/// A broken law, with the shortest script found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The law, and how the last event of the script broke the law.
    pub broken: Broken,
    /// The script.
    pub events: Vec<Event>,
    /// The stream that broke the law first.
    pub stream: String,
    /// The fallback engine that broke the law in the script.
    pub substitute: Option<String>,
    /// Counts before the violation.
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

/// Runs one stream on a new engine. `stream` returns its name.
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
