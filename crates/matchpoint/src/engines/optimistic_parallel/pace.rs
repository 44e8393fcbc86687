//! Which of several ways to match a batch is the fastest here and now: on this machine, with what else runs on it, for
//! batches of such a size. Ways differ in time only, never in what they come to.

use std::time::{Duration, Instant};

/// Ways to choose from, at most.
pub(super) const WAYS: usize = 4;

/// Each way is timed so often in a trial, and its best time counts: what interrupts it is not its fault.
const SAMPLES: u32 = 3;

/// Batches between two trials: so many at first, twice as many each time the same way wins, and never more.
const LEAST: u32 = 16;
const MOST: u32 = 1024;

/// Of batches that are alike.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    best: usize,
    /// Batches until the next trial.
    rest: u32,
    interval: u32,
    /// Samples taken in this trial.
    taken: u32,
    /// The least time for a message, in this trial, by way.
    least_ps: [u64; WAYS],
}

impl Default for Pace {
    fn default() -> Self {
        Pace { best: 0, rest: LEAST, interval: LEAST, taken: 0, least_ps: [u64::MAX; WAYS] }
    }
}

/// A batch under way.
pub(super) struct Lap {
    pub(super) way: usize,
    started: Option<Instant>,
}

impl Pace {
    /// How to match the next batch, of the first `ways` ways; until there has been a trial it is the first.
    pub(super) fn start(&mut self, ways: usize) -> Lap {
        if self.rest > 0 || ways < 2 {
            self.rest = self.rest.saturating_sub(1);
            return Lap { way: self.best.min(ways - 1), started: None };
        }
        Lap { way: self.taken as usize % ways, started: Some(Instant::now()) }
    }

    /// So many messages were matched that way.
    pub(super) fn stop(&mut self, lap: &Lap, ways: usize, messages: usize) {
        if let Some(started) = lap.started {
            self.learn(lap.way, ways, started.elapsed(), messages);
        }
    }

    fn learn(&mut self, way: usize, ways: usize, took: Duration, messages: usize) {
        let each_ps = took.as_nanos() as u64 * 1000 / messages.max(1) as u64;
        self.least_ps[way] = self.least_ps[way].min(each_ps);
        self.taken += 1;
        if self.taken < SAMPLES * ways as u32 {
            return;
        }
        let best = (0..ways).min_by_key(|&way| self.least_ps[way]).unwrap_or(0);
        self.interval = if best == self.best { (2 * self.interval).min(MOST) } else { LEAST };
        *self = Pace { best, rest: self.interval, interval: self.interval, ..Pace::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_that_was_faster_is_taken_until_the_next_trial() {
        let mut pace = Pace::default();
        assert!((0..LEAST).all(|_| pace.start(2).way == 0));
        for ns in [900, 50, 900, 60, 90_000, 70] {
            let way = pace.start(2).way;
            pace.learn(way, 2, Duration::from_nanos(ns), 1);
        }
        assert!((0..LEAST).all(|_| pace.start(2).way == 1));
        for ns in [900, 50, 900, 60, 90_000, 70] {
            let way = pace.start(2).way;
            pace.learn(way, 2, Duration::from_nanos(ns), 1);
        }
        assert!((0..2 * LEAST).all(|_| pace.start(2).way == 1), "it won again: it is trusted for longer");
        assert!(pace.start(2).started.is_some());
    }
}
