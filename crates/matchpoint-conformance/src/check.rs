//! All laws on one engine.

use std::fmt::{self, Display};
use std::mem;

use matchpoint::event::script;
use matchpoint::{Engine, Event, Order};

use crate::adversarial::{self, SCENARIOS};
use crate::choices::Choices;
use crate::deep;
use crate::disguise::Disguise;
use crate::generate::{self, SHAPES};
use crate::law::Broken;
use crate::run::{Run, run};
use crate::shrink::shrink;
use crate::terms::{Calls, Terms};
use crate::turns::check_by_turns;

/// How hard to look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The first seed. The same seed makes the same streams.
    pub seed: u64,
    /// Random streams of each shape. Every other has its numbers [disguised](Disguise). A tenth as many more, rounded up,
    /// are played by turns on two engines that are there at once.
    pub streams: u64,
    /// Events in each.
    pub events: usize,
    /// Entries queued by the adversarial streams: each is played at every one of these.
    pub depths: Vec<u64>,
    /// Entries queued by the [deep] streams, which are left out if it is 0.
    pub deep: u64,
    /// Those may be too long for the engine: it may refuse as [`Refused::Full`](matchpoint::Refused::Full) then.
    pub deep_may_fill: bool,
    /// The engine's table has a fixed size: it may refuse as [`Refused::Full`](matchpoint::Refused::Full).
    pub fixed_table: bool,
    /// The order it is held to; if none is given, the one it promises.
    pub order: Option<Order>,
    /// It is for MPI alone: [`is_mpi`](crate::is_mpi) says what it is given then.
    pub mpi_only: bool,
    /// The calls it has.
    pub calls: Calls,
}

impl Options {
    /// A second or so.
    pub fn quick() -> Self {
        Options {
            seed: 1,
            streams: 20,
            events: 400,
            depths: vec![1, 2, 7, 70],
            deep: 0,
            deep_may_fill: false,
            fixed_table: false,
            order: None,
            mpi_only: false,
            calls: Calls::default(),
        }
    }

    /// Streams that [`check()`] plays on an engine that keeps the laws.
    pub fn streams_total(&self) -> u64 {
        let [random, by_turns, adversarial, deep] = self.streams_by_kind();
        random + by_turns + adversarial + deep
    }

    /// The same by kind: random ones, those by turns on two engines, those made to hurt, long ones.
    pub fn streams_by_kind(&self) -> [u64; 4] {
        let deep = if self.deep > 0 { deep::SCENARIOS.len() } else { 0 };
        let shapes = SHAPES.len() as u64;
        let adversarial = (SCENARIOS.len() * self.depths.len()) as u64;
        [self.streams * shapes, self.streams_by_turns() * shapes, adversarial, deep as u64]
    }

    /// Random streams of each shape that two engines get by turns.
    fn streams_by_turns(&self) -> u64 {
        self.streams.div_ceil(10)
    }

    fn terms(&self) -> Terms {
        let Options { fixed_table, order, mpi_only, calls, .. } = *self;
        Terms { fixed_table, order, mpi_only, calls, ..Terms::default() }
    }
}

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

/// Plays all adversarial streams, the deep ones if they are wanted, and `options.streams` random ones of each shape, each on
/// a new engine; and some random ones on two that are there at once.
///
/// # Errors
/// The first violation, shrunk.
pub fn check(factory: Factory<'_>, options: &Options) -> Result<Report, Box<Violation>> {
    check_watched(factory, options, &mut |_, _| {})
}

/// The same; `each` is told before every stream what was looked at so far, and what the stream is called.
///
/// # Errors
/// The first violation, shrunk.
pub fn check_watched(
    factory: Factory<'_>,
    options: &Options,
    each: &mut dyn FnMut(&Report, &str),
) -> Result<Report, Box<Violation>> {
    let mut report = Report::default();
    for scenario in SCENARIOS {
        for &depth in &options.depths {
            let name = format!("{}, {depth} entries", scenario.0);
            each(&report, &name);
            let events = adversarial::events(scenario, depth);
            report.take(check_events(factory, events, options.terms(), || name))?;
        }
    }
    let seeds = |stream: u64| {
        let first = options.seed.wrapping_add(stream * SHAPES.len() as u64);
        SHAPES.iter().zip(0..).map(move |(shape, number)| (first.wrapping_add(number), shape))
    };
    for stream in 0..options.streams {
        for (seed, (name, shape)) in seeds(stream) {
            let mut events = generate::stream(*shape, Choices::Seed(seed), options.events);
            let mut name = format!("{name}, seed {seed}");
            if stream % 2 == 1 {
                Disguise::new(seed).put_on(&mut events);
                name += ", disguised";
            }
            each(&report, &name);
            report.take(check_events(factory, events, options.terms(), || name))?;
        }
    }
    for stream in 0..options.streams_by_turns() {
        for (seed, (name, shape)) in seeds(stream) {
            let events = generate::stream(*shape, Choices::Seed(seed), options.events);
            let name = format!("{name}, seed {seed}, by turns on two engines");
            each(&report, &name);
            report.take(check_by_turns(factory, &events, options.terms(), &name))?;
        }
    }
    for (name, scenario) in deep::SCENARIOS.iter().filter(|_| options.deep > 0) {
        let name = format!("{name}, {} entries", options.deep);
        each(&report, &name);
        let fixed_table = options.fixed_table || options.deep_may_fill;
        let terms = Terms { fixed_table, ..options.terms() };
        report.take(check_events(factory, scenario(options.deep), terms, || name))?;
    }
    Ok(report)
}

impl Report {
    /// Of one stream.
    pub(crate) fn of(run: &Run) -> Self {
        let substitute = run.substitute.clone().map(|name| Substitute { name, streams: 1 });
        Report { streams: 1, events: run.played.len() as u64, matches: run.matches, substitute }
    }

    /// Adds a stream; if it broke a law, the violation learns of all that was played before it.
    fn take(&mut self, stream: Result<Report, Box<Violation>>) -> Result<(), Box<Violation>> {
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
