//! Measurement of one engine at all ranks: attempts, times and limits.

use std::time::Duration;

use matchpoint::engines::{self, NameError};
use matchpoint::wrap::Counted;
use matchpoint::wrap::counted::{Counts, QueueCounts};
use matchpoint::{Engine, Refused};

use super::calls::CallCosts;
use super::clock::{Lap, Laps};
use super::cold::{Phases, Sample, Surcharge};
use super::play::{
    Answered, answer, attempts, begun_bytes, compared, counting_ns, expected, time, time_counted,
};
use super::warm::{Timing, Usual};
use crate::batch::Sorted;
use crate::budget::{self, Stopped};
use crate::measurements::{
    Compared, EngineAtRank, EngineMeasurements, QueueMeasurements, Statistic, Substitute,
};
use crate::observer::{Observer, Searched};
use crate::step::{Kind, Step};

/// The shortest time counts, because host load only lengthens a burst.
pub(super) const REPETITIONS: usize = 3;

/// Bursts between two measurements of memory.
const BURSTS_PER_LOOK: u64 = 8;

pub(crate) struct MeasuredEngine {
    name: String,
    expected_substitute: Option<String>,
    world: u32,
    is_first: bool,
    copies: Copies,
    ranks: Vec<AtRank>,
    empty_bytes: u64,
    /// Some engines allocate their tables at the first receive or message.
    begun_bytes: u64,
    disagreements: u64,
    pub repeating: Duration,
    spent: Duration,
    pub held_bytes: u64,
    /// Steps that one instance measured and counted.
    timed_counting: u64,
    /// Time that counting adds to a step, once measured.
    counting_ns: Option<f64>,
    /// Results for one burst.
    answers: Vec<Answered>,
    pub stopped: Option<Stopped>,
    warm: Timing,
    cold: Vec<Sample>,
    pub spread: Spread,
    /// First engine only, by [`Step::site`]: searches of the posted queue that matched a receive of the site,
    /// and searches of the unexpected queue for one.
    pub sites: Vec<(Compared, Compared)>,
    /// First engine only.
    pub costs: Option<CallCosts>,
}

/// Instances at each rank. Each contains all queued entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Copies {
    /// One counts, and [several](REPETITIONS) play each burst in turn.
    Repeated,
    /// One counts, another is measured.
    Two,
    /// One counts and is measured.
    One,
}

impl Copies {
    pub fn timed(self) -> usize {
        match self {
            Copies::Repeated => REPETITIONS,
            Copies::Two => 1,
            Copies::One => 0,
        }
    }
}

/// Differences between repetitions, and interruptions.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spread {
    pub shortest_ns: f64,
    pub median_ns: f64,
    pub bursts: u64,
    pub interrupted: u64,
}

#[derive(Default)]
struct AtRank {
    live: Option<Live>,
    counts: Option<Box<Counts>>,
    statistics: Vec<(&'static str, f64)>,
    substitute: Option<String>,
    bytes: u64,
    held_bytes: u64,
    bursts: u64,
    warm: Timing,
    usual: Usual,
    steps: u64,
}

/// One counting instance with compared results, and measured ones without counters.
struct Live {
    counted: Counted,
    timed: Vec<Box<dyn Engine>>,
}

impl Live {
    fn new(name: &str, timed: usize) -> Result<Self, NameError> {
        let timed = (0..timed).map(|_| engines::create(name)).collect::<Result<_, _>>()?;
        Ok(Live { counted: Counted::new(engines::create_counting(name)?), timed })
    }

    fn substitute(&self) -> Option<&str> {
        let timed = || self.timed.iter().find_map(|engine| engine.substitute());
        self.counted.substitute().or_else(timed)
    }

