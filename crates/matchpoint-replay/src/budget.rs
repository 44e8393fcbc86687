//! Limits for slow engines, and the estimate for the rest of the trace.
//!
//! An engine beyond its time limit stops at all ranks. Attempts and time of later searches are estimated in
//! proportion to the entries queued at each search. The estimate is exact for engines that compare every
//! entry, and an upper bound for others. Limits are processor time, so host load does not change them.

use std::time::Duration;

use matchpoint::wrap::counted::QueueCounts;

use crate::measurements::QueueMeasurements;
use crate::observer::SearchTotals;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StopReason {
    Time,
    Memory,
    Full,
    CreationFailed,
}

/// Memory limit of all engines together over all ranks.
const MEMORY_BYTES: u64 = 1 << 30;

pub(crate) fn is_too_large(memory_bytes: u64, engines: usize) -> bool {
    memory_bytes > MEMORY_BYTES / engines.max(1) as u64
}

/// Time limit of an engine that the user did not request: a constant, plus a fraction of the elapsed time.
const UNREQUESTED_AT_FIRST: Duration = Duration::from_millis(200);
const UNREQUESTED_SHARE: u32 = 64;

pub(crate) fn is_sample_complete(spent: Duration, passed: Duration) -> bool {
    spent > UNREQUESTED_AT_FIRST + passed / UNREQUESTED_SHARE
}

/// Minimum time limits in any replay: of all engines together (`AT_FIRST`), and of one engine.
const AT_FIRST: Duration = Duration::from_secs(16);
const AT_FIRST_EACH: Duration = Duration::from_secs(4);

/// An engine may use one of `SHARES` equal parts of the replay's processor time, at most half of the total.
const SHARES: u32 = 2;

pub(crate) fn is_used_up(spent: Duration, engines: usize, passed: Duration) -> bool {
    let engines = engines.max(1) as u32;
    let at_first = AT_FIRST_EACH.min(AT_FIRST / engines);
    spent > at_first + passed * SHARES / engines.max(2 * SHARES)
}

fn search_work(searches: u64, length_sum: u64) -> f64 {
    searches as f64 + length_sum as f64
}

pub(crate) fn total_work(searched: &[&SearchTotals]) -> f64 {
    searched.iter().map(|of| search_work(of.searches, of.length_sum)).sum()
}

pub(crate) fn executed_work(counts: &[&QueueCounts]) -> f64 {
    counts.iter().map(|of| search_work(of.searches, of.length_sum)).sum()
}

impl QueueMeasurements {
    pub(crate) fn extrapolated(mut self, searched: &SearchTotals) -> Self {
        let length_sum = (self.length_mean * self.searches as f64).round() as u64;
        let by_entries = ratio(
            search_work(searched.searches, searched.length_sum),
            search_work(self.searches, length_sum),
        );
        scale_counts(std::slice::from_mut(&mut self.attempts_hit), by_entries);
        scale_counts(std::slice::from_mut(&mut self.attempts_miss), by_entries);
        self.attempts = self.attempts_hit + self.attempts_miss;
        let misses = |searches: u64, hits: u64| (searches - hits) as f64;
        scale_counts(&mut self.depth_hit, ratio(searched.hits as f64, self.hits as f64));
        let by_misses = ratio(misses(searched.searches, searched.hits), misses(self.searches, self.hits));
        scale_counts(&mut self.depth_miss, by_misses);
        (self.searches, self.hits) = (searched.searches, searched.hits);
        self.length_mean = searched.length_sum as f64 / searched.searches.max(1) as f64;
        self
    }
}

fn ratio(whole: f64, part: f64) -> f64 {
    if part > 0.0 { whole / part } else { 0.0 }
}

fn scale_counts(counts: &mut [u64], by: f64) {
    counts.iter_mut().for_each(|count| *count = (*count as f64 * by).round() as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_engine_gets_limited_share_of_time() {
        let second = Duration::from_secs(1);
        for engines in 1..20u32 {
            let elapsed = 1000 * second;
            assert!(!is_used_up(elapsed / engines.max(2), engines as usize, elapsed), "{engines}");
            assert!(is_used_up(elapsed * 7 / 10, engines as usize, elapsed), "{engines}");
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
        let all = half.extrapolated(&SearchTotals { searches: 20, hits: 10, length_sum: 380 });
        assert_eq!((all.attempts, all.attempts_hit, all.searches, all.hits), (400, 240, 20, 10));
        assert_eq!(
            (all.length_mean, &all.depth_hit[..], &all.depth_miss[..]),
            (19.0, &[0, 10][..], &[10][..])
        );
    }
}
