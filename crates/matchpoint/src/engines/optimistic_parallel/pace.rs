//! Which of several ways to match a batch is the fastest here and now: on this machine, with what else runs on it, for
//! batches of such a size. Ways differ in time only, never in what they come to.
//!
//! Now and then there is a trial: each way for a while, so that workers are awake, then some batches of it timed. The way
//! with the least median is taken until the next trial, which comes when trials are a fiftieth of all time.

use std::time::{Duration, Instant};

/// Ways to choose from, at most.
const WAYS: usize = 3;

/// A way is tried so long before it is timed: longer than it takes to wake a thread.
const WARM: Duration = Duration::from_micros(200);

/// Batches timed of each way.
const SAMPLES: usize = 5;

/// Of so much time a trial takes one part.
const SHARE: u128 = 50;

/// Batches between two trials, at least.
const LEAST: u64 = 64;

/// Of batches that are alike.
#[derive(Clone, Copy, Default)]
pub(super) struct Pace {
    best: usize,
    /// Batches until the next trial.
    rest: u64,
    trial: Option<Trial>,
}

#[derive(Clone, Copy)]
struct Trial {
    began: Instant,
    /// When its way began.
    way_began: Instant,
    way: usize,
    taken: usize,
    samples_ps: [[u64; SAMPLES]; WAYS],
}

/// A batch under way.
pub(super) struct Lap {
    pub(super) way: usize,
    started: Option<Instant>,
}

impl Pace {
    /// How to match the next batch, of the first `ways` ways.
    pub(super) fn start(&mut self, ways: usize) -> Lap {
        if self.rest > 0 || ways < 2 {
            self.rest = self.rest.saturating_sub(1);
            return Lap { way: self.best.min(ways - 1), started: None };
        }
        let now = Instant::now();
        let blank = Trial { began: now, way_began: now, way: 0, taken: 0, samples_ps: [[0; SAMPLES]; WAYS] };
        Lap { way: self.trial.get_or_insert(blank).way, started: Some(now) }
    }

    /// So many messages were matched that way.
    pub(super) fn stop(&mut self, lap: &Lap, ways: usize, messages: usize) {
        if let Some(started) = lap.started {
            self.learn(started, Instant::now(), ways, messages);
        }
    }

    fn learn(&mut self, started: Instant, ended: Instant, ways: usize, messages: usize) {
        let Some(trial) = &mut self.trial else { return };
        if ended - trial.way_began < WARM {
            return;
        }
        let took_ps = (ended - started).as_nanos() as u64 * 1000;
        trial.samples_ps[trial.way][trial.taken] = took_ps / messages.max(1) as u64;
        trial.taken += 1;
        if trial.taken < SAMPLES {
            return;
        }
        (trial.taken, trial.way, trial.way_began) = (0, trial.way + 1, ended);
        if trial.way < ways {
            return;
        }
        let median = |way: usize| {
            let mut samples = trial.samples_ps[way];
            samples.sort_unstable();
            samples[SAMPLES / 2]
        };
        self.best = (0..ways).min_by_key(|&way| median(way)).unwrap_or(0);
        let batch_ps = u128::from(median(self.best)) * messages as u128;
        let trial_ps = (ended - trial.began).as_nanos() * 1000;
        self.rest = ((SHARE * trial_ps / batch_ps.max(1)) as u64).max(LEAST);
        self.trial = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trial of two ways, of which batches take so long; how many there were.
    fn tried(pace: &mut Pace, now: &mut Instant, took: [Duration; 2]) -> usize {
        let mut batches = 0;
        let blank =
            Trial { began: *now, way_began: *now, way: 0, taken: 0, samples_ps: [[0; SAMPLES]; WAYS] };
        pace.trial = Some(blank);
        while let Some(trial) = pace.trial {
            let ended = *now + took[trial.way];
            pace.learn(*now, ended, 2, 10);
            (*now, batches) = (ended, batches + 1);
        }
        batches
    }

    #[test]
    fn the_way_that_is_faster_is_taken_for_fifty_times_the_trial() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        let [slow, fast] = [Duration::from_micros(20), Duration::from_micros(4)];
        for (took, best) in [([slow, fast], 1), ([fast, slow], 0)] {
            let began = now;
            // Each way for 200 microseconds, and five batches of it timed, the first of which ends the warming.
            assert_eq!(tried(&mut pace, &mut now, took), 10 + 4 + 50 + 4);
            assert_eq!(
                (pace.best, pace.rest),
                (best, 50 * (now - began).as_nanos() as u64 / fast.as_nanos() as u64)
            );
            assert_eq!(pace.start(2).way, best);
        }
    }
}
