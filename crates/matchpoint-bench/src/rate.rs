//! The message-rate benchmark of the optimistic paper (§VI) without its network. The time ends when the last of k
//! messages is matched and delivered.
//!
//! A sequence posts receives, untimed, and then delivers messages in windows. Each matched message costs protocol work
//! in the delivering thread. All engines run all scenarios in turn.

use std::hint::black_box;
use std::time::{Duration, Instant};

use matchpoint::engines::{self, NameError, REGISTRY};
use matchpoint::{
    ContextId, Engine, Envelope, Message, MsgId, Rank, Receive, RecvId, Refused, Selector, Tag, Wild,
};
use serde::{Serialize, Serializer};

use crate::cold::Flush;
use crate::measure::Progress;
use crate::statistics::RateSpread;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scenario {
    /// Every receive has another source and tag (NC in the paper).
    NoConflict,
    /// All receives are duplicates, posted one after the other (WC-FP in the paper).
    FastPath,
    /// Another receive is posted and matched between any two duplicates, so no run of compatible receives exists (WC-SP
    /// in the paper).
    SlowPath,
    /// Receives alternate between one source and any source. Not in the paper.
    Wildcards,
}

impl Scenario {
    pub const ALL: [Scenario; 4] =
        [Scenario::NoConflict, Scenario::FastPath, Scenario::SlowPath, Scenario::Wildcards];

    pub fn name(self) -> &'static str {
        match self {
            Scenario::NoConflict => "no_conflict",
            Scenario::FastPath => "fast_path",
            Scenario::SlowPath => "slow_path",
            Scenario::Wildcards => "wildcards",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Scenario::NoConflict => "no conflict",
            Scenario::FastPath => "conflict, fast path",
            Scenario::SlowPath => "conflict, slow path",
            Scenario::Wildcards => "conflict, wildcards",
        }
    }

    fn envelope(self, number: usize) -> Envelope {
        match self {
            Scenario::NoConflict => Envelope::new(CONTEXT, Rank(number as u32), Tag(number as u64)),
            _ => Envelope::new(CONTEXT, Rank(7), Tag(7)),
        }
    }

    fn selector(self, number: usize) -> Selector {
        match self {
            Scenario::Wildcards if number % 2 == 1 => Selector::new(CONTEXT, Wild::Any, Wild::Is(Tag(7))),
            _ => Selector::exactly(&self.envelope(number)),
        }
    }

    pub(crate) fn messages(self, count: usize) -> Vec<Message> {
        (0..count).map(|number| Message::new(MsgId(number as u64), self.envelope(number))).collect()
    }

    pub(crate) fn post(self, engine: &mut dyn Engine, count: usize) -> Result<bool, Refused> {
        let mut right = true;
        for number in 0..count {
            let receive = Receive::new(RecvId(number as u64), self.selector(number));
            right &= engine.post(receive)?.is_none();
            if self == Scenario::SlowPath {
                let between = Envelope::new(CONTEXT, Rank(7), Tag(8));
                right &= engine.post(Receive::new(BETWEEN, Selector::exactly(&between)))?.is_none();
                right &= engine.arrive_message(Message::new(MsgId(u64::MAX), between))? == Some(BETWEEN);
            }
        }
        Ok(right)
    }
}

const CONTEXT: ContextId = ContextId(0);

#[derive(Clone, Debug, Serialize)]
pub struct RateOptions {
    /// An engine without the parameter `threads` is measured with each of `threads`.
    #[serde(skip)]
    pub engines: Vec<String>,
    #[serde(skip)]
    pub threads: Vec<usize>,
    #[serde(skip)]
    pub windows: Vec<usize>,
    #[serde(skip)]
    pub work_ns: Vec<u32>,
    #[serde(skip)]
    pub scenarios: Vec<Scenario>,
    /// Messages of a sequence, k in the paper. Larger windows have a multiple.
    pub messages: usize,
    /// Sequences of a repetition. Larger windows have fewer.
    pub repeats: usize,
    pub cold: bool,
    pub depth: usize,
    pub repetitions: usize,
}

impl RateOptions {
    /// Maximum number of threads of the engines. `None`: no engine has threads.
    pub fn threads_most(&self) -> Option<usize> {
        names(&self.engines, &self.threads).into_iter().filter_map(|(_, threads)| threads).max()
    }

    pub fn messages_in(&self, window: usize) -> usize {
        self.messages * self.times(window)
    }

