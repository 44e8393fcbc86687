//! Measurement of engines: time, attempts and memory.
//!
//! Every rank has several instances of each engine. One instance counts attempts, and its results are
//! compared with those of the replay's matcher. The others are timed with the same burst of steps, and the
//! shortest time counts. Some phases are measured with cold caches, all engines after one flush. An engine
//! beyond its [limits](crate::budget) is stopped.
//!
//! Every instance contains all queued entries. With long queues or thousands of ranks, each burst is measured
//! once. With still longer queues, one instance counts and is timed, and the cost of counting is subtracted.
//! The number of instances is the same for all engines, so that the times are comparable.

mod calls;
mod clock;
mod cold;
mod engine;
mod play;
mod warm;

use std::hint::black_box;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use matchpoint::engines::NameError;
use matchpoint_trace::SearchCost;

use crate::batch::{Chunk, SortedChunk};
use crate::measure::cold::CacheFlusher;
use crate::measurements::{EngineMeasurements, SearchCounts, Timings};
use crate::observer::{RankObserver, SharedStatistics};
use crate::step::Step;
use calls::CallCosts;
use clock::{Elapsed, ProcessorClock, Stopwatch};
use cold::{PhaseCounts, PhaseSampler, is_same_phase};
use engine::{InstanceCount, MeasuredEngine};

/// Time for measurements with cold caches: a constant, plus a fraction of the elapsed time. The simulation
/// waits for each flush of one to two milliseconds. A short trace has few phases, so its limit is higher.
const COLD_AT_FIRST: Duration = Duration::from_millis(20);
const COLD_AT_FIRST_SHORT: Duration = Duration::from_millis(150);
const COLD_SHARE: u32 = 16;

/// Time for repeated bursts: a constant per engine, plus a fraction of the elapsed time. In a long replay,
/// each burst has little weight.
const REPEATING_AT_FIRST: Duration = Duration::from_millis(50);
const REPEATING_SHARE: u32 = 32;

/// Memory of all engines while bursts are repeated, and of one engine with two instances. With more memory,
/// searches are so long that counting adds little time.
const REPEATING_BYTES: u64 = 32 << 20;
const TWO_INSTANCES_BYTES: u64 = 16 << 20;

const SHORT_CALLS: u64 = 1 << 20;

/// Maximum number of steps in a burst. The time limit of an engine is checked only between two bursts.
const BURST: usize = 512;

pub(crate) struct Measurer {
    pub observers: Vec<RankObserver>,
    pub shared: SharedStatistics,
    engines: Vec<MeasuredEngine>,
    instance_count: InstanceCount,
    ranks: Vec<u32>,
    phases: Vec<PhaseCounts>,
    sampled: bool,
    flush: CacheFlusher,
    sampler: PhaseSampler,
    clock_ns: f64,
    bursts: u64,
    cold_phases: u64,
    cold_at_first: Duration,
    cold_time: Duration,
    passed: Duration,
    timed: Elapsed,
}

impl Measurer {
    pub fn new(names: &[String], sampled: bool, present: &[u32], world: u32) -> Result<Self, NameError> {
        let engine = |(at, name): (usize, &String)| MeasuredEngine::new(name, at == 0, present, world);
        let mut measurer = Measurer {
            observers: present.iter().map(|_| RankObserver::default()).collect(),
            shared: SharedStatistics::default(),
            engines: names.iter().enumerate().map(engine).collect::<Result<_, _>>()?,
            instance_count: InstanceCount::Repeated,
            ranks: present.to_vec(),
            phases: vec![PhaseCounts::default(); present.len()],
            sampled,
            flush: CacheFlusher::default(),
            sampler: PhaseSampler::default(),
            clock_ns: clock_ns(),
            bursts: 0,
            cold_phases: 0,
            cold_at_first: COLD_AT_FIRST,
            cold_time: Duration::ZERO,
            passed: Duration::ZERO,
            timed: Elapsed::default(),
        };
        let idle_bytes = measurer.engines.iter().map(|engine| engine.idle_bytes(InstanceCount::Repeated));
        if idle_bytes.sum::<u64>() > REPEATING_BYTES {
            measurer.set_instance_count(InstanceCount::Two);
        }
        if measurer.engines.iter().any(|engine| engine.idle_bytes(InstanceCount::Two) > TWO_INSTANCES_BYTES) {
            measurer.set_instance_count(InstanceCount::One);
        }
        Ok(measurer)
    }

    pub fn set_library_costs(&mut self, measured: &[SearchCost], crowding: Option<f64>) {
        if let Some(first) = self.engines.first_mut() {
            first.costs = CallCosts::new(measured, &self.ranks, crowding.unwrap_or(1.0));
        }
    }

    pub fn set_call_count(&mut self, calls: u64) {
        self.cold_at_first = if calls < SHORT_CALLS { COLD_AT_FIRST_SHORT } else { COLD_AT_FIRST };
    }

