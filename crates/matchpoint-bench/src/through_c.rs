//! Engines called from C, next to stand-ins for MPI libraries: `matchpoint bench engines --through c`.
//!
//! A C driver plays the scripts with requests of 256 bytes. The ids are the addresses of the requests. Engines are
//! called through `matchpoint.h`, and stand-ins link the requests themselves.

mod player;

use std::time::{Duration, Instant};

use matchpoint::engines;

pub use self::player::{Phases, Player, stand_ins};
use crate::budget::Stopwatch;
use crate::measure::{
    Options, Progress, REPETITIONS, given_up, is_strict, measure_rows, rounds_and_repetitions, shortest,
};
use crate::player::{FULL, FirstRound, STRIDE, Sum, mismatch, result_of, sum};
use crate::results::{Cell, Outcome, Results, Timing};
use crate::script::{NONE, Part, Phase, Script};
use crate::workloads::Job;

pub fn is_stand_in(name: &str) -> bool {
    stand_ins().contains(&name)
}

/// Measures engines and then the stand-ins, with warm caches. `None`: `progress` stopped the measurement.
pub fn run(options: &Options, jobs: &[Job], progress: Progress<'_>) -> Result<Option<Results>, String> {
    let stand_ins = stand_ins().into_iter().map(str::to_owned);
    let names: Vec<String> = options.engines.iter().cloned().chain(stand_ins).collect();
    measure_rows(jobs, &names, false, progress, |job, go_on| measure_job(job, &names, options.budget, go_on))
}

fn measure_job(
    job: &Job,
    names: &[String],
    budget: Duration,
    go_on: &mut dyn FnMut(&str) -> bool,
) -> Result<Option<Vec<Cell>>, String> {
    let script = job.script();
    let [part] = &script.parts[..] else { return Err(format!("{job}: C plays no traces")) };
    let round = Phases::new(&part.round).ok_or_else(|| format!("{job}: C plays no traces"))?;
    let mut candidates = Vec::new();
    for name in names {
        if !go_on(&format!("{job}, {name}")) {
            return Ok(None);
        }
        candidates.push(MeasuredEngine::enter(name, &script, part, &round, budget)?);
    }
    let sum = sum(&script);
    for repetition in 0..REPETITIONS {
        for turn in 0..candidates.len() {
            let at = (turn + repetition) % candidates.len();
            candidates[at].repeat(repetition, &script, &round, sum);
        }
        if !go_on(&job.to_string()) {
            return Ok(None);
        }
    }
    Ok(Some(candidates.into_iter().map(|candidate| candidate.cell(job)).collect()))
}

struct MeasuredEngine {
    name: String,
    substitute: Option<String>,
    player: Player,
    given_up: Option<Outcome>,
    rounds: usize,
    repetitions: usize,
    samples: Vec<f64>,
    is_wrong: bool,
}

impl MeasuredEngine {
    fn enter(
        name: &str,
        script: &Script,
        part: &Part,
        round: &Phases<'_>,
        budget: Duration,
    ) -> Result<Self, String> {
        let (mut has_order, mut substitute) = (true, None);
        if !is_stand_in(name) {
            let engine = engines::create(name).map_err(|error| error.to_string())?;
            (has_order, substitute) = (is_strict(&*engine), engine.substitute().map(str::to_owned));
        }
        let setup = Phases::new(&part.setup).ok_or("C plays no traces")?;
        let calls = |phases: &[Phase]| phases.iter().map(Phase::calls).sum::<usize>();
        let mut player = Player::new(name, calls(&part.setup) + calls(&part.round))?;
        player.play_rounds(&setup, 1);
        let first = play_first(&mut player, script, part, round, budget);
        let given_up = given_up(first, has_order, script);
        let mut took = budget;
        if given_up.is_none() {
            took = shortest(budget, || play_rounds(&mut player, round, 1).1);
        }
        let (rounds, repetitions) = rounds_and_repetitions(took, budget);
        let (name, samples) = (name.to_owned(), Vec::new());
        Ok(MeasuredEngine {
            name,
            substitute,
            player,
            given_up,
            rounds,
            repetitions,
            samples,
            is_wrong: false,
        })
    }

    fn repeat(&mut self, repetition: usize, script: &Script, round: &Phases<'_>, sum: Sum) {
        if self.given_up.is_some() || repetition >= self.repetitions {
            return;
        }
        let (found, elapsed) = play_rounds(&mut self.player, round, self.rounds);
        self.is_wrong |= found != sum.wrapping_mul(self.rounds as u64);
        self.samples.push(elapsed.as_nanos() as f64 / (self.rounds * script.matched.max(1)) as f64);
    }

    fn cell(mut self, job: &Job) -> Cell {
        let outcome = match self.given_up.take() {
            None if self.is_wrong => {
                Outcome::Wrong("a later round has other results than the first".to_owned())
            }
            None => Outcome::Measured(Timing::of_repetitions(&mut self.samples)),
            Some(outcome) => outcome,
        };
        Cell {
            workload: job.name().to_owned(),
            n: job.n(),
            engine: self.name,
            substitute: self.substitute,
            outcome,
            attempts_mean: None,
            bytes_peak: 0,
        }
    }
}

fn play_rounds(player: &mut Player, round: &Phases<'_>, rounds: usize) -> (Sum, Duration) {
    let started = Instant::now();
    let sum = player.play_rounds(round, rounds);
    (sum, started.elapsed())
}

fn play_first(
    player: &mut Player,
    script: &Script,
    part: &Part,
    round: &Phases<'_>,
    budget: Duration,
) -> FirstRound {
    let spent = Stopwatch::start();
    let each = part.round.iter().enumerate();
    let each = each.flat_map(|(at, phase)| (0..phase.calls()).map(move |call| (at, call)));
    let expected = script.expected.iter().flatten().copied().chain(std::iter::repeat(NONE));
    for (calls, ((at, call), right)) in each.zip(expected).enumerate() {
        if calls > 0 && calls % STRIDE == 0 {
            if let Some(spent) = spent.exceeding(budget) {
                return FirstRound::TooSlow { calls, spent };
            }
        }
        let result = player.play_call(round, at, call);
        if result == FULL {
            return FirstRound::Full { calls };
        }
        if let Some(what) = mismatch(calls, result_of(result), right) {
            return FirstRound::Wrong(what);
        }
    }
    FirstRound::Right
}
