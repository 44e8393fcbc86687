//! Who plays what, how often, and when.
//!
//! Engines take turns within every repetition, so that whatever slows the machine hits all alike; a repetition begins
//! with another engine each time. One that cannot finish a round within its budget is given up, and said so.

use std::time::{Duration, Instant};

use matchpoint::Engine;
use matchpoint::engines::{self, NameError};

use crate::model;
use crate::player::{self, First, Split};
use crate::reference::reference_ns;
use crate::results::{Cell, Figures, Outcome, Results};
use crate::script::{Kind, Script};
use crate::statistics::{median, percentile};
use crate::workloads::Sized;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names of engines.
    pub engines: Vec<String>,
    /// Which workloads.
    pub workloads: Vec<Sized>,
    /// Time that one engine may take on one workload.
    pub budget: Duration,
}

/// Repetitions, unless the budget ends before.
const REPETITIONS: usize = 31;

/// One repetition lasts at least so long: clock and interrupts vanish in it.
const SAMPLE: Duration = Duration::from_micros(1000);

/// A phase of this many calls may be timed by itself: two looks at a clock are less than 1 % of it.
const SPLIT_CALLS: usize = 1000;

/// Samples of the reference loop for each workload.
const REFERENCE_SAMPLES: usize = 9;

/// Measures. `progress` is told how many of how many workloads are done, and what comes next; it returns false to stop.
///
/// # Errors
/// An engine's name cannot be understood.
pub fn run(
    options: &Options,
    progress: &mut dyn FnMut(usize, usize, &str) -> bool,
) -> Result<Option<Results>, NameError> {
    for engine in &options.engines {
        engines::create(engine)?;
    }
    let total = options.workloads.len();
    let (mut cells, mut references) = (Vec::new(), Vec::new());
    for (done, sized) in options.workloads.iter().enumerate() {
        if !progress(done, total, &sized.to_string()) {
            return Ok(None);
        }
        references.push(reference_ns(REFERENCE_SAMPLES));
        cells.extend(workload(*sized, options)?);
    }
    let range = references.iter().fold((f64::MAX, 0.0_f64), |(low, high), &ns| (low.min(ns), high.max(ns)));
    Ok(Some(Results {
        reference_ns: median(&mut references),
        reference_range_ns: range,
        engines: options.engines.clone(),
        cells,
        host: String::new(),
    }))
}

/// One engine while a workload runs.
struct Contestant {
    engine: Box<dyn Engine>,
    outcome: Option<Outcome>,
    attempts_mean: Option<f64>,
    /// Rounds of one repetition.
    rounds: usize,
    repetitions: usize,
    samples: Vec<f64>,
    splits: Vec<Split>,
    wrong: bool,
}

fn workload(sized: Sized, options: &Options) -> Result<Vec<Cell>, NameError> {
    let script = (sized.workload.build)(sized.n);
    let expected = model::answers(&script);
    let mut contestants = Vec::new();
    for name in &options.engines {
        contestants.push(Contestant::enter(name, &script, &expected, options.budget)?);
    }
    let sum = player::sum(&expected);
    let can_split =
        script.round.iter().all(|phase| phase.kind != Kind::Pairs && phase.calls() >= SPLIT_CALLS);
    for repetition in 0..REPETITIONS {
        for turn in 0..contestants.len() {
            let at = (turn + repetition) % contestants.len();
            let contestant = &mut contestants[at];
            if contestant.outcome.is_none() && repetition < contestant.repetitions {
                contestant.repeat(&script, sum, can_split);
            }
        }
    }
    let cells = contestants.into_iter().zip(&options.engines);
    Ok(cells.map(|(contestant, name)| contestant.cell(sized, name, script.matched())).collect())
}