    fn held_bytes(&self) -> u64 {
        (self.counted.footprint().now_bytes() - COUNTS_BYTES) * (1 + self.timed.len() as u64)
    }
}

const COUNTS_BYTES: u64 = size_of::<Counted>() as u64;

impl MeasuredEngine {
    /// Creates an instance now, so that an invalid name is an error; one for each rank if the name depends on
    /// the rank. Later instances follow at the first step.
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
            copies: Copies::Repeated,
            ranks: present.iter().map(|_| AtRank::default()).collect(),
            empty_bytes,
            begun_bytes: begun_bytes(&mut *probe),
            disagreements: 0,
            repeating: Duration::ZERO,
            spent: Duration::ZERO,
            held_bytes: 0,
            timed_counting: 0,
            counting_ns: None,
            answers: Vec::new(),
            stopped: None,
            warm: Timing::default(),
            cold: Vec::new(),
            spread: Spread::default(),
            sites: Vec::new(),
            costs: None,
        })
    }

    pub fn receive_call_ends(&mut self, chunk: &Sorted) {
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
        laps: &mut Laps,
    ) -> Lap {
        let mut times = [f64::MAX; REPETITIONS];
        let mut played = 0;
        if !self.is_ready(process, rank) {
            return laps.lap();
        } else if self.copies == Copies::One {
            times[0] = self.time_counted(process, steps, clock_ns);
            played = 1;
        } else if self.count(process, steps) {
            let live = self.ranks[process].live.as_mut();
            for engine in live.into_iter().flat_map(|live| &mut live.timed) {
                times[played] = time(&mut **engine, steps, clock_ns);
                played += 1;
            }
        }
        if self.stopped.is_some() {
            return laps.lap();
        }
        let times = &mut times[..played];
        times.sort_by(f64::total_cmp);
        let lap = laps.lap();
        self.add_warm(process, steps.len(), times, lap);
        self.spend(lap, played);
        lap
    }

    fn add_warm(&mut self, process: usize, steps: usize, times: &[f64], lap: Lap) {
        let Some(&shortest_ns) = times.first() else { return };
        let at_rank = &mut self.ranks[process];
        let (ns, interrupted) = at_rank.usual.unless_interrupted(shortest_ns, steps, lap.was_interrupted());
        at_rank.warm.add(ns, steps);
        at_rank.steps += steps as u64;
        self.warm.add(ns, steps);
        self.spread.bursts += 1;
        self.spread.interrupted += u64::from(interrupted || lap.was_interrupted());
        if times.len() == REPETITIONS {
            self.spread.shortest_ns += shortest_ns;
            self.spread.median_ns += times[REPETITIONS / 2];
        }
    }

    /// Counts a cold phase before the flush. Returns false if the engine is stopped.
    pub fn prepare_cold(&mut self, process: usize, rank: u32, steps: &[Step]) -> bool {
        self.is_ready(process, rank) && (self.copies == Copies::One || self.count(process, steps))
    }

    pub fn play_cold(&mut self, process: usize, steps: &[Step], clock_ns: f64) {
        if self.stopped.is_some() {
            return;
        }
        let mut laps = Laps::start();
        let mut timed = match &mut self.ranks[process].live {
            Some(live) => live.timed.iter_mut(),
            None => return,
        };
        let ns = timed.next().map(|engine| time(&mut **engine, steps, clock_ns));
        let was_interrupted = laps.lap().was_interrupted();
        // The other instances need the same steps. Their code is now warm, so they are not measured.
        for engine in timed {
            time(&mut **engine, steps, clock_ns);
        }
        let (ns, was_interrupted) = match ns {
            Some(ns) => (ns, was_interrupted),
            None => (self.time_counted(process, steps, clock_ns), laps.lap().was_interrupted()),
        };
        if self.stopped.is_some() {
            return;
        }
        let at_rank = &mut self.ranks[process];
        at_rank.steps += steps.len() as u64;
        // A phase lasts microseconds, so an interruption would dominate it.
        if !was_interrupted {
            self.cold.push(Sample { process: process as u32, steps: steps.len() as u32, ns });
        }
    }

    /// Creates the instance of a process if needed. Returns false if the engine is stopped.
    fn is_ready(&mut self, process: usize, rank: u32) -> bool {
        if self.stopped.is_none() && self.ranks[process].live.is_none() {
            let name = engines::at_process(&self.name, rank.into(), self.world.into());
            match Live::new(&name, self.copies.timed()) {
                Ok(live) => self.ranks[process].live = Some(live),
                // The name was valid for another rank, but its file has changed.
                Err(_) => self.stop(Stopped::Unmade),
            }
        }
        self.stopped.is_none()
    }

    /// Returns false if the engine was stopped.
    fn count(&mut self, process: usize, steps: &[Step]) -> bool {
        let Some(live) = &mut self.ranks[process].live else { return false };
        let mut before = compared(live.counted.counts());
        for step in steps {
            let answered = answer(&mut live.counted, step);
            if self.is_first {
                let now = compared(live.counted.counts());
                note(&mut self.sites, self.costs.as_mut(), process, step, now - before);
                before = now;
            }
            match answered {
                // The caller would continue with another engine, so further results do not count.
                Err(Refused::Full) => {
                    self.stop(Stopped::Full);
                    return false;
                }
                answered => self.disagreements += u64::from(answered != Ok(expected(step))),
            }
        }
        true
    }

    /// Measures less the cost of counting, and compares the results afterwards.
    fn time_counted(&mut self, process: usize, steps: &[Step], clock_ns: f64) -> f64 {
        let counting_ns = *self.counting_ns.get_or_insert_with(|| {
            let name = engines::at_process(&self.name, 0, self.world.into());
            counting_ns(&name, clock_ns).unwrap_or(0.0)
        });
        let Some(live) = &mut self.ranks[process].live else { return 0.0 };
        let mut before = compared(live.counted.counts());
        let ns = time_counted(&mut live.counted, steps, clock_ns, &mut self.answers);
        self.timed_counting += steps.len() as u64;
        for (step, answered) in steps.iter().zip(&self.answers) {
            if self.is_first {
                note(&mut self.sites, self.costs.as_mut(), process, step, answered.attempts - before);
            }
            before = answered.attempts;
            if answered.answer == Err(Refused::Full) {
                self.stop(Stopped::Full);
                break;
            }
            self.disagreements += u64::from(answered.answer != Ok(expected(step)));
        }
        (ns - counting_ns * steps.len() as f64).max(0.0)
    }

    fn spend(&mut self, lap: Lap, played: usize) {
        self.spent += lap.cpu;
        if played > 1 {
            // The counting instance takes at least as long as a measured one.
            self.repeating += lap.cpu * (played as u32 - 1) / (played as u32 + 1);
        }
    }

    /// Updates the memory every [`BURSTS_PER_LOOK`] bursts.
    pub fn weigh(&mut self, process: usize) {
        let at_rank = &mut self.ranks[process];
        at_rank.bursts += 1;
        if self.stopped.is_none() && at_rank.bursts % BURSTS_PER_LOOK == 1 {
            let held = at_rank.live.as_ref().map_or(0, Live::held_bytes);
            self.held_bytes = self.held_bytes + held - at_rank.held_bytes;
            at_rank.held_bytes = held;
        }
    }

    /// Zero for an engine that shrinks with use.
    pub fn queued_bytes(&self) -> u64 {
        let engines =
            self.ranks.iter().filter(|rank| rank.held_bytes > 0).count() * (1 + self.copies.timed());
        self.held_bytes.saturating_sub(self.begun_bytes * engines as u64)
    }

    /// Memory with one receive and one message at each rank.
    pub fn idle_bytes(&self, copies: Copies) -> u64 {
        self.begun_bytes * (self.ranks.len() * (1 + copies.timed())) as u64
    }

    /// Called after a burst, so that all instances are in the same state.
    pub fn limit(&mut self, engines: usize, sampled: bool, passed: Duration) {
        if self.stopped.is_some() {
        } else if budget::is_too_large(self.held_bytes, engines) && !self.is_first {
            self.stop(Stopped::Memory);
        } else if budget::is_used_up(self.spent, engines, passed)
            || sampled && !self.is_first && budget::is_sampled_enough(self.spent, passed)
        {
            self.stop(Stopped::Time);
        }
    }

    pub fn keep(&mut self, copies: Copies) {
        self.copies = copies;
        self.held_bytes = 0;
        for at_rank in &mut self.ranks {
            let Some(live) = &mut at_rank.live else { continue };
            live.timed.truncate(copies.timed());
            at_rank.held_bytes = live.held_bytes();
            self.held_bytes += at_rank.held_bytes;
        }
    }

    fn substitute(&self) -> Option<Substitute> {
        let matched: Vec<&str> = self.ranks.iter().filter_map(AtRank::substitute).collect();
        let of_ranks = self.ranks.iter().filter(|rank| rank.was_played()).count() as u32;
        let expected = self.expected_substitute.as_deref().filter(|_| of_ranks == 0);
        let name = matched.first().copied().or(expected)?.to_owned();
        Some(Substitute { name, ranks: matched.len() as u32, of_ranks })
    }

    /// Keeps the counts and frees the memory.
    fn stop(&mut self, why: Stopped) {
        self.stopped = Some(why);
        self.ranks.iter_mut().for_each(AtRank::retire);
    }

    pub fn measurements(&self, observers: &[Observer], phases: &[Phases]) -> EngineMeasurements {
        let ranks = self.at_ranks(observers, phases);
        let (mut posted, mut unexpected) = (QueueMeasurements::default(), QueueMeasurements::default());
        let (mut posted_searched, mut unexpected_searched) = (Searched::default(), Searched::default());
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
            full: self.stopped == Some(Stopped::Full),
            too_large: self.stopped == Some(Stopped::Memory),
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
        for (name, value) in self.ranks.iter().flat_map(AtRank::statistics) {
            match all.iter_mut().find(|(of, _)| of.name == name) {
                // A sum, so far.
                Some((of, ranks)) => {
                    (of.mean, of.max, *ranks) = (of.mean + value, of.max.max(value), *ranks + 1);
                }
                None => all.push((Statistic { name, mean: value, max: value }, 1)),
            }
        }
        all.into_iter().map(|(of, ranks)| Statistic { mean: of.mean / f64::from(ranks), ..of }).collect()
    }

    fn unmatched(&self, observers: &[Observer]) -> (u64, u64) {
        if self.stopped.is_some() {
            let sum =
                |of: fn(&Observer) -> u32| observers.iter().map(|observer| u64::from(of(observer))).sum();
            return (sum(|observer| observer.posted.length()), sum(|observer| observer.unexpected.length()));
        }
        let live = || self.ranks.iter().filter_map(|rank| rank.live.as_ref());
        let sum = |of: fn(&Counted) -> usize| live().map(|live| of(&live.counted) as u64).sum();
        (sum(|counted| counted.posted_len()), sum(|counted| counted.unexpected_len()))
    }

    fn at_ranks(&self, observers: &[Observer], phases: &[Phases]) -> Vec<EngineAtRank> {
        let warm_ns = self.warm.per_step().unwrap_or(0.0);
        let per_step = |process: u32| self.ranks[process as usize].warm.per_step().unwrap_or(warm_ns);
        let surcharge = Surcharge::of(&self.cold, per_step);
        // Ranks without an executed step get the mean of the others.
        let sum = |of: fn(&AtRank) -> f64| self.ranks.iter().map(of).sum::<f64>();
        let played = sum(AtRank::played).max(1.0);
        let (steps_each, attempts_each) =
            (sum(|rank| rank.steps as f64) / played, sum(|rank| rank.attempts() as f64) / played);
        let one = |process: usize| {
            let (rank, observer) = (&self.ranks[process], &observers[process]);
            let asked = budget::asked(&[&observer.posted_searched, &observer.unexpected_searched]);
            // The whole run ÷ the executed part.
            let scale = match rank.played() {
                own if own > 0.0 && self.stopped.is_some() => asked / own,
                _ => 1.0,
            };
            let (steps, attempts) = match rank.played() {
                0.0 if self.stopped.is_some() => (steps_each * asked, attempts_each * asked),
                _ => (rank.steps as f64 * scale, rank.attempts() as f64 * scale),
            };
            let match_ns = per_step(process as u32) * steps;
            EngineAtRank {
                match_ns,
                match_cold_ns: match_ns + surcharge.sum(&phases[process]),
                attempts: attempts as u64,
                library: self.costs.as_ref().map(|costs| costs.of(process).times(scale)),
                bytes: rank.peak_bytes().max(self.empty_bytes),
            }
        };
        (0..self.ranks.len()).map(one).collect()
    }
}

