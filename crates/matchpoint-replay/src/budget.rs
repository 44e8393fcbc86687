//! Engines that are too slow to be played to the end: when they stop, and what the rest would have been.
//!
//! An engine that compares every entry takes a minute over a queue that others pass in a blink, and whoever asks for
//! all engines did not ask for that. One that has used up its time stops, at all ranks. Its answers are known (every
//! engine gives the same); what it compared, and the time that took, is estimated in proportion to the entries that
//! were queued when it would have searched. That is right for those that compare every entry, and too much for others,
//! which do not get here. Times are of the processor, not of the clock on the wall: a busy machine plays no less. How much was played is told with every figure that comes of it.

use std::time::Duration;

use matchpoint::wrap::counted::QueueCounts;

use crate::measurements::QueueMeasurements;
use crate::observer::Searched;

/// Why an engine was stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stopped {
    /// It took too long.
    Time,
    /// It held too much memory.
    Memory,
    /// A table of fixed size was full.
    Full,
    /// One could not be made for a rank.
    Unmade,
}

/// Memory that all engines together may hold at all ranks.
const MEMORY_BYTES: u64 = 1 << 30;

/// Whether one of so many engines holds too much.
pub(crate) fn is_too_large(held_bytes: u64, engines: usize) -> bool {
    held_bytes > MEMORY_BYTES / engines.max(1) as u64
}

/// Time that an engine which nobody asked for may take: at first, and of what has passed.
const UNASKED_AT_FIRST: Duration = Duration::from_millis(200);
const UNASKED_SHARE: u32 = 64;

/// Whether an engine that nobody asked for was played enough of a long trace.
pub(crate) fn is_sampled_enough(spent: Duration, passed: Duration) -> bool {
    spent > UNASKED_AT_FIRST + passed / UNASKED_SHARE
}

/// Processor time that all engines together may take whatever the length of the run, and that one may have of it at most.
const AT_FIRST: Duration = Duration::from_secs(16);
const AT_FIRST_EACH: Duration = Duration::from_secs(4);

/// An engine may take so many times its equal share of the processor time that the replay has had, but not more than half of it all:
/// ordinary engines share it equally.
const SHARES: u32 = 2;

/// Whether one of so many engines has taken too long by now.
pub(crate) fn is_used_up(spent: Duration, engines: usize, passed: Duration) -> bool {
    let engines = engines.max(1) as u32;
    let at_first = AT_FIRST_EACH.min(AT_FIRST / engines);
    spent > at_first + passed * SHARES / engines.max(2 * SHARES)
}

/// What searching a queue is about, in entries: those queued, and one for the search.
fn weight(searches: u64, length_sum: u64) -> f64 {
    searches as f64 + length_sum as f64
}

/// What was asked of an engine, or would have been, in all.
pub(crate) fn asked(searched: &[&Searched]) -> f64 {
    searched.iter().map(|of| weight(of.searches, of.length_sum)).sum()
}

/// What an engine was played.
pub(crate) fn played(counts: &[&QueueCounts]) -> f64 {
    counts.iter().map(|of| weight(of.searches, of.length_sum)).sum()
}

impl QueueMeasurements {
    /// Of a queue that was `searched` so, where the engine that this is about played a part.
    pub(crate) fn extrapolated(mut self, searched: &Searched) -> Self {
        let length_sum = (self.length_mean * self.searches as f64).round() as u64;
        let by_entries =
            ratio(weight(searched.searches, searched.length_sum), weight(self.searches, length_sum));
        scale(std::slice::from_mut(&mut self.attempts_hit), by_entries);
        scale(std::slice::from_mut(&mut self.attempts_miss), by_entries);
        self.attempts = self.attempts_hit + self.attempts_miss;
        let misses = |searches: u64, hits: u64| (searches - hits) as f64;
        scale(&mut self.depth_hit, ratio(searched.hits as f64, self.hits as f64));
        let by_misses = ratio(misses(searched.searches, searched.hits), misses(self.searches, self.hits));
        scale(&mut self.depth_miss, by_misses);
        (self.searches, self.hits) = (searched.searches, searched.hits);
        self.length_mean = searched.length_sum as f64 / searched.searches.max(1) as f64;
        self
    }
}

fn ratio(whole: f64, part: f64) -> f64 {
    if part > 0.0 { whole / part } else { 0.0 }
}

fn scale(counts: &mut [u64], by: f64) {
    counts.iter_mut().for_each(|count| *count = (*count as f64 * by).round() as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_engine_gets_limited_time() {
        let second = Duration::from_secs(1);
        for engines in 1..20u32 {
            let passed = 1000 * second;
            assert!(!is_used_up(passed / engines.max(2), engines as usize, passed), "{engines}");
            assert!(is_used_up(passed * 7 / 10, engines as usize, passed), "{engines}");
        }
        assert!(!is_used_up(second, 12, second));
        assert!(is_used_up(6 * second, 1, 2 * second));
    }

    #[test]
    fn unplayed_part_costs_same_per_entry() {
        let half = QueueMeasurements {
            length_mean: 9.0,
            attempts: 100,
            searches: 10,
            hits: 5,
            depth_hit: vec![0, 5],
            depth_miss: vec![5],
            attempts_hit: 60,
            attempts_miss: 40,
            ..QueueMeasurements::default()
        };
        let all = half.extrapolated(&Searched { searches: 20, hits: 10, length_sum: 380 });
        assert_eq!((all.attempts, all.attempts_hit, all.searches, all.hits), (400, 240, 20, 10));
        assert_eq!(
            (all.length_mean, &all.depth_hit[..], &all.depth_miss[..]),
            (19.0, &[0, 10][..], &[10][..])
        );
    }
}
