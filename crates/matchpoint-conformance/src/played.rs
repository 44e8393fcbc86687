//! One stream on a new engine: what was looked at, or the law that the engine broke.

use std::fmt::{self, Display};
use std::mem;

use matchpoint::event::script;
use matchpoint::{Engine, Event};

use crate::law::Broken;
use crate::run::{Run, run};
use crate::shrink::shrink;
use crate::terms::Terms;

/// What was looked at, when no law was broken.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Streams played, each on a new engine or two.
    pub streams: u64,
    /// Events played, in all.
    pub events: u64,
    /// Messages matched with receives, in all.
    pub matches: u64,
    /// The engine that matched in the place of the one that was asked for, if any did.
    pub substitute: Option<Substitute>,
}

/// An engine that matched in the place of another, which could not: see [`Engine::substitute`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Substitute {
    /// Its name; that in the first such stream, if several have several.
    pub name: String,
    /// Streams at the end of which it did, from the first call or some later one on.
    pub streams: u64,
}

/// A law that an engine breaks, and the shortest script found that shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The law, and how the script's last event broke it.
    pub broken: Broken,
    /// The events.
    pub events: Vec<Event>,
    /// The stream that it was first seen in.
    pub stream: String,
    /// Who matched in the engine's place as the script was played, if anybody did: the law is broken by that.
    pub substitute: Option<String>,
    /// What was played until then: all streams before, and that one up to what broke the law.
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
    /// Of one stream.
    pub(crate) fn of(run: &Run) -> Self {
        let substitute = run.substitute.clone().map(|name| Substitute { name, streams: 1 });
        Report { streams: 1, events: run.played.len() as u64, matches: run.matches, substitute }
    }

    /// Adds a stream; if it broke a law, the violation learns of all that was played before it.
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

/// Plays one stream on a new engine. `stream` says what it is called.
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