    pub fn run(mut self, full: &Receiver<Chunk>, returned: &Sender<Chunk>) -> Self {
        let clock = ProcessorClock::start();
        let mut sorted = SortedChunk::default();
        for chunk in full {
            sorted.sort(&chunk, self.observers.len());
            let _ = returned.send(chunk);
            if let Some(first) = self.engines.first_mut() {
                first.receive_call_ends(&sorted);
            }
            for process in 0..self.observers.len() {
                self.passed = clock.passed();
                sorted.steps_of(process).chunks(BURST).for_each(|burst| self.play(process, burst));
            }
        }
        self.observers.iter_mut().for_each(|observer| observer.finish(&mut self.shared));
        self.phases.iter_mut().for_each(PhaseCounts::end);
        self.engines.iter_mut().filter_map(|engine| engine.costs.as_mut()).for_each(CallCosts::finish);
        self
    }

    fn play(&mut self, process: usize, steps: &[Step]) {
        let observer = &mut self.observers[process];
        steps.iter().for_each(|step| observer.observe(step, &mut self.shared));
        let begins = self.phases[process].begins(&steps[0]);
        steps.iter().for_each(|step| self.phases[process].note(step));
        // The first engine of a burst has colder caches, so each burst starts with another engine.
        let first = self.bursts as usize / self.observers.len() + process;
        self.bursts += 1;
        let (mut warm, mut at) = (0, 0);
        for phase in steps.chunk_by(is_same_phase) {
            let whole = begins || at > 0;
            if whole && self.may_flush() && self.sampler.selects(phase.len()) {
                self.play_warm(process, &steps[warm..at], first);
                self.play_cold(process, phase, first);
                warm = at + phase.len();
            }
            at += phase.len();
        }
        self.play_warm(process, &steps[warm..], first);
        let count = self.engines.len();
        for engine in &mut self.engines {
            engine.update_memory(process);
        }
        self.reduce_instances();
        for engine in &mut self.engines {
            engine.apply_limits(count, self.sampled, self.passed);
        }
    }

    /// For all engines together, so that all times are minima of equally many repetitions.
    fn reduce_instances(&mut self) {
        if self.instance_count == InstanceCount::Repeated {
            let repeating: Duration = self.engines.iter().map(|engine| engine.repeating).sum();
            let at_first = REPEATING_AT_FIRST * self.engines.len() as u32;
            let memory_bytes: u64 = self.engines.iter().map(|engine| engine.memory_bytes).sum();
            if memory_bytes > REPEATING_BYTES || repeating > at_first + self.passed / REPEATING_SHARE {
                self.set_instance_count(InstanceCount::Two);
            }
        } else if self.instance_count == InstanceCount::Two
            && self.engines.iter().any(|engine| engine.queued_bytes() > TWO_INSTANCES_BYTES)
        {
            self.set_instance_count(InstanceCount::One);
        }
    }

    fn set_instance_count(&mut self, instance_count: InstanceCount) {
        self.instance_count = instance_count;
        self.engines.iter_mut().for_each(|engine| engine.set_instance_count(instance_count));
    }

    fn play_warm(&mut self, process: usize, steps: &[Step], first: usize) {
        if steps.is_empty() {
            return;
        }
        let (count, rank) = (self.engines.len(), self.ranks[process]);
        let mut stopwatch = Stopwatch::start();
        for at in first..first + count {
            let engine = &mut self.engines[at % count];
            let elapsed = engine.play_warm(process, rank, steps, self.clock_ns, &mut stopwatch);
            self.timed.wall += elapsed.wall;
            self.timed.cpu += elapsed.cpu;
        }
    }

    fn play_cold(&mut self, process: usize, phase: &[Step], first: usize) {
        let mut stopwatch = Stopwatch::start();
        let (count, rank) = (self.engines.len(), self.ranks[process]);
        for engine in &mut self.engines {
            engine.prepare_cold(process, rank, phase);
        }
        self.flush.flush();
        for step in phase {
            black_box(*step);
        }
        for at in first..first + count {
            self.engines[at % count].play_cold(process, phase, self.clock_ns);
        }
        self.cold_phases += 1;
        self.cold_time += stopwatch.restart().cpu;
    }

    fn may_flush(&self) -> bool {
        self.cold_time < self.cold_at_first + self.passed / COLD_SHARE
    }

    pub fn engines(&self) -> Vec<EngineMeasurements> {
        let one = |engine: &MeasuredEngine| engine.measurements(&self.observers, &self.phases);
        self.engines.iter().map(one).collect()
    }

    pub fn sites(&self) -> &[(SearchCounts, SearchCounts)] {
        self.engines.first().map_or(&[], |engine| &engine.sites)
    }

    pub fn timings(&self) -> Timings {
        let first = self.engines.first().map(|engine| engine.spread).unwrap_or_default();
        let excess = first.median_ns / first.shortest_ns - 1.0;
        Timings {
            wall_s: self.timed.wall.as_secs_f64(),
            processor_s: self.timed.cpu.min(self.timed.wall).as_secs_f64(),
            bursts: self.engines.iter().map(|engine| engine.spread.bursts).sum(),
            interrupted: self.engines.iter().map(|engine| engine.spread.interrupted).sum(),
            cold_phases: self.cold_phases,
            repetition_excess: if excess.is_finite() { excess } else { 0.0 },
        }
    }
}

fn clock_ns() -> f64 {
    let mut shortest = Duration::MAX;
    for _ in 0..1000 {
        shortest = shortest.min(Instant::now().elapsed());
    }
    shortest.as_nanos() as f64
}
