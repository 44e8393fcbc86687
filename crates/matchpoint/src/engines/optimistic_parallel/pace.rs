//! Batching policy: selects the fastest method for batches of one size under the present load. Methods differ
//! in time only.
//!
//! The policy uses trials. A trial runs the methods in turn, for three rounds, so that a disturbance does not
//! affect one method alone. Each turn waits until all workers participate, skips two batches and times three.
//! The method with the least median is used until the next trial.
//!
//! The cost of a trial is its time beyond the time of the chosen method. It is at most 1/50 of the time of
//! all batches, and the whole trial at most 1/10. Time between batches does not count.

use std::time::{Duration, Instant};

/// Maximum number of methods.
const WAYS: usize = 3;

/// Maximum time that a turn waits for workers to wake or sleep.
const WARM: Duration = Duration::from_millis(1);

/// Rounds of a trial. An interruption of a thread lasts longer than one turn.
const ROUNDS: usize = 3;

/// Untimed batches at the start of a turn, which load cache lines written by other threads.
const FIRST: usize = 2;

/// Timed batches of a turn.
const TIMED: usize = 3;

/// Timed batches of a method.
const SAMPLES: usize = ROUNDS * TIMED;

/// Time of all batches ÷ cost of a trial, at least.
const COST_SHARE: u64 = 50;

/// Time of all batches ÷ time of a trial, at least.
const WHOLE_SHARE: u64 = 10;

/// Batches between two trials, at least.
const LEAST: u64 = 64;

/// Policy for similar batches.
#[derive(Clone, Copy, Default)]
pub(super) struct Pace {
    best: usize,
    rest: u64,
    trial: Option<Trial>,
}

#[derive(Clone, Copy)]
struct Trial {
    /// Time and messages of all batches, by method.
    took: [Duration; WAYS],
    messages: [u64; WAYS],
    turn_began: Instant,
    /// Batches of this turn since the workers are settled.
    batches: usize,
    /// Timed batches of all methods.
    timed: usize,
    samples_ps: [[u64; SAMPLES]; WAYS],
}

impl Trial {
    fn new(turn_began: Instant) -> Self {
        Trial {
            took: [Duration::ZERO; WAYS],
            messages: [0; WAYS],
            turn_began,
            batches: 0,
            timed: 0,
            samples_ps: [[0; SAMPLES]; WAYS],
        }
    }

    fn way(&self, ways: usize) -> usize {
        self.timed / TIMED % ways
    }

    fn whole_ps(&self) -> u64 {
        ps(self.took.iter().sum())
    }

    /// Time of the slower methods beyond `best_ps` per message.
    fn cost_ps(&self, best_ps: u64) -> u64 {
        let each = self.took.iter().zip(&self.messages);
        each.map(|(&took, messages)| ps(took).saturating_sub(best_ps.saturating_mul(*messages))).sum()
    }
}

/// Method of a batch.
pub(super) struct Choice {
    pub(super) way: usize,
    started: Option<Instant>,
}

impl Choice {
    pub(super) fn is_timed(&self) -> bool {
        self.started.is_some()
    }
}

impl Pace {
    /// Selects one of the first `ways` methods for the next batch.
    pub(super) fn start(&mut self, ways: usize) -> Choice {
        if ways < 2 {
            return Choice { way: 0, started: None };
        }
        if self.rest > 0 {
            self.rest -= 1;
            return Choice { way: self.best.min(ways - 1), started: None };
        }
        let now = Instant::now();
        Choice { way: self.trial.get_or_insert_with(|| Trial::new(now)).way(ways), started: Some(now) }
    }

    /// Ends the batch of this choice. `is_settled`: all workers that the method needs participated, or all
    /// slept if it needs none.
    pub(super) fn stop(&mut self, choice: &Choice, ways: usize, messages: usize, is_settled: bool) {
        if let Some(started) = choice.started {
            self.learn(started, Instant::now(), ways, messages, is_settled);
        }
    }

    fn learn(&mut self, started: Instant, ended: Instant, ways: usize, messages: usize, is_settled: bool) {
        let Some(trial) = &mut self.trial else { return };
        let way = trial.way(ways);
        trial.took[way] += ended - started;
        trial.messages[way] += messages as u64;
        trial.batches += usize::from(is_settled || ended - trial.turn_began >= WARM);
        if trial.batches <= FIRST {
            return;
        }
        let sample = trial.timed / (TIMED * ways) * TIMED + trial.timed % TIMED;
        trial.samples_ps[way][sample] = ps(ended - started) / messages.max(1) as u64;
        trial.timed += 1;
        if trial.timed % TIMED == 0 {
            (trial.batches, trial.turn_began) = (0, ended);
        }
        if trial.timed == SAMPLES * ways {
            let trial = *trial;
            self.decide(&trial, ways, messages);
        }
    }

    fn decide(&mut self, trial: &Trial, ways: usize, messages: usize) {
        let medians = trial.samples_ps.map(|mut samples| {
            samples.sort_unstable();
            samples[SAMPLES / 2]
        });
        let best = (0..ways).min_by_key(|&way| medians[way]).unwrap_or(0);
        let cost = COST_SHARE.saturating_mul(trial.cost_ps(medians[best]));
        let whole = WHOLE_SHARE.saturating_mul(trial.whole_ps());
        let batch_ps = medians[best].saturating_mul(messages as u64).max(1);
        *self = Pace { best, rest: (cost.max(whole) / batch_ps).max(LEAST), trial: None };
    }
}

