//! Batching policy: selects the fastest matching method for batches of one size under the current load.
//!
//! A trial runs the methods in turn, for three rounds, so that a disturbance affects several methods. Each
//! turn waits until all workers participate, skips two batches, and times three. The method with the smallest
//! median time is used until the next trial.
//!
//! The cost of a trial is the time beyond that of the chosen method: at most 1/50 of the time of all batches.
//! The whole trial takes at most 1/10 of that time. Time between batches does not count.

use std::time::{Duration, Instant};

const METHODS: usize = 3;

/// Maximum wait of a turn for workers to wake or sleep.
const SETTLE_TIME_MAX: Duration = Duration::from_millis(1);

/// An interruption of a thread lasts longer than a turn, so a trial has several rounds.
const ROUNDS: usize = 3;

/// Untimed batches of a turn, which load cache lines written by other threads.
const UNTIMED: usize = 2;

const TIMED: usize = 3;

const SAMPLES: usize = ROUNDS * TIMED;

const COST_RATIO_MIN: u64 = 50;

const TIME_RATIO_MIN: u64 = 10;

const BATCHES_BETWEEN_MIN: u64 = 64;

#[derive(Clone, Copy, Default)]
pub(super) struct BatchingPolicy {
    best: usize,
    batches_to_trial: u64,
    trial: Option<Trial>,
}

#[derive(Clone, Copy)]
struct Trial {
    took: [Duration; METHODS],
    messages: [u64; METHODS],
    turn_began: Instant,
    /// Batches of this turn, counted after the workers settled.
    batches: usize,
    timed: usize,
    samples_ps: [[u64; SAMPLES]; METHODS],
}

impl Trial {
    fn new(turn_began: Instant) -> Self {
        Trial {
            took: [Duration::ZERO; METHODS],
            messages: [0; METHODS],
            turn_began,
            batches: 0,
            timed: 0,
            samples_ps: [[0; SAMPLES]; METHODS],
        }
    }

    fn method(&self, methods: usize) -> usize {
        self.timed / TIMED % methods
    }

    fn whole_ps(&self) -> u64 {
        ps(self.took.iter().sum())
    }

    /// Time that slower methods took beyond `best_ps` picoseconds per message.
    fn cost_ps(&self, best_ps: u64) -> u64 {
        let each = self.took.iter().zip(&self.messages);
        each.map(|(&took, messages)| ps(took).saturating_sub(best_ps.saturating_mul(*messages))).sum()
    }
}

pub(super) struct Choice {
    pub(super) method: usize,
    started: Option<Instant>,
}

impl Choice {
    pub(super) fn is_timed(&self) -> bool {
        self.started.is_some()
    }
}

impl BatchingPolicy {
    pub(super) fn start(&mut self, methods: usize) -> Choice {
        if methods < 2 {
            return Choice { method: 0, started: None };
        }
        if self.batches_to_trial > 0 {
            self.batches_to_trial -= 1;
            return Choice { method: self.best.min(methods - 1), started: None };
        }
        let now = Instant::now();
        Choice {
            method: self.trial.get_or_insert_with(|| Trial::new(now)).method(methods),
            started: Some(now),
        }
    }

    /// `is_settled`: all workers that the method needs participated; if the method needs no workers, all
    /// slept.
    pub(super) fn stop(&mut self, choice: &Choice, methods: usize, messages: usize, is_settled: bool) {
        if let Some(started) = choice.started {
            self.record_time(started, Instant::now(), methods, messages, is_settled);
        }
    }

    fn record_time(
        &mut self,
        started: Instant,
        ended: Instant,
        methods: usize,
        messages: usize,
        is_settled: bool,
    ) {
        let Some(trial) = &mut self.trial else { return };
        let method = trial.method(methods);
        trial.took[method] += ended - started;
        trial.messages[method] += messages as u64;
        trial.batches += usize::from(is_settled || ended - trial.turn_began >= SETTLE_TIME_MAX);
        if trial.batches <= UNTIMED {
            return;
        }
        let sample = trial.timed / (TIMED * methods) * TIMED + trial.timed % TIMED;
        trial.samples_ps[method][sample] = ps(ended - started) / messages.max(1) as u64;
        trial.timed += 1;
        if trial.timed % TIMED == 0 {
            (trial.batches, trial.turn_began) = (0, ended);
        }
        if trial.timed == SAMPLES * methods {
            let trial = *trial;
            self.end_trial(&trial, methods, messages);
        }
    }

    fn end_trial(&mut self, trial: &Trial, methods: usize, messages: usize) {
        let medians = trial.samples_ps.map(|mut samples| {
            samples.sort_unstable();
            samples[SAMPLES / 2]
        });
        let best = (0..methods).min_by_key(|&method| medians[method]).unwrap_or(0);
        let cost = COST_RATIO_MIN.saturating_mul(trial.cost_ps(medians[best]));
        let total = TIME_RATIO_MIN.saturating_mul(trial.whole_ps());
        let batch_ps = medians[best].saturating_mul(messages as u64).max(1);
        *self = BatchingPolicy {
            best,
            batches_to_trial: (cost.max(total) / batch_ps).max(BATCHES_BETWEEN_MIN),
            trial: None,
        };
    }
}

