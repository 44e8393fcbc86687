//! Latency of single engine calls: while queues grow to millions of entries, at the first use of a wildcard class, and
//! while queues become empty.
//!
//! The time of a call is its minimum over several runs of a scenario, each with a new engine. The work of the engine
//! repeats, and interruptions do not.

use std::time::{Duration, Instant};

use matchpoint::Engine;
use matchpoint::engines::{self, NameError};

use crate::budget::{Stopwatch, format_duration};
use crate::measure::is_strict;
use crate::model::Model;
use crate::player;
use crate::random::shuffled;
use crate::script::{ANY, EngineCall, Key, NONE, Phase};
use crate::statistics::percentile;

#[derive(Clone, Debug)]
pub struct LatencyOptions {
    pub engines: Vec<String>,
    pub entries: usize,
    pub repetitions: usize,
    /// Time limit of an engine for one stage.
    pub budget: Duration,
}

#[derive(Clone, Debug)]
pub struct Latencies {
    pub entries: usize,
    pub repetitions: usize,
    /// Nanoseconds of two clock reads, subtracted from every time.
    pub clock_ns: f64,
    /// The loop without an engine: clock reads and interruptions.
    pub nothing: Percentiles,
    pub engines: Vec<EngineLatency>,
}

#[derive(Clone, Debug)]
pub struct EngineLatency {
    pub engine: String,
    /// The engine that replaced this engine ([`Engine::substitute`]).
    pub substitute: Option<String>,
    pub all: Percentiles,
    pub stages: Vec<Stage>,
}

#[derive(Clone, Debug)]
pub struct Stage {
    pub what: &'static str,
    pub percentiles: Percentiles,
    /// Reason for an early end. `percentiles` then has the calls before the end.
    pub ended: Option<StageEnd>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StageEnd {
    /// An earlier stage is incomplete.
    NotReached,
    /// The time limit was exceeded, at this position.
    GivenUp(String),
    /// The table was full, at this position.
    Full(String),
    /// A result differs, as the engine's order or demands permit.
    Differs(String),
    Wrong(String),
}

/// Percentiles in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    pub calls: usize,
    pub p50_ns: u32,
    pub p99_ns: u32,
    pub p9999_ns: u32,
    pub max_ns: u32,
    /// `p9999_ns` of the first repetition, with its interruptions.
    pub p9999_once_ns: u32,
}

impl Percentiles {
    fn of(mut shortest: Vec<u32>, mut once: Vec<u32>) -> Self {
        shortest.sort_unstable();
        once.sort_unstable();
        Percentiles {
            calls: shortest.len(),
            p50_ns: percentile(&shortest, 0.5),
            p99_ns: percentile(&shortest, 0.99),
            p9999_ns: percentile(&shortest, 0.9999),
            max_ns: percentile(&shortest, 1.0),
            p9999_once_ns: percentile(&once, 0.9999),
        }
    }
}

const SOURCES: usize = 1024;

const WILDCARD_CALLS: usize = 1000;

/// Number of probes without a match. From about this number on, engines no longer scan the whole queue.
const PROBES: usize = 64;

/// Calls between two checks of the time limit.
const STRIDE: usize = 1024;
const CHECKS: u32 = 8;

struct Planned {
    what: &'static str,
    phase: Phase,
    expected: Vec<u32>,
}

/// `None` if `go_on` returned false.
pub fn latency(
    options: &LatencyOptions,
    go_on: &mut dyn FnMut(usize, usize, &str) -> bool,
) -> Result<Option<Latencies>, NameError> {
    for engine in &options.engines {
        engines::create(engine)?;
    }
    let scenarios = [
        arrivals_first(options.entries),
        posts_first(options.entries),
        probes_without_match(options.entries),
    ];
    let clock_ns = crate::cold::clock_ns();
    let mut engines = Vec::new();
    for (done, name) in options.engines.iter().enumerate() {
        if !go_on(done, options.engines.len(), name) {
            return Ok(None);
        }
        let mut stages = Vec::new();
        let (mut all, mut all_once, mut substitute) = (Vec::new(), Vec::new(), None);
        for scenario in &scenarios {
            for (stage, times) in measured(name, scenario, options, clock_ns, &mut substitute)? {
                if stage.ended.is_none() {
                    all.extend(times.shortest);
                    all_once.extend(times.once);
                }
                stages.push(stage);
            }
        }
        let (engine, all) = (name.clone(), Percentiles::of(all, all_once));
        engines.push(EngineLatency { engine, substitute, all, stages });
    }
    Ok(Some(Latencies {
        entries: options.entries,
        repetitions: options.repetitions,
        clock_ns,
        nothing: nothing(options, clock_ns),
        engines,
    }))
}

