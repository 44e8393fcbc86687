//! Which of several ways to match a batch is the fastest here and now: on this machine, with what else runs on it, for
//! batches of such a size. Ways differ in time only, never in what they come to.
//!
//! Now and then there is a trial: batches are matched each way in turn, some rounds of it, so that what disturbs one of them disturbs
//! no way alone; and some are timed, once all workers take part. The way with the least median is taken until the next trial, unless
//! the one that was taken until then is nearly as fast. A trial costs what its batches took beyond what they would have taken in the
//! way that is taken. The next one comes when that is a fiftieth of the time that batches take, later where the last ones found the
//! same; and earlier if batches, of which some are timed, take much longer or shorter than in the trial: but not before the trial was a
//! tenth of that time. What the application does between two batches is no part of it.

use std::time::{Duration, Instant};

/// Ways to choose from, at most.
const WAYS: usize = 3;

/// So long a way waits for workers who sleep, or to sleep, before it is timed as it is.
const WARM: Duration = Duration::from_millis(1);

/// Rounds of a trial. Who interrupts a thread does so for longer than a way's turn takes.
const ROUNDS: usize = 3;

/// Batches of each turn that are not timed: what they read was written by other threads than it will be.
const FIRST: usize = 2;

/// Batches timed of each turn.
const TIMED: usize = 3;

/// Batches timed of each way.
const SAMPLES: usize = ROUNDS * TIMED;

/// Of so much time a trial costs one part.
const SHARE: u64 = 50;

/// Of so much time a trial is one part at most, whatever it costs.
const WHOLE_SHARE: u64 = 10;

/// Batches between two trials, at least.
const LEAST: u64 = 64;

/// After trials that found the same, the next is so many times as far away at most.
const CALM: u64 = 4;

/// Another way has to take less than so many hundredths of the time of the one that is taken.
const HYSTERESIS: u64 = 95;

/// Between trials one batch of so many is timed: to look at the clock takes as long as to match two messages.
const EVERY: u64 = 16;

/// So many in a row that take half as long again as in the trial, or two thirds as long: things have changed.
const SURPRISES: u32 = 3;

/// Of batches that are alike.
#[derive(Clone, Copy, Default)]
pub(super) struct Pace {
    best: usize,
    /// What it took in the trial, for each message.
    best_ps: u64,
    /// Batches until the next trial.
    rest: u64,
    /// Once so few are left it may come at once.
    hasty: u64,
    /// How much later a trial comes, by what the last ones found.
    calm: u64,
    surprises: u32,
    trial: Option<Trial>,
}

#[derive(Clone, Copy)]
struct Trial {
    /// Of all of its batches, by way: what they took, and their messages.
    took: [Duration; WAYS],
    messages: [u64; WAYS],
    round: usize,
    way: usize,
    /// When its turn began.
    turn_began: Instant,
    /// Batches of it so far with all workers there, or asleep if it needs none; and those that were timed.
    batches: usize,
    timed: usize,
    samples_ps: [[u64; SAMPLES]; WAYS],
}

impl Trial {
    /// What its batches took.
    fn whole_ps(&self) -> u64 {
        ps(self.took.iter().sum())
    }

    /// What they took beyond so much for each message, in those ways that take longer.
    fn cost_ps(&self, best_ps: u64) -> u64 {
        let each = self.took.iter().zip(&self.messages);
        each.map(|(&took, messages)| ps(took).saturating_sub(best_ps.saturating_mul(*messages))).sum()
    }
}

/// A batch under way.
pub(super) struct Lap {
    pub(super) way: usize,
    started: Option<Instant>,
}

impl Lap {
    /// Whether its time will be known.
    pub(super) fn is_timed(&self) -> bool {
        self.started.is_some()
    }
}

impl Pace {
    /// How to match the next batch, of the first `ways` ways.
    pub(super) fn start(&mut self, ways: usize) -> Lap {
        if ways < 2 {
            return Lap { way: 0, started: None };
        }
        if self.rest > 0 {
            self.rest -= 1;
            let started = (self.rest % EVERY == 0).then(Instant::now);
            return Lap { way: self.best.min(ways - 1), started };
        }
        let now = Instant::now();
        let blank = || Trial {
            took: [Duration::ZERO; WAYS],
            messages: [0; WAYS],
            round: 0,
            way: 0,
            turn_began: now,
            batches: 0,
            timed: 0,
            samples_ps: [[0; SAMPLES]; WAYS],
        };
        Lap { way: self.trial.get_or_insert_with(blank).way, started: Some(now) }
    }