/// Picoseconds of `time`, at most half a year.
fn ps(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);

    /// Batches of a trial of two methods with settled workers.
    const BATCHES: usize = 2 * ROUNDS * (UNTIMED + TIMED);

    fn run_trial(
        policy: &mut BatchingPolicy,
        now: &mut Instant,
        took: [Duration; 2],
        is_settled: impl Fn(usize) -> bool,
    ) -> usize {
        run_disturbed_trial(policy, now, |method, _| took[method], is_settled)
    }

    /// The time depends on method and number of earlier batches.
    fn run_disturbed_trial(
        policy: &mut BatchingPolicy,
        now: &mut Instant,
        took: impl Fn(usize, usize) -> Duration,
        is_settled: impl Fn(usize) -> bool,
    ) -> usize {
        let mut batches = 0;
        (policy.batches_to_trial, policy.trial) = (0, None);
        policy.start(2);
        let trial = policy.trial.as_mut().expect("a trial begins");
        trial.turn_began = *now;
        while let Some(trial) = policy.trial {
            let ended = *now + took(trial.method(2), batches);
            policy.record_time(*now, ended, 2, 10, is_settled(batches));
            (*now, batches) = (ended, batches + 1);
        }
        batches
    }

    const BATCHES_PER_METHOD: u64 = (BATCHES / 2) as u64;

    #[test]
    fn trial_cost_is_fiftieth_of_time() {
        let (mut policy, mut now) = (BatchingPolicy::default(), Instant::now());
        for (took, best) in [([20 * US, 4 * US], 1), ([4 * US, 20 * US], 0)] {
            assert_eq!(run_trial(&mut policy, &mut now, took, |_| true), BATCHES);
            assert_eq!(
                (policy.best, policy.batches_to_trial),
                (best, 50 * BATCHES_PER_METHOD * (20 - 4) / 4)
            );
            assert_eq!(policy.start(2).method, best);
        }
    }

    #[test]
    fn trial_takes_tenth_of_time() {
        let (mut policy, mut now) = (BatchingPolicy::default(), Instant::now());
        run_trial(&mut policy, &mut now, [4 * US, 4 * US], |_| true);
        assert_eq!(policy.batches_to_trial, 10 * 2 * BATCHES_PER_METHOD);
        // Batches continue while a turn waits for workers.
        (policy, now) = (BatchingPolicy::default(), Instant::now());
        let batches = run_trial(&mut policy, &mut now, [4 * US, 4 * US], |batch| batch >= 1000);
        assert!(batches > 500);
        assert_eq!(policy.batches_to_trial, 10 * batches as u64);
    }

    #[test]
    fn method_is_timed_after_workers_settle() {
        let (mut policy, mut now) = (BatchingPolicy::default(), Instant::now());
        let batches = run_trial(&mut policy, &mut now, [20 * US, 4 * US], |batch| batch >= 10);
        assert_eq!(batches, 10 + BATCHES);
        // Workers never settle, so each turn waits 1 ms.
        let batches = run_trial(&mut policy, &mut now, [20 * US, 10 * US], |_| false);
        assert_eq!(batches, ROUNDS * (49 + 99) + BATCHES);
    }

    #[test]
    fn short_interruption_does_not_change_choice() {
        for first in 0..BATCHES {
            let (mut policy, mut now) = (BatchingPolicy::default(), Instant::now());
            let took = |method, batch| {
                [4 * US, 6 * US][method] + if batch / 4 == first / 4 { 50 * US } else { Duration::ZERO }
            };
            run_disturbed_trial(&mut policy, &mut now, took, |_| true);
            assert_eq!(policy.best, 0, "interrupted in batch {first}");
        }
    }

    fn run_batches(batches: usize, took: impl Fn(usize, usize) -> u64, between: Duration) -> (usize, f64) {
        let (mut policy, mut now) = (BatchingPolicy::default(), Instant::now());
        let (mut run_trial, mut in_trials, mut all) = (0, Duration::ZERO, Duration::ZERO);
        for batch in 0..batches {
            let choice = policy.start(3);
            let is_trial = policy.trial.is_some();
            let ended = now + Duration::from_micros(took(choice.method, batch));
            if choice.is_timed() {
                policy.record_time(now, ended, 3, 10, true);
            }
            run_trial += usize::from(is_trial);
            in_trials += if is_trial { ended - now } else { Duration::ZERO };
            all += ended - now;
            now = ended + between;
        }
        (run_trial, in_trials.as_secs_f64() / all.as_secs_f64())
    }

    const TRIAL_BATCHES: usize = 3 * ROUNDS * (UNTIMED + TIMED);

    #[test]
    #[cfg_attr(miri, ignore = "hours, and all of it is safe code")]
    fn changing_load_causes_few_trials() {
        for changes in [20, 40, 60, 100, 200, 500, 1000] {
            let load = |batch: usize| [1, 3][batch / changes % 2];
            let (run_trial, share) =
                run_batches(60_000, |method, batch| [4, 8, 8][method] * load(batch), Duration::ZERO);
            assert!(
                share < 0.1,
                "the load changes every {changes} batches: {run_trial} batches in trials take {share} of the time"
            );
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "hours, and all of it is safe code")]
    fn idle_time_between_batches_delays_no_trial() {
        let idle = Duration::from_millis(1);
        assert_eq!(
            run_batches(20_000, |method, _| [2, 4, 4][method], idle),
            run_batches(20_000, |method, _| [2, 4, 4][method], Duration::ZERO)
        );
        assert!(
            run_batches(20_000, |method, _| [2, 4, 4][method], idle).0 > 2 * TRIAL_BATCHES,
            "there was more than one trial"
        );
    }

    #[test]
    fn trial_of_days_does_not_overflow() {
        let (mut policy, mut now) = (BatchingPolicy::default(), Instant::now());
        let day = Duration::from_secs(86_400);
        run_trial(&mut policy, &mut now, [day, 2 * day], |_| true);
        assert_eq!((policy.best, policy.batches_to_trial >= BATCHES_BETWEEN_MIN), (0, true));
    }
}
