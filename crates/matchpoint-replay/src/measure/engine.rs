//! Measurement of one engine at all ranks: attempts, times and limits.

use std::time::Duration;

use matchpoint::engines::{self, NameError};
use matchpoint::wrap::Counted;
use matchpoint::wrap::counted::{Counts, QueueCounts};
use matchpoint::{Engine, Refused};

use super::calls::CallCosts;
use super::clock::{Elapsed, Stopwatch};
use super::cold::{PhaseCounts, Sample, Surcharge};
use super::play::{
    StepResult, attempts, compared, counting_ns, execute_step, expected_result, loaded_bytes, time,
    time_counted,
};
use super::warm::{RecentTime, Timing};
use crate::batch::SortedChunk;
use crate::budget::{self, StopReason};
use crate::measurements::{
    EngineAtRank, EngineMeasurements, QueueMeasurements, SearchCounts, Statistic, Substitute,
};
use crate::observer::{RankObserver, SearchTotals};
use crate::step::{Kind, Step};

/// The shortest repetition of a burst counts, because host load only lengthens its time.
pub(super) const REPETITIONS: usize = 3;

const BURSTS_PER_UPDATE: u64 = 8;

pub(crate) struct MeasuredEngine {
    name: String,
    expected_substitute: Option<String>,
    world: u32,
    is_first: bool,
    instance_count: InstanceCount,
    ranks: Vec<RankEngine>,
    empty_bytes: u64,
    /// Bytes with one receive and one message, because some engines allocate their tables late.
    loaded_bytes: u64,
    disagreements: u64,
    pub repeating: Duration,
    spent: Duration,
    pub memory_bytes: u64,
    /// Number of steps that one instance measured and counted.
    timed_counting: u64,
    counting_ns: Option<f64>,
    results: Vec<StepResult>,
    pub stopped: Option<StopReason>,
    warm: Timing,
    cold: Vec<Sample>,
    pub spread: RepetitionSpread,
    /// For the first engine, by [`Step::site`]: searches of the posted queue, and of the unexpected queue.
    pub sites: Vec<(SearchCounts, SearchCounts)>,
    pub costs: Option<CallCosts>,
}

/// Number of instances at each rank: a counting instance and [`timed`](Self::timed) other instances. With
/// `One`, the counting instance is also timed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InstanceCount {
    Repeated,
    Two,
    One,
}

impl InstanceCount {
    pub fn timed(self) -> usize {
        match self {
            InstanceCount::Repeated => REPETITIONS,
            InstanceCount::Two => 1,
            InstanceCount::One => 0,
        }
    }
}

#[derive(Clone, Copy, Default)]
pub(crate) struct RepetitionSpread {
    pub shortest_ns: f64,
    pub median_ns: f64,
    pub bursts: u64,
    pub interrupted: u64,
}

#[derive(Default)]
struct RankEngine {
    instances: Option<EngineInstances>,
    counts: Option<Box<Counts>>,
    statistics: Vec<(&'static str, f64)>,
    substitute: Option<String>,
    bytes: u64,
    memory_bytes: u64,
    bursts: u64,
    warm: Timing,
    recent: RecentTime,
    steps: u64,
}

struct EngineInstances {
    counted: Counted,
    timed: Vec<Box<dyn Engine>>,
}

impl EngineInstances {
    fn new(name: &str, timed: usize) -> Result<Self, NameError> {
        let timed = (0..timed).map(|_| engines::create(name)).collect::<Result<_, _>>()?;
        Ok(EngineInstances { counted: Counted::new(engines::create_counting(name)?), timed })
    }

    fn substitute(&self) -> Option<&str> {
        let timed = || self.timed.iter().find_map(|engine| engine.substitute());
        self.counted.substitute().or_else(timed)
    }