fn key(at: usize) -> Key {
    Key::new(at % SOURCES, at / SOURCES)
}

fn arrivals_first(entries: usize) -> Vec<Planned> {
    let mut plan = Plan::default();
    let few = WILDCARD_CALLS.min(entries / 8);
    let tags = entries.div_ceil(SOURCES);
    plan.add("messages arrive, none expected", Phase::arrivals((0..entries).map(key).collect(), 0));
    let open = |source, tag| Key { source, tag };
    let sources = (0..few).map(|at| open(ANY, (at % tags) as u32)).collect();
    plan.add("the first receives from any source", Phase::posts(sources, 0));
    // With few tags, the first sources have no messages left.
    let last = SOURCES.min(entries) - 1;
    let any_tag = (0..few).map(|at| open((last - at) as u32, ANY)).collect();
    plan.add("the first receives with any tag", Phase::posts(any_tag, few));
    plan.add(
        "the first receives from any source with any tag",
        Phase::posts(vec![open(ANY, ANY); few], 2 * few),
    );
    let rest = shuffled(plan.model.messages());
    plan.add("the rest is received in random order", Phase::posts(rest, 3 * few));
    plan.stages
}

fn posts_first(entries: usize) -> Vec<Planned> {
    let mut plan = Plan::default();
    let few = WILDCARD_CALLS.min(entries / 8);
    plan.add("receives are posted", Phase::posts((0..entries).map(key).collect(), 0));
    // No other receive has these tags, so every message matches its receive.
    let tag = |at: usize| (entries + at) as u32;
    let any_source: Vec<Key> = (0..few).map(|at| Key { source: ANY, tag: tag(at) }).collect();
    plan.add("the first receives from any source are posted", Phase::posts(any_source, entries));
    let any_tag = (0..few).map(|at| Key { source: (SOURCES + at) as u32, tag: ANY }).collect();
    plan.add("the first receives with any tag are posted", Phase::posts(any_tag, entries + few));
    plan.cancel("receives are cancelled", entries, few);
    let mut messages = plan.model.receives();
    for (at, message) in messages.iter_mut().enumerate() {
        message.source = if message.source == ANY { (at % SOURCES) as u32 } else { message.source };
        message.tag = if message.tag == ANY { 7 } else { message.tag };
    }
    plan.add("messages arrive in random order", Phase::arrivals(shuffled(messages), 0));
    plan.stages
}

fn probes_without_match(entries: usize) -> Vec<Planned> {
    let mut plan = Plan::default();
    let arrivals = Phase::arrivals((0..entries).map(key).collect(), 0);
    plan.add("messages arrive anew, none expected", arrivals);
    let unmatched = |at: usize| Key { source: ANY, tag: (entries + at) as u32 };
    let probes = (0..PROBES).map(|at| EngineCall::Probe(unmatched(at).selector())).collect();
    let what = "the first probes from any source find nothing";
    plan.stages.push(Planned { what, phase: Phase::EngineCalls(probes), expected: vec![NONE; PROBES] });
    plan.stages
}

#[derive(Default)]
struct Plan {
    model: Model,
    stages: Vec<Planned>,
}

impl Plan {
    fn add(&mut self, what: &'static str, phase: Phase) {
        let mut expected = Vec::new();
        self.model.play(&phase, &mut expected);
        self.stages.push(Planned { what, phase, expected });
    }

    /// Evenly spaced.
    fn cancel(&mut self, what: &'static str, entries: usize, few: usize) {
        let ids: Vec<u32> = (0..few).map(|at| (at * (entries / few)) as u32).collect();
        self.model.cancel_all(ids.iter().map(|&id| (id, key(id as usize))));
        let calls = ids.iter().map(|&id| EngineCall::Cancel(id, key(id as usize).selector())).collect();
        self.stages.push(Planned { what, phase: Phase::EngineCalls(calls), expected: vec![0; few] });
    }
}