    fn repeats_in(&self, window: usize) -> usize {
        (self.repeats / self.times(window)).max(1)
    }

    fn times(&self, window: usize) -> usize {
        (window / self.messages.max(1)).max(1)
    }
}

/// Name of the measurement without an engine, which is only protocol work.
pub const NO_MATCHING: &str = "none";

#[derive(Clone, Debug, Serialize)]
pub struct Rates {
    #[serde(flatten)]
    pub options: RateOptions,
    pub processors: usize,
    /// By window, then work, then scenario, then engine.
    pub rates: Vec<Rate>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Rate {
    pub window: usize,
    pub messages: usize,
    pub work_ns: u32,
    pub scenario: Scenario,
    /// Name of the engine without its threads.
    pub engine: String,
    /// The engine that replaced this engine ([`Engine::substitute`]).
    pub substitute: Option<String>,
    /// Value of the parameter `threads`, if the engine has the parameter.
    pub threads: Option<usize>,
    #[serde(flatten)]
    pub rate: RateSpread,
    pub samples: usize,
    /// Statistics of an engine with threads, per message of the timed sequences.
    #[serde(rename = "per_message", serialize_with = "serialize_map")]
    pub counted: Vec<(&'static str, f64)>,
    /// The position at which the table was full. The rates are then unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
}

fn serialize_map<S: Serializer>(counted: &[(&'static str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counted.iter().copied())
}

/// Warm-up sequences, after which an adaptive engine has chosen its method.
pub(crate) const WARM: usize = 100;

/// Untimed start of each turn, in which the threads of this engine wake up.
const SETTLE: Duration = Duration::from_millis(3);

/// `None` if `progress` stopped the measurement.
pub fn rates(options: &RateOptions, progress: Progress<'_>) -> Result<Option<Rates>, NameError> {
    let step_ns = step_ns();
    let cells = options.windows.len() * options.work_ns.len() * options.scenarios.len();
    let mut rates = Vec::new();
    let mut done = 0;
    let mut flush = options.cold.then(Flush::new);
    for &window in &options.windows {
        for &work_ns in &options.work_ns {
            for &scenario in &options.scenarios {
                let mut cell = Cell { options, window, work_ns, scenario, step_ns, flush: flush.take() };
                let what = format!("window {window}, work {work_ns} ns, {}", scenario.title());
                let mut go_on = || progress(done, cells, &what);
                match cell.play(&mut go_on)? {
                    Some(row) => rates.extend(row),
                    None => return Ok(None),
                }
                flush = cell.flush;
                done += 1;
            }
        }
    }
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(Some(Rates { options: options.clone(), processors, rates }))
}

fn names(engines: &[String], threads: &[usize]) -> Vec<(String, Option<usize>)> {
    let mut names = Vec::new();
    for engine in engines {
        let (bare, given) = engine.split_once(':').unwrap_or((engine, ""));
        let spec = REGISTRY.iter().find(|spec| spec.name == bare);
        let has = spec.is_some_and(|spec| spec.parameters.iter().any(|parameter| parameter.key == "threads"));
        let (own, others): (Vec<&str>, Vec<&str>) =
            given.split(',').filter(|part| !part.is_empty()).partition(|part| part.starts_with("threads="));
        let own = own.first().and_then(|part| part["threads=".len()..].parse().ok());
        match own {
            Some(threads) if others.is_empty() => names.push((bare.to_owned(), Some(threads))),
            Some(threads) => names.push((format!("{bare}:{}", others.join(",")), Some(threads))),
            None if has => names.extend(threads.iter().map(|&threads| (engine.clone(), Some(threads)))),
            None => names.push((engine.clone(), None)),
        }
    }
    names
}

fn with_threads(name: &str, threads: Option<usize>) -> String {
    match threads {
        None => name.to_owned(),
        Some(threads) if name.contains(':') => format!("{name},threads={threads}"),
        Some(threads) => format!("{name}:threads={threads}"),
    }
}

struct Cell<'a> {
    options: &'a RateOptions,
    window: usize,
    work_ns: u32,
    scenario: Scenario,
    step_ns: f64,
    flush: Option<Flush>,
}

impl Cell<'_> {
    fn play(&mut self, go_on: &mut dyn FnMut() -> bool) -> Result<Option<Vec<Rate>>, NameError> {
        let steps = (f64::from(self.work_ns) / self.step_ns).round() as u32;
        let mut candidates = Vec::new();
        for (name, threads) in names(&self.options.engines, &self.options.threads) {
            candidates.push(MeasuredEngine::enter(self, name, threads, steps)?);
        }
        for candidate in &mut candidates {
            if !go_on() {
                return Ok(None);
            }
            (0..WARM).for_each(|_| {
                candidate.sequence(self);
            });
        }
        for repetition in 0..self.options.repetitions {
            for turn in 0..candidates.len() {
                let at = (turn + repetition) % candidates.len();
                candidates[at].repeat(self);
            }
            if !go_on() {
                return Ok(None);
            }
        }
        Ok(Some(candidates.into_iter().map(|candidate| candidate.rate(self)).collect()))
    }
}

struct MeasuredEngine {
    name: String,
    threads: Option<usize>,
    engine: Option<Box<dyn Engine>>,
    messages: Vec<Message>,
    steps: u32,
    out: Vec<Option<RecvId>>,
    /// Million messages per second, by repetition.
    samples: Vec<f64>,
    counts: Vec<(&'static str, f64)>,
    full: Option<String>,
    wrong: Option<String>,
}

impl MeasuredEngine {
    fn enter(cell: &Cell<'_>, name: String, threads: Option<usize>, steps: u32) -> Result<Self, NameError> {
        let mut engine = match name.as_str() {
            NO_MATCHING => None,
            name => Some(engines::create(&with_threads(name, threads))?),
        };
        let posted =
            engine.as_mut().map_or(Ok(()), |engine| post_unmatched(&mut **engine, cell.options.depth));
        let mut candidate = MeasuredEngine {
            name,
            threads,
            engine,
            messages: cell.scenario.messages(cell.options.messages_in(cell.window)),
            steps,
            out: Vec::with_capacity(cell.options.messages_in(cell.window)),
            samples: Vec::new(),
            counts: Vec::new(),
            full: None,
            wrong: None,
        };
        if let Err(refused) = posted {
            candidate.refuse(refused);
        }
        Ok(candidate)
    }

    fn refuse(&mut self, refused: Refused) {
        let what = match refused {
            Refused::Full => &mut self.full,
            Refused::Hint | Refused::Memory => &mut self.wrong,
        };
        what.get_or_insert(format!("a call was refused: {refused}"));
    }

    fn counted(&self) -> Vec<(&'static str, f64)> {
        let engine = self.engine.as_ref().filter(|_| self.threads.is_some());
        engine.map(|engine| engine.statistics()).unwrap_or_default()
    }

    fn repeat(&mut self, cell: &mut Cell<'_>) {
        let began = Instant::now();
        while began.elapsed() < SETTLE && self.full.is_none() {
            self.sequence(cell);
        }
        if self.full.is_some() {
            return;
        }
        let before = self.counted();
        let repeats = cell.options.repeats_in(cell.window);
        let took: Duration = (0..repeats).map(|_| self.sequence(cell)).sum();
        self.count(&before);
        let messages = (repeats * self.messages.len()) as f64;
        self.samples.push(messages / (took.as_nanos().max(1) as f64 / 1e3));
    }

    fn count(&mut self, before: &[(&'static str, f64)]) {
        let after = self.counted();
        self.counts.resize_with(after.len(), || ("", 0.0));
        for ((sum, (name, after)), (_, before)) in self.counts.iter_mut().zip(after).zip(before) {
            *sum = (name, sum.1 + after - before);
        }
    }

    fn sequence(&mut self, cell: &mut Cell<'_>) -> Duration {
        let steps = self.steps;
        let deliver = move |_: usize, receive: RecvId| work(steps, receive.0);
        let Some(engine) = &mut self.engine else {
            flush(cell);
            let started = Instant::now();
            for window in black_box(&self.messages).chunks(cell.window) {
                for message in window {
                    black_box(&deliver as &matchpoint::Deliver<'_>)(0, RecvId(black_box(message).id.0));
                }
            }
            return started.elapsed();
        };
        let posted = cell.scenario.post(&mut **engine, self.messages.len());
        self.out.clear();
        flush(cell);
        let started = Instant::now();
        let windows = self.messages.chunks(cell.window);
        let delivered = posted.and_then(|right| {
            for window in windows {
                engine.deliver_batch(window, &mut self.out, &deliver)?;
            }
            Ok(right)
        });
        let took = started.elapsed();
        let right = match delivered {
            Ok(right) => right && is_in_order(&self.out, self.messages.len()),
            Err(refused) => {
                self.refuse(refused);
                return took;
            }
        };
        if !right {
            self.wrong.get_or_insert(format!("not message by message the receives in order: {:?}", self.out));
        }
        took
    }

    fn rate(mut self, cell: &Cell<'_>) -> Rate {
        let sequences = cell.options.repetitions * cell.options.repeats_in(cell.window);
        let messages = (sequences * self.messages.len()) as f64;
        let counted = self
            .counts
            .iter()
            .map(|(name, count)| (*name, count / messages))
            // `threads` is a column of the report.
            .filter(|(name, _)| *name != "threads");
        Rate {
            window: cell.window,
            messages: self.messages.len(),
            work_ns: cell.work_ns,
            scenario: cell.scenario,
            rate: RateSpread::of(&mut self.samples, self.full.is_none()),
            samples: self.samples.len(),
            engine: self.name,
            substitute: self.engine.as_ref().and_then(|engine| engine.substitute()).map(str::to_owned),
            threads: self.threads,
            counted: counted.collect(),
            full: self.full,
            wrong: self.wrong,
        }
    }
}

fn post_unmatched(engine: &mut dyn Engine, depth: usize) -> Result<(), Refused> {
    for number in 0..depth as u64 {
        let (source, tag) = (Wild::Is(Rank(((1 << 20) + number) as u32)), Wild::Is(Tag(number)));
        engine.post(Receive::new(RecvId(UNMATCHED + number), Selector::new(CONTEXT, source, tag)))?;
    }
    Ok(())
}

pub(crate) fn is_in_order(outcomes: &[Option<RecvId>], messages: usize) -> bool {
    outcomes.iter().copied().eq((0..messages as u64).map(|number| Some(RecvId(number))))
}

const UNMATCHED: u64 = 1 << 40;

/// Id of the receive that ends a run of compatible receives.
const BETWEEN: RecvId = RecvId(1 << 41);

fn flush(cell: &mut Cell<'_>) {
    if let Some(flush) = &mut cell.flush {
        flush.flush();
    }
}

thread_local! {
    static LAST: std::cell::Cell<u64> = const { std::cell::Cell::new(1) };
}

/// Dependent multiplications, which start with the result of the previous work. Otherwise a processor would overlap the
/// work of several messages.
#[inline(never)]
fn work(steps: u32, seed: u64) {
    if steps == 0 {
        black_box(seed);
        return;
    }
    LAST.with(|last| {
        let mut value = last.get() ^ seed | 1;
        for _ in 0..steps {
            value = value.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x55;
        }
        last.set(value);
    });
}

fn step_ns() -> f64 {
    const STEPS: u32 = 1_000_000;
    let times = (0..7).map(|_| {
        let started = Instant::now();
        work(black_box(STEPS), 1);
        started.elapsed().as_nanos() as f64 / f64::from(STEPS)
    });
    times.fold(f64::MAX, f64::min).max(1e-3)
}

/// Figure 8 of the paper: BlueField-3 with RDMA traffic, window 128.
pub mod published {
    /// Medians of the data published with the paper: name, and million messages per second by number of threads.
    pub const LINES: [(&str, &[(usize, f64)]); 3] = [
        ("no conflict", &[(1, 0.51), (2, 0.94), (4, 1.71), (8, 2.99), (16, 4.02), (32, 4.79)]),
        ("conflict, fast path", &[(1, 0.51), (2, 0.85), (4, 1.47), (8, 1.20), (16, 1.92), (32, 2.55)]),
        ("conflict, slow path", &[(1, 0.51), (2, 0.78), (4, 1.01), (8, 1.16), (16, 1.12), (32, 1.09)]),
    ];

    /// Reference values on the host's processor.
    pub const CONTROLS: [(&str, f64); 2] = [("MPI on the host", 6.12), ("no matching", 7.00)];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_count_follows_engine_name() {
        let engines =
            ["list", "optimistic_parallel", "optimistic_parallel:threads=8,by=order"].map(str::to_owned);
        let named = names(&engines, &[1, 2]);
        let named: Vec<(&str, Option<usize>)> =
            named.iter().map(|(name, threads)| (&**name, *threads)).collect();
        let expected = [
            ("list", None),
            ("optimistic_parallel", Some(1)),
            ("optimistic_parallel", Some(2)),
            ("optimistic_parallel:by=order", Some(8)),
        ];
        assert_eq!(named, expected);
        for (name, threads) in named {
            assert!(engines::create(&with_threads(name, threads)).is_ok(), "{name}");
        }
    }
}