    fn memory_bytes(&self) -> u64 {
        (self.counted.footprint().now_bytes() - COUNTS_BYTES) * (1 + self.timed.len() as u64)
    }
}

const COUNTS_BYTES: u64 = size_of::<Counted>() as u64;

impl MeasuredEngine {
    /// The instance of a rank is created at its first step, because the name may depend on the rank.
    pub fn new(name: &str, is_first: bool, present: &[u32], world: u32) -> Result<Self, NameError> {
        let at = |rank: u32| engines::at_process(name, rank.into(), world.into());
        let mut probe = engines::create(&at(present.first().copied().unwrap_or(0)))?;
        for own in present.iter().skip(1).map(|&rank| at(rank)).take_while(|own| *own != name) {
            engines::create(&own)?;
        }
        let (expected_substitute, empty_bytes) =
            (probe.substitute().map(str::to_owned), probe.footprint().peak_bytes);
        Ok(MeasuredEngine {
            name: name.to_owned(),
            expected_substitute,
            world,
            is_first,
            instance_count: InstanceCount::Repeated,
            ranks: present.iter().map(|_| RankEngine::default()).collect(),
            empty_bytes,
            loaded_bytes: loaded_bytes(&mut *probe),
            disagreements: 0,
            repeating: Duration::ZERO,
            spent: Duration::ZERO,
            memory_bytes: 0,
            timed_counting: 0,
            counting_ns: None,
            results: Vec::new(),
            stopped: None,
            warm: Timing::default(),
            cold: Vec::new(),
            spread: RepetitionSpread::default(),
            sites: Vec::new(),
            costs: None,
        })
    }

    pub fn receive_call_ends(&mut self, chunk: &SortedChunk) {
        if let Some(costs) = &mut self.costs {
            costs.receive(chunk);
        }
    }

    pub fn play_warm(
        &mut self,
        process: usize,
        rank: u32,
        steps: &[Step],
        clock_ns: f64,
        stopwatch: &mut Stopwatch,
    ) -> Elapsed {
        let mut times = [f64::MAX; REPETITIONS];
        let mut played = 0;
        if !self.ensure_instance(process, rank) {
            return stopwatch.restart();
        } else if self.instance_count == InstanceCount::One {
            times[0] = self.time_counted(process, steps, clock_ns);
            played = 1;
        } else if self.count(process, steps) {
            let instances = self.ranks[process].instances.as_mut();
            for engine in instances.into_iter().flat_map(|instances| &mut instances.timed) {
                times[played] = time(&mut **engine, steps, clock_ns);
                played += 1;
            }
        }
        if self.stopped.is_some() {
            return stopwatch.restart();
        }
        let times = &mut times[..played];
        times.sort_by(f64::total_cmp);
        let elapsed = stopwatch.restart();
        self.add_warm(process, steps.len(), times, elapsed);
        self.add_spent_time(elapsed, played);
        elapsed
    }

    fn add_warm(&mut self, process: usize, steps: usize, times: &[f64], elapsed: Elapsed) {
        let Some(&shortest_ns) = times.first() else { return };
        let rank_engine = &mut self.ranks[process];
        let (ns, interrupted) =
            rank_engine.recent.filter_interrupted(shortest_ns, steps, elapsed.was_interrupted());
        rank_engine.warm.add(ns, steps);
        rank_engine.steps += steps as u64;
        self.warm.add(ns, steps);
        self.spread.bursts += 1;
        self.spread.interrupted += u64::from(interrupted || elapsed.was_interrupted());
        if times.len() == REPETITIONS {
            self.spread.shortest_ns += shortest_ns;
            self.spread.median_ns += times[REPETITIONS / 2];
        }
    }

    /// Returns false if the engine is stopped.
    pub fn prepare_cold(&mut self, process: usize, rank: u32, steps: &[Step]) -> bool {
        self.ensure_instance(process, rank)
            && (self.instance_count == InstanceCount::One || self.count(process, steps))
    }

    pub fn play_cold(&mut self, process: usize, steps: &[Step], clock_ns: f64) {
        if self.stopped.is_some() {
            return;
        }
        let mut stopwatch = Stopwatch::start();
        let mut timed = match &mut self.ranks[process].instances {
            Some(instances) => instances.timed.iter_mut(),
            None => return,
        };
        let ns = timed.next().map(|engine| time(&mut **engine, steps, clock_ns));
        let was_interrupted = stopwatch.restart().was_interrupted();
        for engine in timed {
            time(&mut **engine, steps, clock_ns);
        }
        let (ns, was_interrupted) = match ns {
            Some(ns) => (ns, was_interrupted),
            None => (self.time_counted(process, steps, clock_ns), stopwatch.restart().was_interrupted()),
        };
        if self.stopped.is_some() {
            return;
        }
        let rank_engine = &mut self.ranks[process];
        rank_engine.steps += steps.len() as u64;
        // A phase lasts microseconds, so an interruption would dominate its time.
        if !was_interrupted {
            self.cold.push(Sample { process: process as u32, steps: steps.len() as u32, ns });
        }
    }

    fn ensure_instance(&mut self, process: usize, rank: u32) -> bool {
        if self.stopped.is_none() && self.ranks[process].instances.is_none() {
            let name = engines::at_process(&self.name, rank.into(), self.world.into());
            match EngineInstances::new(&name, self.instance_count.timed()) {
                Ok(instances) => self.ranks[process].instances = Some(instances),
                // A file of the engine's name has changed meanwhile.
                Err(_) => self.stop(StopReason::CreationFailed),
            }
        }
        self.stopped.is_none()
    }

