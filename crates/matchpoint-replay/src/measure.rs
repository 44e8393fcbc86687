//! Plays the events of all ranks through the engines: what they cost, what they examine, what they hold.
//!
//! Every rank has each engine twice: one that counts, whose answers are compared with those of the replay's own
//! matcher, and one that does not, which is timed. A clock is read twice per burst of events at one rank, never
//! within. Some bursts are played cold: the caches are flushed wherever the process computed between two events. An
//! engine that takes too long is stopped ([`budget`](crate::budget)).

use std::hint::black_box;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use matchpoint::engines::{self, NameError};
use matchpoint::wrap::Counted;
use matchpoint::{Engine, MsgId, Refused};

use crate::batch::Sorted;
use crate::budget;
use crate::flush::Flush;
use crate::measurements::{EngineAtRank, EngineMeasurements, QueueMeasurements};
use crate::observer::{Observer, Searched, Shared};
use crate::step::{Brief, Kind, Step};

/// A process that computes this long between two events finds its caches taken by something else.
const COMPUTE_PHASE_NS: i64 = 20_000;

/// Of the bursts, one in so many is played cold at first; after every [`COLD_PER_STAGE`] cold phases one in twice as
/// many, so that the whole run is sampled whatever its length, at little cost.
const COLD_INTERVAL: u64 = 2;
const COLD_PER_STAGE: u64 = 16;

/// Phases played cold in one burst at most.
const COLD_PER_BURST: usize = 16;

/// Time that cold phases may take, flushing included: at the beginning, and of what has passed since. A flush takes a
/// millisecond, and the simulation waits for whoever falls behind: without a limit, one run in five seconds of it did
/// nothing else.
const COLD_AT_FIRST: Duration = Duration::from_millis(20);
const COLD_SHARE: u32 = 16;

/// Events played in one go, at most: an engine is not stopped within.
const BURST: usize = 512;

/// All engines at all ranks.
pub(crate) struct Measurer {
    pub observers: Vec<Observer>,
    pub shared: Shared,
    engines: Vec<MeasuredEngine>,
    flush: Flush,
    clock_ns: f64,
    bursts: u64,
    /// Phases played cold, and the time that took.
    cold: u64,
    cold_time: Duration,
    begun: Instant,
    draw: u64,
}

struct MeasuredEngine {
    name: String,
    ranks: Vec<AtRank>,
    disagreements: u64,
    /// Time that it took in all, and whether that was too much.
    spent: Duration,
    stopped: bool,
    /// It was stopped because a table of fixed size was full.
    full: bool,
    warm: Timing,
    cold: Timing,
    usual_cold: Usual,
}

struct AtRank {
    timed: Box<dyn Engine>,
    counted: Counted,
    warm: Timing,
    usual_warm: Usual,
    steps: u64,
}

/// What an event took lately, to tell a burst in which the system ran something else.
#[derive(Clone, Copy, Default)]
struct Usual {
    per_step_ns: f64,
}

/// A burst was interrupted if it took longer than this, and that many times what is usual.
const INTERRUPTION_NS: f64 = 20_000.0;
const INTERRUPTION_FACTOR: f64 = 8.0;

/// Weight of the last burst in what is usual.
const LATEST: f64 = 0.125;

impl Usual {
    /// The time of a burst, or what is usual if it was interrupted.
    fn unless_interrupted(&mut self, ns: f64, steps: usize) -> f64 {
        let usual_ns = self.per_step_ns * steps as f64;
        let known = self.per_step_ns > 0.0;
        let interrupted = known && ns > INTERRUPTION_NS && ns > INTERRUPTION_FACTOR * usual_ns;
        let ns_per_step = ns / steps as f64;
        // What stays long is not interrupted but slow: the usual follows.
        let latest = if interrupted { INTERRUPTION_FACTOR * self.per_step_ns } else { ns_per_step };
        let weight = if known { LATEST } else { 1.0 };
        self.per_step_ns += weight * (latest - self.per_step_ns);
        if interrupted { usual_ns } else { ns }
    }
}

/// Time of some events.
#[derive(Clone, Copy, Default)]
struct Timing {
    ns: f64,
    steps: u64,
}

impl Timing {
    fn add(&mut self, ns: f64, steps: usize) {
        self.ns += ns;
        self.steps += steps as u64;
    }