/// Picoseconds, saturated at half a year.
fn ps(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);

    /// Batches of a trial of two methods with settled workers.
    const BATCHES: usize = 2 * ROUNDS * (FIRST + TIMED);

    /// Runs a trial of two methods with batches of ten messages. Returns the number of batches.
    fn tried(
        pace: &mut Pace,
        now: &mut Instant,
        took: [Duration; 2],
        is_settled: impl Fn(usize) -> bool,
    ) -> usize {
        disturbed(pace, now, |way, _| took[way], is_settled)
    }

    /// As `tried`; the time also depends on the number of earlier batches.
    fn disturbed(
        pace: &mut Pace,
        now: &mut Instant,
        took: impl Fn(usize, usize) -> Duration,
        is_settled: impl Fn(usize) -> bool,
    ) -> usize {
        let mut batches = 0;
        (pace.rest, pace.trial) = (0, None);
        pace.start(2);
        let trial = pace.trial.as_mut().expect("it begins");
        trial.turn_began = *now;
        while let Some(trial) = pace.trial {
            let ended = *now + took(trial.way(2), batches);
            pace.learn(*now, ended, 2, 10, is_settled(batches));
            (*now, batches) = (ended, batches + 1);
        }
        batches
    }

    /// Batches of each method.
    const OF_EACH: u64 = (BATCHES / 2) as u64;

    #[test]
    fn faster_way_runs_for_fifty_trial_costs() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        for (took, best) in [([20 * US, 4 * US], 1), ([4 * US, 20 * US], 0)] {
            assert_eq!(tried(&mut pace, &mut now, took, |_| true), BATCHES);
            assert_eq!((pace.best, pace.rest), (best, 50 * OF_EACH * (20 - 4) / 4));
            assert_eq!(pace.start(2).way, best);
        }
    }

    #[test]
    fn trial_without_cost_takes_a_tenth() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        tried(&mut pace, &mut now, [4 * US, 4 * US], |_| true);
        assert_eq!(pace.rest, 10 * 2 * OF_EACH);
        // Batches continue while a turn waits for workers.
        (pace, now) = (Pace::default(), Instant::now());
        let batches = tried(&mut pace, &mut now, [4 * US, 4 * US], |batch| batch >= 1000);
        assert!(batches > 500);
        assert_eq!(pace.rest, 10 * batches as u64);
    }

    #[test]
    fn way_is_timed_after_workers_settle() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        let batches = tried(&mut pace, &mut now, [20 * US, 4 * US], |batch| batch >= 10);
        assert_eq!(batches, 10 + BATCHES);
        // Workers never settle: each turn waits 1 ms.
        let batches = tried(&mut pace, &mut now, [20 * US, 10 * US], |_| false);
        assert_eq!(batches, ROUNDS * (49 + 99) + BATCHES);
    }

    #[test]
    fn short_interruption_does_not_change_choice() {
        for first in 0..BATCHES {
            let (mut pace, mut now) = (Pace::default(), Instant::now());
            let took = |way, batch| {
                [4 * US, 6 * US][way] + if batch / 4 == first / 4 { 50 * US } else { Duration::ZERO }
            };
            disturbed(&mut pace, &mut now, took, |_| true);
            assert_eq!(pace.best, 0, "interrupted in batch {first}");
        }
    }

    /// Runs batches of ten messages with three methods that take `took` microseconds, with pauses. Returns
    /// the number of batches in trials and their fraction of the time.
    fn played(batches: usize, took: impl Fn(usize, usize) -> u64, between: Duration) -> (usize, f64) {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        let (mut tried, mut in_trials, mut all) = (0, Duration::ZERO, Duration::ZERO);
        for batch in 0..batches {
            let choice = pace.start(3);
            let is_trial = pace.trial.is_some();
            let ended = now + Duration::from_micros(took(choice.way, batch));
            if choice.is_timed() {
                pace.learn(now, ended, 3, 10, true);
            }
            tried += usize::from(is_trial);
            in_trials += if is_trial { ended - now } else { Duration::ZERO };
            all += ended - now;
            now = ended + between;
        }
        (tried, in_trials.as_secs_f64() / all.as_secs_f64())
    }

    /// Batches of a trial of three methods.
    const OF_THREE: usize = 3 * ROUNDS * (FIRST + TIMED);

    #[test]
    #[cfg_attr(miri, ignore = "hours, and all of it is safe code")]
    fn changing_load_causes_few_trials() {
        for changes in [20, 40, 60, 100, 200, 500, 1000] {
            let load = |batch: usize| [1, 3][batch / changes % 2];
            let (tried, share) = played(60_000, |way, batch| [4, 8, 8][way] * load(batch), Duration::ZERO);
            assert!(
                share < 0.1,
                "a change every {changes} batches: {tried} are in trials, {share} of the time"
            );
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "hours, and all of it is safe code")]
    fn idle_time_between_batches_delays_no_trial() {
        let idle = Duration::from_millis(1);
        assert_eq!(
            played(20_000, |way, _| [2, 4, 4][way], idle),
            played(20_000, |way, _| [2, 4, 4][way], Duration::ZERO)
        );
        assert!(played(20_000, |way, _| [2, 4, 4][way], idle).0 > 2 * OF_THREE, "there was more than one");
    }

    #[test]
    fn trial_of_days_does_not_overflow() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        let day = Duration::from_secs(86_400);
        tried(&mut pace, &mut now, [day, 2 * day], |_| true);
        assert_eq!((pace.best, pace.rest >= LEAST), (0, true));
    }
}