    fn count(&mut self, process: usize, steps: &[Step]) -> bool {
        let Some(instances) = &mut self.ranks[process].instances else { return false };
        let mut before = compared(instances.counted.counts());
        for step in steps {
            let result = execute_step(&mut instances.counted, step);
            if self.is_first {
                let now = compared(instances.counted.counts());
                record_attempts(&mut self.sites, self.costs.as_mut(), process, step, now - before);
                before = now;
            }
            match result {
                // The caller would continue with another engine, so later results do not count.
                Err(Refused::Full) => {
                    self.stop(StopReason::Full);
                    return false;
                }
                result => self.disagreements += u64::from(result != Ok(expected_result(step))),
            }
        }
        true
    }

    fn time_counted(&mut self, process: usize, steps: &[Step], clock_ns: f64) -> f64 {
        let counting_ns = *self.counting_ns.get_or_insert_with(|| {
            let name = engines::at_process(&self.name, 0, self.world.into());
            counting_ns(&name, clock_ns).unwrap_or(0.0)
        });
        let Some(instances) = &mut self.ranks[process].instances else { return 0.0 };
        let mut before = compared(instances.counted.counts());
        let ns = time_counted(&mut instances.counted, steps, clock_ns, &mut self.results);
        self.timed_counting += steps.len() as u64;
        for (step, result) in steps.iter().zip(&self.results) {
            if self.is_first {
                record_attempts(
                    &mut self.sites,
                    self.costs.as_mut(),
                    process,
                    step,
                    result.attempts - before,
                );
            }
            before = result.attempts;
            if result.outcome == Err(Refused::Full) {
                self.stop(StopReason::Full);
                break;
            }
            self.disagreements += u64::from(result.outcome != Ok(expected_result(step)));
        }
        (ns - counting_ns * steps.len() as f64).max(0.0)
    }

    fn add_spent_time(&mut self, elapsed: Elapsed, played: usize) {
        self.spent += elapsed.cpu;
        if played > 1 {
            // Counting takes at least as long as a timed instance.
            self.repeating += elapsed.cpu * (played as u32 - 1) / (played as u32 + 1);
        }
    }

    pub fn update_memory(&mut self, process: usize) {
        let rank_engine = &mut self.ranks[process];
        rank_engine.bursts += 1;
        if self.stopped.is_none() && rank_engine.bursts % BURSTS_PER_UPDATE == 1 {
            let memory = rank_engine.instances.as_ref().map_or(0, EngineInstances::memory_bytes);
            self.memory_bytes = self.memory_bytes + memory - rank_engine.memory_bytes;
            rank_engine.memory_bytes = memory;
        }
    }

    /// Bytes of queued entries; zero if the engine's memory shrinks with use.
    pub fn queued_bytes(&self) -> u64 {
        let engines = self.ranks.iter().filter(|rank| rank.memory_bytes > 0).count()
            * (1 + self.instance_count.timed());
        self.memory_bytes.saturating_sub(self.loaded_bytes * engines as u64)
    }

    /// Bytes of all instances with one receive and one message at each rank.
    pub fn idle_bytes(&self, instance_count: InstanceCount) -> u64 {
        self.loaded_bytes * (self.ranks.len() * (1 + instance_count.timed())) as u64
    }

    /// Called after a burst, so that all instances are in the same state.
    pub fn apply_limits(&mut self, engines: usize, sampled: bool, passed: Duration) {
        if self.stopped.is_some() {
        } else if budget::is_too_large(self.memory_bytes, engines) && !self.is_first {
            self.stop(StopReason::Memory);
        } else if budget::is_used_up(self.spent, engines, passed)
            || sampled && !self.is_first && budget::is_sample_complete(self.spent, passed)
        {
            self.stop(StopReason::Time);
        }
    }

    pub fn set_instance_count(&mut self, instance_count: InstanceCount) {
        self.instance_count = instance_count;
        self.memory_bytes = 0;
        for rank_engine in &mut self.ranks {
            let Some(instances) = &mut rank_engine.instances else { continue };
            instances.timed.truncate(instance_count.timed());
            rank_engine.memory_bytes = instances.memory_bytes();
            self.memory_bytes += rank_engine.memory_bytes;
        }
    }