    fn per_step(self) -> Option<f64> {
        (self.steps > 0).then(|| self.ns / self.steps as f64)
    }
}

impl Measurer {
    /// Engines of these names, for the processes of these ranks among `world`.
    pub fn new(names: &[String], present: &[u32], world: u32) -> Result<Self, NameError> {
        let processes = present.len();
        let measured = |name: &String| -> Result<MeasuredEngine, NameError> {
            let at_rank = |&rank: &u32| -> Result<AtRank, NameError> {
                let name = engines::at_process(name, rank.into(), world.into());
                let counted = Counted::new(engines::create_counting(&name)?);
                Ok(AtRank {
                    timed: engines::create(&name)?,
                    counted,
                    warm: Timing::default(),
                    usual_warm: Usual::default(),
                    steps: 0,
                })
            };
            let ranks = present.iter().map(at_rank).collect::<Result<_, _>>()?;
            let (spent, warm, cold, usual_cold) = Default::default();
            Ok(MeasuredEngine {
                name: name.clone(),
                ranks,
                disagreements: 0,
                spent,
                stopped: false,
                full: false,
                warm,
                cold,
                usual_cold,
            })
        };
        Ok(Measurer {
            observers: (0..processes).map(|_| Observer::default()).collect(),
            shared: Shared::default(),
            engines: names.iter().map(measured).collect::<Result<_, _>>()?,
            flush: Flush::default(),
            clock_ns: clock_ns(),
            bursts: 0,
            cold: 0,
            cold_time: Duration::ZERO,
            begun: Instant::now(),
            draw: 1,
        })
    }

    /// Measures until the simulation has sent its last chunk.
    pub fn run(mut self, full: &Receiver<Vec<Brief>>, returned: &Sender<Vec<Brief>>) -> Self {
        self.begun = Instant::now();
        let mut sorted = Sorted::default();
        for chunk in full {
            sorted.sort(&chunk, self.observers.len());
            // Nobody takes chunks back once the simulation has ended.
            let _ = returned.send(chunk);
            for process in 0..self.observers.len() {
                sorted.of(process).chunks(BURST).for_each(|burst| self.play(process, burst));
            }
        }
        self.observers.iter_mut().for_each(|observer| observer.finish(&mut self.shared));
        self
    }

    fn play(&mut self, process: usize, steps: &[Step]) {
        let observer = &mut self.observers[process];
        steps.iter().for_each(|step| observer.observe(step, &mut self.shared));
        self.engines.iter_mut().for_each(|engine| engine.count(process, steps));
        // In turn, each engine is the first, which finds the caches as something else left them.
        let first = self.bursts as usize / self.observers.len() + process;
        if self.is_cold_turn() {
            self.time_cold(process, steps, first);
        } else {
            self.time_warm(process, steps, first);
        }
        self.stop_the_slow();
    }

    /// After a burst, for what is counted and what is timed must be the same.
    fn stop_the_slow(&mut self) {
        let (count, passed) = (self.engines.len(), self.begun.elapsed());
        for engine in &mut self.engines {
            engine.stopped |= budget::is_used_up(engine.spent, count, passed);
        }
    }

    fn time_warm(&mut self, process: usize, steps: &[Step], first: usize) {
        let count = self.engines.len();
        for at in first..first + count {
            self.engines[at % count].time(process, steps, false, self.clock_ns);
        }
    }

    fn time_cold(&mut self, process: usize, steps: &[Step], first: usize) {
        let begin = Instant::now();
        let count = self.engines.len();
        let mut left = steps;
        for phase in steps.chunk_by(same_phase).take(COLD_PER_BURST) {
            for at in first..first + count {
                self.flush.flush();
                self.engines[at % count].time(process, phase, true, self.clock_ns);
            }
            self.cold += 1;
            left = &left[phase.len()..];
        }
        self.cold_time += begin.elapsed();
        if !left.is_empty() {
            self.time_warm(process, left, first);
        }
    }

    /// Drawn, not counted: what is counted would fall on the same ranks again and again.
    fn is_cold_turn(&mut self) -> bool {
        self.bursts += 1;
        let interval = COLD_INTERVAL << (self.cold / COLD_PER_STAGE).min(40);
        self.draw = self.draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let is_drawn = (self.draw >> 33) % interval == 0;
        is_drawn && self.cold_time < COLD_AT_FIRST + self.begun.elapsed() / COLD_SHARE
    }