/// Adds the attempts of a step to its site and its call.
fn note(
    sites: &mut Vec<(Compared, Compared)>,
    costs: Option<&mut CallCosts>,
    process: usize,
    step: &Step,
    attempts: u64,
) {
    if let Some(costs) = costs {
        costs.add(process, step, attempts);
    }
    if step.site != 0 {
        note_site(sites, step, attempts);
    }
}

fn note_site(sites: &mut Vec<(Compared, Compared)>, step: &Step, attempts: u64) {
    let at = step.site as usize;
    if at >= sites.len() {
        sites.resize(at + 1, Default::default());
    }
    match step.kind {
        Kind::Post { .. } => sites[at].1.add(attempts),
        _ => sites[at].0.add(attempts),
    }
}

impl AtRank {
    fn counts(&self) -> Counts {
        let live = self.live.as_ref().map(|live| live.counted.counts());
        live.or(self.counts.as_deref()).copied().unwrap_or_default()
    }

    fn peak_bytes(&self) -> u64 {
        self.live.as_ref().map_or(self.bytes, |live| live.counted.footprint().peak_bytes - COUNTS_BYTES)
    }

    fn substitute(&self) -> Option<&str> {
        self.live.as_ref().map_or(self.substitute.as_deref(), Live::substitute)
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        self.live.as_ref().map_or_else(|| self.statistics.clone(), |live| live.counted.statistics())
    }