    fn substitute(&self) -> Option<Substitute> {
        let matched: Vec<&str> = self.ranks.iter().filter_map(RankEngine::substitute).collect();
        let of_ranks = self.ranks.iter().filter(|rank| rank.has_executed()).count() as u32;
        let expected = self.expected_substitute.as_deref().filter(|_| of_ranks == 0);
        let name = matched.first().copied().or(expected)?.to_owned();
        Some(Substitute { name, ranks: matched.len() as u32, of_ranks })
    }

    fn stop(&mut self, why: StopReason) {
        self.stopped = Some(why);
        self.ranks.iter_mut().for_each(RankEngine::retire);
    }

    pub fn measurements(&self, observers: &[RankObserver], phases: &[PhaseCounts]) -> EngineMeasurements {
        let ranks = self.at_ranks(observers, phases);
        let (mut posted, mut unexpected) = (QueueMeasurements::default(), QueueMeasurements::default());
        let (mut posted_searched, mut unexpected_searched) =
            (SearchTotals::default(), SearchTotals::default());
        for (rank, observer) in self.ranks.iter().zip(observers) {
            let counts = rank.counts();
            posted.add(&counts.posted, observer.posted.longest());
            unexpected.add(&counts.unexpected, observer.unexpected.longest());
            posted_searched += &observer.posted_searched;
            unexpected_searched += &observer.unexpected_searched;
        }
        let (posted, unexpected) = (posted.averaged(), unexpected.averaged());
        let searches = posted_searched.searches + unexpected_searched.searches;
        let sampled = (posted.searches + unexpected.searches) as f64 / searches.max(1) as f64;
        let (posted, unexpected) = if self.stopped.is_some() {
            (posted.extrapolated(&posted_searched), unexpected.extrapolated(&unexpected_searched))
        } else {
            (posted, unexpected)
        };
        let (unmatched_receives, unmatched_messages) = self.unmatched(observers);
        EngineMeasurements {
            name: self.name.clone(),
            substitute: self.substitute(),
            sampled: if self.stopped.is_some() { sampled } else { 1.0 },
            full: self.stopped == Some(StopReason::Full),
            too_large: self.stopped == Some(StopReason::Memory),
            match_ns: ranks.iter().map(|rank| rank.match_ns).sum(),
            match_cold_ns: ranks.iter().map(|rank| rank.match_cold_ns).sum(),
            matched: posted.hits + unexpected.hits,
            unmatched_receives,
            unmatched_messages,
            timed_counting: self.timed_counting as f64
                / self.ranks.iter().map(|rank| rank.steps).sum::<u64>().max(1) as f64,
            disagreements: self.disagreements,
            posted,
            unexpected,
            statistics: self.statistics(),
            bytes_max: ranks.iter().map(|rank| rank.bytes).max().unwrap_or(0),
            bytes_sum: ranks.iter().map(|rank| rank.bytes).sum(),
            ranks,
        }
    }

    fn statistics(&self) -> Vec<Statistic> {
        let mut all: Vec<(Statistic, u32)> = Vec::new();
        for (name, value) in self.ranks.iter().flat_map(RankEngine::statistics) {
            match all.iter_mut().find(|(of, _)| of.name == name) {
                // `mean` is a sum until all ranks are added.
                Some((of, ranks)) => {
                    (of.mean, of.max, *ranks) = (of.mean + value, of.max.max(value), *ranks + 1);
                }
                None => all.push((Statistic { name, mean: value, max: value }, 1)),
            }
        }
        all.into_iter().map(|(of, ranks)| Statistic { mean: of.mean / f64::from(ranks), ..of }).collect()
    }

    fn unmatched(&self, observers: &[RankObserver]) -> (u64, u64) {
        if self.stopped.is_some() {
            let sum =
                |of: fn(&RankObserver) -> u32| observers.iter().map(|observer| u64::from(of(observer))).sum();
            return (sum(|observer| observer.posted.length()), sum(|observer| observer.unexpected.length()));
        }
        let instances = || self.ranks.iter().filter_map(|rank| rank.instances.as_ref());
        let sum =
            |of: fn(&Counted) -> usize| instances().map(|instances| of(&instances.counted) as u64).sum();
        (sum(|counted| counted.posted_len()), sum(|counted| counted.unexpected_len()))
    }

