//! Schedule of the measurements.
//!
//! Engines alternate within every repetition, so that a slow phase of the host affects all engines. Each repetition
//! starts with another engine. An engine that exceeds its budget in one round is stopped and reported.

use std::time::Duration;

use matchpoint::engines::{self, NameError, at_process};
use matchpoint::{Engine, Hints, Order};

use crate::budget::format_duration;
use crate::cold::{self, Flush, Singles};
use crate::floor::floor_ns;
use crate::player::{self, Engines, FirstRound, Split};
use crate::reference::reference_ns;
use crate::results::{Cell, Outcome, Results, Timing};
use crate::script::Script;
use crate::statistics::{median, percentile};
use crate::workloads::Job;

#[derive(Clone, Debug)]
pub struct Options {
    pub engines: Vec<String>,
    pub budget: Duration,
    pub is_cold: bool,
}

/// Receives the completed workloads, all workloads, and the current work. Returns false to stop.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize, &str) -> bool;

pub(crate) const REPETITIONS: usize = 31;

/// Minimum duration of a sample, so that clock reads and interrupts are negligible.
const SAMPLE: Duration = Duration::from_micros(1000);

const REFERENCE_SAMPLES: usize = 9;

/// `None` if `progress` stopped the measurement.
pub fn run(options: &Options, jobs: &[Job], progress: Progress<'_>) -> Result<Option<Results>, NameError> {
    for engine in &options.engines {
        engines::create(engine)?;
    }
    let mut flush = options.is_cold.then(Flush::new);
    let row = |job: &Job, go_on: &mut dyn FnMut(&str) -> bool| workload(job, options, flush.as_mut(), go_on);
    measure_rows(jobs, &options.engines, options.is_cold, progress, row)
}

/// Measures the row of each workload. Measures the reference loop before each row.
pub(crate) fn measure_rows<E>(
    jobs: &[Job],
    engines: &[String],
    is_cold: bool,
    progress: Progress<'_>,
    mut row: impl FnMut(&Job, &mut dyn FnMut(&str) -> bool) -> Result<Option<Vec<Cell>>, E>,
) -> Result<Option<Results>, E> {
    let (mut cells, mut references, mut floors) = (Vec::new(), Vec::new(), Vec::new());
    for (done, job) in jobs.iter().enumerate() {
        references.push(reference_ns(REFERENCE_SAMPLES));
        floors.push(floor_ns(REFERENCE_SAMPLES));
        let mut go_on = |what: &str| progress(done, jobs.len(), what);
        match row(job, &mut go_on)? {
            Some(row) => cells.extend(row),
            None => return Ok(None),
        }
    }
    let range = references.iter().fold((f64::MAX, 0.0_f64), |(low, high), &ns| (low.min(ns), high.max(ns)));
    Ok(Some(Results {
        reference_ns: median(&mut references),
        reference_range_ns: range,
        floor_ns: median(&mut floors),
        is_cold,
        engines: engines.to_vec(),
        cells,
    }))
}

fn workload(
    job: &Job,
    options: &Options,
    mut flush: Option<&mut Flush>,
    go_on: &mut dyn FnMut(&str) -> bool,
) -> Result<Option<Vec<Cell>>, NameError> {
    let script = job.script();
    let mut candidates = Vec::new();
    for name in &options.engines {
        if !go_on(&format!("{job}, {name}")) {
            return Ok(None);
        }
        candidates.push(MeasuredEngine::enter(name, &script, options)?);
    }
    let sum = player::sum(&script);
    for repetition in 0..REPETITIONS {
        for turn in 0..candidates.len() {
            let at = (turn + repetition) % candidates.len();
            let candidate = &mut candidates[at];
            if candidate.given_up.is_some() || repetition >= candidate.repetitions {
                continue;
            }
            match &mut flush {
                Some(flush) => candidate.repeat_cold(&script, sum, flush, repetition),
                None => candidate.repeat(&script, sum),
            }
        }
        if !go_on(&job.to_string()) {
            return Ok(None);
        }
    }
    let cells = candidates.into_iter().zip(&options.engines);
    Ok(Some(cells.map(|(candidate, name)| candidate.cell(job, name, script.matched)).collect()))
}

/// Whether a differing result is wrong, because the engine relaxes no order and has no demands.
pub(crate) fn is_strict(engine: &dyn Engine) -> bool {
    engine.order() == Order::Total && engine.demands() == Hints::default()
}

pub(crate) fn given_up(first: FirstRound, is_strict: bool, script: &Script) -> Option<Outcome> {
    match first {
        FirstRound::Right => None,
        FirstRound::Wrong(what) if is_strict => Some(Outcome::Wrong(what)),
        FirstRound::Wrong(what) => Some(Outcome::Differs(what)),
        FirstRound::Full { calls: 0 } => Some(Outcome::Full("before the first call of a round".to_owned())),
        FirstRound::Full { calls } => {
            Some(Outcome::Full(format!("after {calls} of the {} calls of a round", script.calls())))
        }
        FirstRound::TooSlow { calls, spent } => {
            let why =
                format!("{calls} of the {} calls of a round took {}", script.calls(), format_duration(spent));
            Some(Outcome::TooSlow { above_ns: spent.as_nanos() as f64 / script.matched as f64, why })
        }
    }
}