    /// So many messages were matched that way. Whether all was as it will be once that way is taken: all workers took part who
    /// should have, or slept.
    pub(super) fn stop(&mut self, lap: &Lap, ways: usize, messages: usize, is_settled: bool) {
        if let Some(started) = lap.started {
            self.learn(started, Instant::now(), ways, messages, is_settled);
        }
    }

    fn learn(&mut self, started: Instant, ended: Instant, ways: usize, messages: usize, is_settled: bool) {
        let took_ps = ps(ended - started) / messages.max(1) as u64;
        let Some(trial) = &mut self.trial else { return self.watch(took_ps) };
        trial.took[trial.way] += ended - started;
        trial.messages[trial.way] += messages as u64;
        trial.batches += usize::from(is_settled || ended - trial.turn_began >= WARM);
        if trial.batches <= FIRST {
            return;
        }
        trial.samples_ps[trial.way][trial.round * TIMED + trial.timed] = took_ps;
        trial.timed += 1;
        if trial.timed < TIMED {
            return;
        }
        (trial.timed, trial.batches, trial.way, trial.turn_began) = (0, 0, trial.way + 1, ended);
        if trial.way < ways {
            return;
        }
        (trial.way, trial.round) = (0, trial.round + 1);
        if trial.round < ROUNDS {
            return;
        }
        let medians = trial.samples_ps.map(|mut samples| {
            samples.sort_unstable();
            samples[SAMPLES / 2]
        });
        let trial = *trial;
        self.trial = None;
        self.decide(&medians[..ways], &trial, messages);
    }

    fn decide(&mut self, medians: &[u64], trial: &Trial, messages: usize) {
        let best = (0..medians.len()).min_by_key(|&way| medians[way]).unwrap_or(0);
        let is_better = self.calm == 0
            || medians[best].saturating_mul(100) < medians[self.best].saturating_mul(HYSTERESIS);
        if is_better && (best != self.best || self.calm == 0) {
            (self.best, self.calm) = (best, 1);
        } else {
            self.calm = (2 * self.calm).min(CALM);
        }
        (self.best_ps, self.surprises) = (medians[self.best], 0);
        let (whole, cost) = (trial.whole_ps(), trial.cost_ps(self.best_ps));
        let batch_ps = self.best_ps.saturating_mul(messages as u64).max(1);
        let batches = |ps: u64| (ps / batch_ps).max(LEAST);
        let least = WHOLE_SHARE.saturating_mul(whole);
        self.rest = batches(self.calm.saturating_mul(SHARE.saturating_mul(cost).max(least)));
        self.hasty = self.rest - batches(least);
    }

    /// A batch between two trials.
    fn watch(&mut self, took_ps: u64) {
        let (twice, thrice) = (|ps: u64| ps.saturating_mul(2), |ps: u64| ps.saturating_mul(3));
        let is_surprise = twice(took_ps) > thrice(self.best_ps) || thrice(took_ps) < twice(self.best_ps);
        self.surprises = if is_surprise { self.surprises.saturating_add(1) } else { 0 };
        if self.surprises >= SURPRISES && self.rest <= self.hasty {
            (self.surprises, self.calm, self.rest) = (0, self.calm.min(1), 0);
        }
    }
}