    fn at_ranks(&self, observers: &[RankObserver], phases: &[PhaseCounts]) -> Vec<EngineAtRank> {
        let warm_ns = self.warm.per_step().unwrap_or(0.0);
        let per_step = |process: u32| self.ranks[process as usize].warm.per_step().unwrap_or(warm_ns);
        let surcharge = Surcharge::of(&self.cold, per_step);
        // A rank without an executed step gets the mean of the others.
        let sum = |of: fn(&RankEngine) -> f64| self.ranks.iter().map(of).sum::<f64>();
        let played = sum(RankEngine::executed_work).max(1.0);
        let (steps_each, attempts_each) =
            (sum(|rank| rank.steps as f64) / played, sum(|rank| rank.attempts() as f64) / played);
        let one = |process: usize| {
            let (rank, observer) = (&self.ranks[process], &observers[process]);
            let work = budget::total_work(&[&observer.posted_searched, &observer.unexpected_searched]);
            // The whole replay's work ÷ the executed work.
            let scale = match rank.executed_work() {
                own if own > 0.0 && self.stopped.is_some() => work / own,
                _ => 1.0,
            };
            let (steps, attempts) = match rank.executed_work() {
                0.0 if self.stopped.is_some() => (steps_each * work, attempts_each * work),
                _ => (rank.steps as f64 * scale, rank.attempts() as f64 * scale),
            };
            let match_ns = per_step(process as u32) * steps;
            EngineAtRank {
                match_ns,
                match_cold_ns: match_ns + surcharge.sum(&phases[process]),
                attempts: attempts as u64,
                library: self.costs.as_ref().map(|costs| costs.search_time(process).times(scale)),
                bytes: rank.peak_bytes().max(self.empty_bytes),
            }
        };
        (0..self.ranks.len()).map(one).collect()
    }
}

fn record_attempts(
    sites: &mut Vec<(SearchCounts, SearchCounts)>,
    costs: Option<&mut CallCosts>,
    process: usize,
    step: &Step,
    attempts: u64,
) {
    if let Some(costs) = costs {
        costs.add(process, step, attempts);
    }
    if step.site != 0 {
        record_site_attempts(sites, step, attempts);
    }
}

fn record_site_attempts(sites: &mut Vec<(SearchCounts, SearchCounts)>, step: &Step, attempts: u64) {
    let at = step.site as usize;
    if at >= sites.len() {
        sites.resize(at + 1, Default::default());
    }
    match step.kind {
        Kind::Post { .. } => sites[at].1.add(attempts),
        _ => sites[at].0.add(attempts),
    }
}

impl RankEngine {
    fn counts(&self) -> Counts {
        let instances = self.instances.as_ref().map(|instances| instances.counted.counts());
        instances.or(self.counts.as_deref()).copied().unwrap_or_default()
    }

    fn peak_bytes(&self) -> u64 {
        self.instances
            .as_ref()
            .map_or(self.bytes, |instances| instances.counted.footprint().peak_bytes - COUNTS_BYTES)
    }

    fn substitute(&self) -> Option<&str> {
        self.instances.as_ref().map_or(self.substitute.as_deref(), EngineInstances::substitute)
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        self.instances
            .as_ref()
            .map_or_else(|| self.statistics.clone(), |instances| instances.counted.statistics())
    }

    fn has_executed(&self) -> bool {
        self.instances.is_some() || self.counts.is_some()
    }

    fn retire(&mut self) {
        self.substitute = self.substitute().map(str::to_owned);
        self.statistics = self.statistics();
        (self.counts, self.bytes, self.instances) = (Some(Box::new(self.counts())), self.peak_bytes(), None);
    }

    fn executed_work(&self) -> f64 {
        let counts = self.counts();
        budget::executed_work(&[&counts.posted, &counts.unexpected])
    }

    fn attempts(&self) -> u64 {
        attempts(&self.counts())
    }
}

impl QueueMeasurements {
    fn add(&mut self, counts: &QueueCounts, longest: u32) {
        self.length_max = self.length_max.max(longest.into());
        // `length_mean` is a sum until `averaged` divides the sum.
        self.length_mean += counts.length_sum as f64;
        self.attempts += counts.attempts();
        self.searches += counts.searches;
        self.hits += counts.hits;
        self.attempts_hit += counts.attempts_hit;
        self.attempts_miss += counts.attempts_miss;
        add_histogram(&mut self.depth_hit, &counts.depth_hit);
        add_histogram(&mut self.depth_miss, &counts.depth_miss);
    }

    fn averaged(mut self) -> Self {
        self.length_mean /= self.searches.max(1) as f64;
        self
    }
}

fn add_histogram(sums: &mut Vec<u64>, counts: &[u32]) {
    sums.resize(sums.len().max(counts.len()), 0);
    for (sum, &count) in sums.iter_mut().zip(counts) {
        *sum += u64::from(count);
    }
}