impl Contestant {
    fn enter(name: &str, script: &Script, expected: &[u32], budget: Duration) -> Result<Self, NameError> {
        let mut engine = engines::create(name)?;
        // The first round allocates, the second is as all others will be.
        let first = player::first(&mut *engine, script, expected, budget);
        let (mut outcome, mut took) = (None, budget);
        match first {
            First::Right(elapsed) => took = elapsed,
            First::Wrong(what) => outcome = Some(Outcome::Wrong(what)),
            First::TooSlow { calls, elapsed } => {
                let above_ns = elapsed.as_nanos() as f64 / script.matched() as f64;
                let why = format!(
                    "{calls} of the {} calls of one round took {:.1} s",
                    script.calls(),
                    elapsed.as_secs_f64()
                );
                outcome = Some(Outcome::TooSlow { above_ns, why });
            }
        }
        let mut attempts_mean = None;
        if outcome.is_none() {
            attempts_mean = Some(attempts(name, script)?);
            let started = Instant::now();
            player::rounds(&mut *engine, script, 1);
            took = took.min(started.elapsed()).max(Duration::from_nanos(1));
        }
        let rounds = SAMPLE.as_nanos().div_ceil(took.as_nanos()).max(1) as usize;
        let repetition = took * rounds as u32;
        let affordable = budget.as_nanos() / repetition.as_nanos();
        Ok(Contestant {
            engine,
            outcome,
            attempts_mean,
            rounds,
            repetitions: (affordable as usize).clamp(1, REPETITIONS),
            samples: Vec::new(),
            splits: Vec::new(),
            wrong: false,
        })
    }

    fn repeat(&mut self, script: &Script, sum: u64, can_split: bool) {
        let started = Instant::now();
        let answered = player::rounds(&mut *self.engine, script, self.rounds);
        let elapsed_ns = started.elapsed().as_nanos() as f64;
        self.wrong |= answered != sum.wrapping_mul(self.rounds as u64);
        self.samples.push(elapsed_ns / (self.rounds * script.matched()) as f64);
        if can_split {
            self.splits.push(player::split(&mut *self.engine, script));
        }
    }

    fn cell(mut self, sized: Sized, name: &str, matched: usize) -> Cell {
        let wrong = || Outcome::Wrong("a later round was answered otherwise than the first".to_owned());
        let outcome = match self.outcome.take() {
            None if self.wrong => wrong(),
            None => Outcome::Measured(self.figures(matched)),
            Some(outcome) => outcome,
        };
        Cell {
            workload: sized.workload.name.to_owned(),
            n: sized.n,
            engine: name.to_owned(),
            outcome,
            attempts_mean: self.attempts_mean,
            bytes_peak: self.engine.footprint().peak_bytes,
        }
    }

    fn figures(&mut self, matched: usize) -> Figures {
        let median_of = |part: fn(&Split) -> f64| {
            let mut each: Vec<f64> = self.splits.iter().map(|split| part(split) / matched as f64).collect();
            median(&mut each)
        };
        let split = (median_of(|split| split.post_ns), median_of(|split| split.arrive_ns));
        let ns_median = median(&mut self.samples);
        Figures {
            ns_median,
            ns_min: self.samples[0],
            ns_p25: percentile(&self.samples, 0.25),
            ns_p75: percentile(&self.samples, 0.75),
            samples: self.samples.len(),
            split: (!self.splits.is_empty()).then_some(split),
        }
    }
}

/// Entries examined per matched message, in the second round: the first may be unlike the others.
fn attempts(name: &str, script: &Script) -> Result<f64, NameError> {
    let mut engine = engines::create_counting(name)?;
    for phase in &script.standing {
        player::play(&mut *engine, phase);
    }
    let so_far = |engine: &dyn Engine| engine.attempts().posted + engine.attempts().unexpected;
    player::rounds(&mut *engine, script, 1);
    let before = so_far(&*engine);
    player::rounds(&mut *engine, script, 1);
    Ok((so_far(&*engine) - before) as f64 / script.matched() as f64)
}