/// Picoseconds; as many as there can be, if it is more than that: half a year.
fn ps(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);

    /// Of a trial of two ways, if all workers are there.
    const BATCHES: usize = 2 * ROUNDS * (FIRST + TIMED);

    /// A trial of two ways, of which batches of ten messages take so long; how many there were.
    fn tried(
        pace: &mut Pace,
        now: &mut Instant,
        took: [Duration; 2],
        is_settled: impl Fn(usize) -> bool,
    ) -> usize {
        disturbed(pace, now, |way, _| took[way], is_settled)
    }

    /// The same, where a batch's time hangs on how many came before it as well.
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
            let ended = *now + took(trial.way, batches);
            pace.learn(*now, ended, 2, 10, is_settled(batches));
            (*now, batches) = (ended, batches + 1);
        }
        batches
    }

    /// Batches of each way.
    const OF_EACH: u64 = (BATCHES / 2) as u64;

    #[test]
    fn the_way_that_is_faster_is_taken_for_fifty_times_what_the_trial_cost() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        for (took, best) in [([20 * US, 4 * US], 1), ([4 * US, 20 * US], 0)] {
            assert_eq!(tried(&mut pace, &mut now, took, |_| true), BATCHES);
            assert_eq!((pace.best, pace.rest), (best, 50 * OF_EACH * (20 - 4) / 4));
            assert_eq!(pace.start(2).way, best);
        }
    }

    #[test]
    fn a_trial_that_cost_nothing_is_a_tenth_of_the_time() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        tried(&mut pace, &mut now, [4 * US, 4 * US], |_| true);
        assert_eq!(pace.rest, 10 * 2 * OF_EACH);
        // Waiting for workers takes time, but batches go on meanwhile.
        (pace, now) = (Pace::default(), Instant::now());
        let batches = tried(&mut pace, &mut now, [4 * US, 4 * US], |batch| batch >= 1000);
        assert!(batches > 500);
        assert_eq!(pace.rest, 10 * batches as u64);
    }

    #[test]
    fn a_way_is_timed_once_all_workers_are_there() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        let batches = tried(&mut pace, &mut now, [20 * US, 4 * US], |batch| batch >= 10);
        assert_eq!(batches, 10 + BATCHES);
        // They never come: 1 ms of each turn.
        let batches = tried(&mut pace, &mut now, [20 * US, 10 * US], |_| false);
        assert_eq!(batches, ROUNDS * (49 + 99) + BATCHES);
    }

    #[test]
    fn who_is_interrupted_for_a_while_is_not_taken_for_slow() {
        for first in 0..BATCHES {
            let (mut pace, mut now) = (Pace::default(), Instant::now());
            let took = |way, batch| {
                [4 * US, 6 * US][way] + if batch / 4 == first / 4 { 50 * US } else { Duration::ZERO }
            };
            disturbed(&mut pace, &mut now, took, |_| true);
            assert_eq!((pace.best, pace.best_ps), (0, 400_000), "interrupted in batch {first}");
        }
    }

    #[test]
    fn what_is_nearly_as_fast_changes_nothing_and_trials_become_rarer() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        tried(&mut pace, &mut now, [10 * US, 4 * US], |_| true);
        let rest = pace.rest;
        tried(&mut pace, &mut now, [Duration::from_nanos(3900), 4 * US], |_| true);
        assert_eq!((pace.best, pace.calm), (1, 2));
        tried(&mut pace, &mut now, [10 * US, 4 * US], |_| true);
        assert_eq!((pace.best, pace.calm, pace.rest), (1, 4, 4 * rest));
        tried(&mut pace, &mut now, [3 * US, 4 * US], |_| true);
        assert_eq!((pace.best, pace.calm), (0, 1));
    }

    #[test]
    fn batches_that_take_much_longer_than_in_the_trial_bring_the_next() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        tried(&mut pace, &mut now, [10 * US, 4 * US], |_| true);
        // The last was too short a while ago.
        (0..9).for_each(|_| pace.learn(now, now + 9 * US, 2, 10, true));
        assert!(pace.rest > pace.hasty && pace.hasty > 0);
        (pace.rest, pace.surprises) = (pace.hasty, 0);
        for (took, is_next) in
            [(5, false), (9, false), (9, false), (4, false), (9, false), (9, false), (9, true)]
        {
            pace.learn(now, now + took * US, 2, 10, true);
            assert_eq!(pace.rest == 0, is_next, "{took} us");
        }
    }

    /// Batches of ten messages that three ways match in so many microseconds, each after so much else: how many are in trials, and of
    /// the time that they take the part that trials take.
    fn played(batches: usize, took: impl Fn(usize, usize) -> u64, between: Duration) -> (usize, f64) {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        let (mut tried, mut in_trials, mut all) = (0, Duration::ZERO, Duration::ZERO);
        for batch in 0..batches {
            let lap = pace.start(3);
            let is_trial = pace.trial.is_some();
            let ended = now + Duration::from_micros(took(lap.way, batch));
            if lap.is_timed() {
                pace.learn(now, ended, 3, 10, true);
            }
            tried += usize::from(is_trial);
            in_trials += if is_trial { ended - now } else { Duration::ZERO };
            all += ended - now;
            now = ended + between;
        }
        (tried, in_trials.as_secs_f64() / all.as_secs_f64())
    }

    /// Batches of a trial of three ways.
    const OF_THREE: usize = 3 * ROUNDS * (FIRST + TIMED);

    #[test]
    #[cfg_attr(miri, ignore = "hours, and all of it is safe code")]
    fn load_that_comes_and_goes_brings_few_trials() {
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
    fn what_the_application_does_between_batches_puts_no_trial_off() {
        let idle = Duration::from_millis(1);
        assert_eq!(
            played(20_000, |way, _| [2, 4, 4][way], idle),
            played(20_000, |way, _| [2, 4, 4][way], Duration::ZERO)
        );
        assert!(played(20_000, |way, _| [2, 4, 4][way], idle).0 > 2 * OF_THREE, "there was more than one");
    }

    #[test]
    fn a_trial_may_take_however_long() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        let day = Duration::from_secs(86_400);
        tried(&mut pace, &mut now, [day, 2 * day], |_| true);
        assert_eq!((pace.best, pace.rest >= LEAST), (0, true));
    }
}