/// Numbers of rounds per repetition and of repetitions, for a round of this duration.
pub(crate) fn rounds_and_repetitions(took: Duration, budget: Duration) -> (usize, usize) {
    let rounds = SAMPLE.as_nanos().div_ceil(took.as_nanos()).max(1) as usize;
    let affordable = budget.as_nanos() / (took.as_nanos() * rounds as u128);
    (rounds, (affordable as usize).clamp(1, REPETITIONS))
}

struct MeasuredEngine {
    engines: Engines,
    given_up: Option<Outcome>,
    attempts_mean: Option<f64>,
    rounds: usize,
    repetitions: usize,
    samples: Vec<f64>,
    splits: Vec<Split>,
    singles: Singles,
    wrong: bool,
}

impl MeasuredEngine {
    fn enter(name: &str, script: &Script, options: &Options) -> Result<Self, NameError> {
        let mut engines = created(name, script, engines::create)?;
        player::set_up(&mut engines, script);
        let is_strict = engines.iter().all(|engine| is_strict(&**engine));
        let given_up = given_up(player::first(&mut engines, script, options.budget), is_strict, script);
        let (mut attempts_mean, mut took) = (None, options.budget);
        if given_up.is_none() {
            attempts_mean = Some(attempts(name, script)?);
            took = shortest(options.budget, || player::rounds(&mut engines, script, 1).1);
        }
        let (rounds, repetitions) = rounds_and_repetitions(took, options.budget);
        Ok(MeasuredEngine {
            engines,
            given_up,
            attempts_mean,
            rounds,
            repetitions,
            samples: Vec::new(),
            splits: Vec::new(),
            singles: Singles::default(),
            wrong: false,
        })
    }

    fn repeat(&mut self, script: &Script, sum: player::Sum) {
        let (found, elapsed) = player::rounds(&mut self.engines, script, self.rounds);
        self.wrong |= found != sum.wrapping_mul(self.rounds as u64);
        self.samples.push(elapsed.as_nanos() as f64 / (self.rounds * script.matched.max(1)) as f64);
        if player::can_split(script) {
            self.splits.push(player::split(&mut self.engines, script));
        }
    }

    fn repeat_cold(&mut self, script: &Script, sum: player::Sum, flush: &mut Flush, repetition: usize) {
        let found = cold::round(&mut self.engines, script, flush, repetition, &mut self.singles);
        self.wrong |= found != sum;
    }

    fn cell(mut self, job: &Job, name: &str, matched: usize) -> Cell {
        let outcome = match self.given_up.take() {
            None if self.wrong => Outcome::Wrong("a later round has other results than the first".to_owned()),
            None if self.samples.is_empty() => Outcome::Measured(self.singles.timing()),
            None => Outcome::Measured(self.timing(matched)),
            Some(outcome) => outcome,
        };
        Cell {
            workload: job.name().to_owned(),
            n: job.n(),
            engine: name.to_owned(),
            substitute: self.engines.iter().find_map(|engine| engine.substitute()).map(str::to_owned),
            outcome,
            attempts_mean: self.attempts_mean,
            bytes_peak: self.engines.iter().map(|engine| engine.footprint().peak_bytes).max().unwrap_or(0),
        }
    }

    fn timing(&mut self, matched: usize) -> Timing {
        let median_of = |part: fn(&Split) -> f64| {
            let mut each: Vec<f64> = self.splits.iter().map(|split| part(split) / matched as f64).collect();
            median(&mut each)
        };
        let split = (median_of(|split| split.post_ns), median_of(|split| split.arrive_ns));
        Timing {
            split: (!self.splits.is_empty()).then_some(split),
            ..Timing::of_repetitions(&mut self.samples)
        }
    }
}

impl Singles {
    fn timing(&mut self) -> Timing {
        let (post, arrive) = (median(&mut self.posts), median(&mut self.arrivals));
        let both = |share| percentile(&self.posts, share) + percentile(&self.arrivals, share);
        Timing {
            ns_median: post + arrive,
            ns_min: both(0.0),
            ns_p25: both(0.25),
            ns_p75: both(0.75),
            samples: self.posts.len() + self.arrivals.len(),
            split: Some((post, arrive)),
        }
    }
}

fn created(name: &str, script: &Script, create: fn(&str) -> engines::Built) -> Result<Engines, NameError> {
    let processes = script.parts.len() as u64;
    let of = |process| if script.is_job { at_process(name, process, processes) } else { name.to_owned() };
    (0..processes).map(|process| create(&of(process))).collect()
}

/// The minimum of a few rounds, because one interruption would make a single round slow.
pub(crate) fn shortest(budget: Duration, mut play_round: impl FnMut() -> Duration) -> Duration {
    let mut shortest = Duration::MAX;
    for _ in 0..4 {
        shortest = shortest.min(play_round()).max(Duration::from_nanos(1));
        if shortest > budget / 16 {
            break;
        }
    }
    shortest
}

/// Attempts per matched message in the second round. The first round may differ.
fn attempts(name: &str, script: &Script) -> Result<f64, NameError> {
    let mut engines = created(name, script, engines::create_counting)?;
    let so_far = |engines: &Engines| -> u64 {
        engines.iter().map(|engine| engine.attempts().posted + engine.attempts().unexpected).sum()
    };
    player::set_up(&mut engines, script);
    player::rounds(&mut engines, script, 1);
    let before = so_far(&engines);
    player::rounds(&mut engines, script, 1);
    Ok((so_far(&engines) - before) as f64 / script.matched.max(1) as f64)
}
