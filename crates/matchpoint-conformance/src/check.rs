//! All laws on one engine.

use matchpoint::Order;

use crate::adversarial::{self, SCENARIOS};
use crate::choices::Choices;
use crate::deep;
use crate::disguise::Disguise;
use crate::generate::{self, SHAPES};
use crate::played::{Factory, Report, Violation, check_events};
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