    /// The measurements of every engine.
    pub fn engines(&self) -> Vec<EngineMeasurements> {
        self.engines.iter().map(|engine| engine.measurements(&self.observers)).collect()
    }
}

impl MeasuredEngine {
    fn count(&mut self, process: usize, steps: &[Step]) {
        if self.stopped {
            return;
        }
        let begin = Instant::now();
        let counted = &mut self.ranks[process].counted;
        for step in steps {
            match answer(counted, step) {
                // Its caller would go on with another engine, so nothing that it answers from here on counts.
                Err(Refused::Full) => {
                    (self.full, self.stopped) = (true, true);
                    break;
                }
                answered => self.disagreements += u64::from(answered != Ok(expected(step))),
            }
        }
        self.spent += begin.elapsed();
    }

    fn time(&mut self, process: usize, steps: &[Step], is_cold: bool, clock_ns: f64) {
        if self.stopped {
            return;
        }
        let at_rank = &mut self.ranks[process];
        let begin = Instant::now();
        for step in steps {
            let _ = black_box(answer(&mut *at_rank.timed, step));
        }
        let elapsed = begin.elapsed();
        self.spent += elapsed;
        let ns = (elapsed.as_nanos() as f64 - clock_ns).max(0.0);
        at_rank.steps += steps.len() as u64;
        let usual = if is_cold { &mut self.usual_cold } else { &mut at_rank.usual_warm };
        let ns = usual.unless_interrupted(ns, steps.len());
        if is_cold {
            self.cold.add(ns, steps.len());
        } else {
            self.warm.add(ns, steps.len());
            at_rank.warm.add(ns, steps.len());
        }
    }

    fn measurements(&self, observers: &[Observer]) -> EngineMeasurements {
        let warm_ns = self.warm.per_step().or(self.cold.per_step()).unwrap_or(0.0);
        let cold_ns = self.cold.per_step().unwrap_or(warm_ns).max(warm_ns);
        let both = || self.ranks.iter().zip(observers);
        // Of a rank where it was not played, what it took at the others is all that is known.
        let played: f64 = both().map(|(rank, _)| rank.played()).sum();
        let attempts: u64 = both().map(|(rank, _)| rank.attempts()).sum();
        let steps: u64 = both().map(|(rank, _)| rank.steps).sum();
        let elsewhere = |of: u64| of as f64 / played.max(1.0);
        let ranks = both().map(|(rank, observer)| {
            let asked = budget::asked(&[&observer.posted_searched, &observer.unexpected_searched]);
            let (steps, attempts) = match rank.played() {
                _ if !self.stopped => (rank.steps as f64, rank.attempts()),
                0.0 => (elsewhere(steps) * asked, (elsewhere(attempts) * asked) as u64),
                own => (rank.steps as f64 * asked / own, (rank.attempts() as f64 * asked / own) as u64),
            };
            rank.measurements(warm_ns, cold_ns, steps, attempts)
        });
        let ranks: Vec<EngineAtRank> = ranks.collect();
        let (mut posted, mut unexpected) = (QueueMeasurements::default(), QueueMeasurements::default());
        let (mut posted_searched, mut unexpected_searched) = (Searched::default(), Searched::default());
        for (rank, observer) in both() {
            let counts = rank.counted.counts();
            posted.add(&counts.posted, observer.posted.longest());
            unexpected.add(&counts.unexpected, observer.unexpected.longest());
            posted_searched += &observer.posted_searched;
            unexpected_searched += &observer.unexpected_searched;
        }
        let (posted, unexpected) = (posted.averaged(), unexpected.averaged());
        let searches = posted_searched.searches + unexpected_searched.searches;
        let sampled = (posted.searches + unexpected.searches) as f64 / searches.max(1) as f64;
        let sum = |of: fn(&Observer) -> u32| observers.iter().map(|observer| u64::from(of(observer))).sum();
        let count = |of: fn(&Counted) -> usize| self.ranks.iter().map(|rank| of(&rank.counted) as u64).sum();
        let (unmatched_receives, unmatched_messages) = if self.stopped {
            (sum(|observer| observer.posted.length()), sum(|observer| observer.unexpected.length()))
        } else {
            (count(|counted| counted.posted_len()), count(|counted| counted.unexpected_len()))
        };
        let (posted, unexpected) = if self.stopped {
            (posted.extrapolated(&posted_searched), unexpected.extrapolated(&unexpected_searched))
        } else {
            (posted, unexpected)
        };
        EngineMeasurements {
            name: self.name.clone(),
            sampled: if self.stopped { sampled } else { 1.0 },
            full: self.full,
            match_ns: ranks.iter().map(|rank| rank.match_ns).sum(),
            match_cold_ns: ranks.iter().map(|rank| rank.match_cold_ns).sum(),
            matched: posted.hits + unexpected.hits,
            unmatched_receives,
            unmatched_messages,
            disagreements: self.disagreements,
            posted,
            unexpected,
            bytes_max: ranks.iter().map(|rank| rank.bytes).max().unwrap_or(0),
            bytes_sum: ranks.iter().map(|rank| rank.bytes).sum(),
            ranks,
        }
    }
}

