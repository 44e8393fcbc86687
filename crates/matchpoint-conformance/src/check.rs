//! Check of all laws on one engine.

use matchpoint::Order;

use crate::adversarial::{self, SCENARIOS};
use crate::choices::Choices;
use crate::deep;
use crate::generate::{self, SHAPES};
use crate::interleave::check_interleaved;
use crate::relabel::Relabelling;
use crate::report::{Factory, Report, Violation, check_events};
use crate::terms::{OptionalCalls, Terms};

/// Size of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The same seed gives the same streams.
    pub seed: u64,
    /// Random streams of each shape. Every second stream is [relabelled](Relabelling). A tenth of the
    /// streams, rounded up, also runs interleaved on two engines.
    pub streams: u64,
    /// Events of a random stream.
    pub events: usize,
    /// Queue lengths: each adversarial stream runs once with each length.
    pub depths: Vec<u64>,
    /// Queue length of the [deep] streams, or 0 without them.
    pub deep: u64,
    /// The engine may refuse entries of deep streams with [`Refused::Full`](matchpoint::Refused::Full).
    pub deep_may_fill: bool,
    /// The engine has a table of fixed size and may refuse entries with
    /// [`Refused::Full`](matchpoint::Refused::Full).
    pub fixed_table: bool,
    /// Required order. By default the order that the engine promises.
    pub order: Option<Order>,
    /// Only run events that an MPI program can cause: see [`is_mpi`](crate::is_mpi).
    pub mpi_only: bool,
    pub calls: OptionalCalls,
}

impl Options {
    /// A check of about one second.
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
            calls: OptionalCalls::default(),
        }
    }

    pub fn streams_total(&self) -> u64 {
        let [random, interleaved, adversarial, deep] = self.streams_by_kind();
        random + interleaved + adversarial + deep
    }

    /// Numbers of random, interleaved, adversarial and deep streams.
    pub fn streams_by_kind(&self) -> [u64; 4] {
        let deep = if self.deep > 0 { deep::SCENARIOS.len() } else { 0 };
        let shapes = SHAPES.len() as u64;
        let adversarial = (SCENARIOS.len() * self.depths.len()) as u64;
        [self.streams * shapes, self.interleaved_streams() * shapes, adversarial, deep as u64]
    }

    fn interleaved_streams(&self) -> u64 {
        self.streams.div_ceil(10)
    }

    fn terms(&self) -> Terms {
        let Options { fixed_table, order, mpi_only, calls, .. } = *self;
        Terms { fixed_table, order, mpi_only, calls, ..Terms::default() }
    }
}

/// Runs adversarial, random, interleaved and deep streams, each on a new engine.
///
/// # Errors
/// The first violation, shrunk.
pub fn check(factory: Factory<'_>, options: &Options) -> Result<Report, Box<Violation>> {
    check_watched(factory, options, &mut |_, _| {})
}

/// As [`check`]. Before each stream, calls `each` with the report so far and the name of the stream.
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
                Relabelling::new(seed).apply(&mut events);
                name += ", relabelled";
            }
            each(&report, &name);
            report.take(check_events(factory, events, options.terms(), || name))?;
        }
    }
    for stream in 0..options.interleaved_streams() {
        for (seed, (name, shape)) in seeds(stream) {
            let events = generate::stream(*shape, Choices::Seed(seed), options.events);
            let name = format!("{name}, seed {seed}, interleaved on two engines");
            each(&report, &name);
            report.take(check_interleaved(factory, &events, options.terms(), &name))?;
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