    fn was_played(&self) -> bool {
        self.live.is_some() || self.counts.is_some()
    }

    fn retire(&mut self) {
        self.substitute = self.substitute().map(str::to_owned);
        self.statistics = self.statistics();
        (self.counts, self.bytes, self.live) = (Some(Box::new(self.counts())), self.peak_bytes(), None);
    }

    fn played(&self) -> f64 {
        let counts = self.counts();
        budget::played(&[&counts.posted, &counts.unexpected])
    }

    fn attempts(&self) -> u64 {
        attempts(&self.counts())
    }
}

impl QueueMeasurements {
    fn add(&mut self, counts: &QueueCounts, longest: u32) {
        self.length_max = self.length_max.max(longest.into());
        // A sum, until `averaged`.
        self.length_mean += counts.length_sum as f64;
        self.attempts += counts.attempts();
        self.searches += counts.searches;
        self.hits += counts.hits;
        self.attempts_hit += counts.attempts_hit;
        self.attempts_miss += counts.attempts_miss;
        add_up(&mut self.depth_hit, &counts.depth_hit);
        add_up(&mut self.depth_miss, &counts.depth_miss);
    }

    fn averaged(mut self) -> Self {
        self.length_mean /= self.searches.max(1) as f64;
        self
    }
}

fn add_up(sums: &mut Vec<u64>, counts: &[u32]) {
    sums.resize(sums.len().max(counts.len()), 0);
    for (sum, &count) in sums.iter_mut().zip(counts) {
        *sum += u64::from(count);
    }
}