impl AtRank {
    /// What it was asked, in entries.
    fn played(&self) -> f64 {
        let counts = self.counted.counts();
        budget::played(&[&counts.posted, &counts.unexpected])
    }

    fn attempts(&self) -> u64 {
        let counts = self.counted.counts();
        counts.posted.attempts() + counts.unexpected.attempts()
    }

    /// Scales this rank's own warm time to all its events; the cold surcharge per event is that of all ranks.
    fn measurements(&self, warm_ns: f64, cold_ns: f64, steps: f64, attempts: u64) -> EngineAtRank {
        let own_ns = self.warm.per_step().unwrap_or(warm_ns);
        EngineAtRank {
            match_ns: own_ns * steps,
            match_cold_ns: (own_ns + cold_ns - warm_ns) * steps,
            attempts,
            bytes: self.timed.footprint().peak_bytes,
        }
    }
}

impl QueueMeasurements {
    fn add(&mut self, counts: &matchpoint::wrap::counted::QueueCounts, longest: u32) {
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

/// Whether the process did not compute for long between two events.
fn same_phase(one: &Step, next: &Step) -> bool {
    next.at_ns - one.at_ns < COMPUTE_PHASE_NS
}

/// What an engine answers to an event, in a form that all events share.
#[inline]
fn answer(engine: &mut dyn Engine, step: &Step) -> Result<Option<u64>, Refused> {
    Ok(match &step.kind {
        Kind::Post { receive, .. } => engine.post(*receive)?.map(|message| message.0),
        Kind::Arrive { message, .. } => engine.arrive(*message)?.map(|receive| receive.0),
        Kind::Probe { selector, .. } => engine.probe(selector).map(|message| message.0),
        Kind::MatchedProbe { selector, .. } => engine.matched_probe(selector).map(|message| message.0),
        Kind::Cancel { receive, .. } => engine.cancel(*receive).then_some(1),
        Kind::Retract { message } => engine.retract(*message).then_some(1),
    })
}

/// What the replay's own matcher answered.
fn expected(step: &Step) -> Option<u64> {
    let message = |id: Option<MsgId>| id.map(|id| id.0);
    match step.kind {
        Kind::Post { took, .. } | Kind::MatchedProbe { took, .. } => message(took),
        Kind::Probe { found, .. } => message(found),
        Kind::Arrive { took, .. } => took.map(|receive| receive.id.0),
        Kind::Cancel { was_posted, .. } => was_posted.then_some(1),
        Kind::Retract { .. } => Some(1),
    }
}

/// Time that reading the clock twice takes.
fn clock_ns() -> f64 {
    let mut shortest = Duration::MAX;
    for _ in 0..1000 {
        shortest = shortest.min(Instant::now().elapsed());
    }
    shortest.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::Usual;

    #[test]
    fn an_interrupted_burst_counts_as_usual_and_a_lasting_change_does_not() {
        let mut usual = Usual::default();
        for _ in 0..10 {
            assert_eq!(usual.unless_interrupted(320.0, 32), 320.0);
        }
        let counted = usual.unless_interrupted(5_000_000.0, 32);
        assert!((counted - 320.0).abs() < 1e-6, "{counted}");
        let slow: Vec<f64> = (0..20).map(|_| usual.unless_interrupted(320_000.0, 32)).collect();
        assert_eq!(slow[19], 320_000.0);
    }
}