#[derive(Clone, Default)]
struct Times {
    shortest: Vec<u32>,
    once: Vec<u32>,
}

impl Times {
    fn add(&mut self, repetition: Vec<u32>) {
        if self.once.is_empty() {
            self.shortest.clone_from(&repetition);
            self.once = repetition;
        } else {
            let shortest = self.shortest.iter_mut().zip(repetition);
            shortest.for_each(|(shortest, time)| *shortest = time.min(*shortest));
        }
    }
}

fn measured(
    name: &str,
    scenario: &[Planned],
    options: &LatencyOptions,
    clock_ns: f64,
    substitute: &mut Option<String>,
) -> Result<Vec<(Stage, Times)>, NameError> {
    let mut stages: Vec<(Option<StageEnd>, Times)> = vec![(None, Times::default()); scenario.len()];
    let mut times = Vec::new();
    for _ in 0..options.repetitions.max(1) {
        let mut engine = engines::create(name)?;
        for (planned, (ended, kept)) in scenario.iter().zip(&mut stages) {
            // The stage ended early in a previous repetition, so later stages are not reached.
            if ended.is_some() {
                break;
            }
            let why = timed(&mut *engine, planned, options.budget, &mut times);
            kept.add(times.iter().map(|&time| (f64::from(time) - clock_ns).max(0.0) as u32).collect());
            if why.is_some() {
                *ended = why;
                break;
            }
        }
        if substitute.is_none() {
            *substitute = engine.substitute().map(str::to_owned);
        }
    }
    Ok(scenario.iter().zip(stages).map(|(planned, (ended, times))| stage(planned, ended, times)).collect())
}

fn stage(planned: &Planned, ended: Option<StageEnd>, times: Times) -> (Stage, Times) {
    let ended = ended.or_else(|| times.once.is_empty().then_some(StageEnd::NotReached));
    let percentiles = Percentiles::of(times.shortest.clone(), times.once.clone());
    (Stage { what: planned.what, percentiles, ended }, times)
}

fn timed(
    engine: &mut dyn Engine,
    planned: &Planned,
    budget: Duration,
    times: &mut Vec<u32>,
) -> Option<StageEnd> {
    let calls = planned.phase.calls();
    times.clear();
    times.resize(calls, 0);
    let spent = Stopwatch::start();
    let (mut sum_elapsed, mut look_at) = (Duration::ZERO, budget);
    for at in 0..calls {
        let started = Instant::now();
        let sum = player::step(engine, &planned.phase, at);
        let elapsed = started.elapsed();
        sum_elapsed += elapsed;
        times[at] = u32::try_from(elapsed.as_nanos()).unwrap_or(u32::MAX);
        if sum == player::FULL {
            // A refusal costs less than the refused work, so its time is not kept.
            times.truncate(at);
            return Some(StageEnd::Full(format!("after {at} of {calls} calls")));
        }
        if let Some(what) = player::mismatch(at, player::result_of(sum), planned.expected[at]) {
            times.truncate(at + 1);
            return Some(if is_strict(engine) { StageEnd::Wrong(what) } else { StageEnd::Differs(what) });
        }
        if at + 1 < calls && (at % STRIDE == 0 || sum_elapsed > look_at) {
            look_at = sum_elapsed + budget / CHECKS;
            if let Some(spent) = spent.exceeding(budget) {
                times.truncate(at + 1);
                let why = format!("{} of {calls} calls in {}", at + 1, format_duration(spent));
                return Some(StageEnd::GivenUp(why));
            }
        }
    }
    None
}

fn nothing(options: &LatencyOptions, clock_ns: f64) -> Percentiles {
    let mut times = Times::default();
    for _ in 0..options.repetitions.max(1) {
        let elapsed_ns = || Instant::now().elapsed().as_nanos() as f64;
        times.add((0..4 * options.entries).map(|_| (elapsed_ns() - clock_ns).max(0.0) as u32).collect());
    }
    Percentiles::of(times.shortest, times.once)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::Floor;

    #[test]
    fn wrong_result_ends_stage() {
        let mut times = Vec::new();
        let ended =
            timed(&mut Floor::default(), &arrivals_first(1000)[0], Duration::from_secs(60), &mut times);
        assert_eq!(ended, Some(StageEnd::Wrong("call 0 found number 0, not nothing".to_owned())));
        assert_eq!(times.len(), 1);
    }
}
