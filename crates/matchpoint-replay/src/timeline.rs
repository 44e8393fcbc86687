//! Queue length over time in bounded memory: in a long replay, intervals are merged in pairs.

use crate::measurements::RankQueue;

/// Number of intervals during the replay.
const SPANS: usize = 160;

/// Number of intervals in the result.
pub(crate) const SPANS_REPORTED: usize = 120;

const FIRST_SPAN_NS: i64 = 1024;

pub(crate) struct Timeline {
    length: u32,
    longest: u32,
    since_ns: i64,
    area: f64,
    span_ns: i64,
    spans: Vec<u32>,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline { length: 0, longest: 0, since_ns: 0, area: 0.0, span_ns: FIRST_SPAN_NS, spans: Vec::new() }
    }
}

impl Timeline {
    pub fn longest(&self) -> u32 {
        self.longest
    }

    pub fn length(&self) -> u32 {
        self.length
    }

    /// Times must not decrease.
    pub fn change(&mut self, at_ns: i64, by: i32) {
        self.advance(at_ns);
        self.length = self.length.saturating_add_signed(by);
        self.longest = self.longest.max(self.length);
        let last = self.spans.last_mut().expect("advance leaves a span");
        *last = (*last).max(self.length);
    }

    fn advance(&mut self, at_ns: i64) {
        let at_ns = at_ns.max(self.since_ns);
        self.area += f64::from(self.length) * (at_ns - self.since_ns) as f64;
        self.since_ns = at_ns;
        while at_ns / self.span_ns >= SPANS as i64 {
            self.join_pairs();
        }
        let at = (at_ns / self.span_ns) as usize;
        if at >= self.spans.len() {
            if self.spans.capacity() == 0 {
                self.spans.reserve_exact(SPANS);
            }
            self.spans.resize(at + 1, self.length);
        }
    }

    fn join_pairs(&mut self) {
        self.span_ns *= 2;
        for pair in 0..self.spans.len().div_ceil(2) {
            let is_in_second_group = self.spans.get(2 * pair + 1).copied().unwrap_or(0);
            self.spans[pair] = self.spans[2 * pair].max(is_in_second_group);
        }
        self.spans.truncate(self.spans.len().div_ceil(2));
    }

    pub fn summary(&self, end_ns: i64) -> RankQueue {
        let end_ns = end_ns.max(self.since_ns).max(1);
        let area = self.area + f64::from(self.length) * (end_ns - self.since_ns) as f64;
        let reported = |at: usize| {
            let begin = (end_ns as i128 * at as i128 / SPANS_REPORTED as i128) as i64;
            let end = (end_ns as i128 * (at + 1) as i128 / SPANS_REPORTED as i128) as i64;
            let (first, last) = (begin / self.span_ns, (end - 1).max(begin) / self.span_ns);
            self.longest_in(first as usize, last as usize)
        };
        RankQueue {
            length_max: self.longest.into(),
            length_mean: area / end_ns as f64,
            timeline: (0..SPANS_REPORTED).map(reported).collect(),
        }
    }

    /// Maximum length in an interval. After the last interval, the length is the current length; a loop over
    /// these intervals could take millions of steps.
    fn longest_in(&self, first: usize, last: usize) -> u32 {
        let kept = self.spans.get(first..self.spans.len().min(last + 1)).unwrap_or_default();
        let since = (last >= self.spans.len()).then_some(self.length);
        kept.iter().copied().chain(since).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_lasts_until_change() {
        let mut timeline = Timeline::default();
        timeline.change(0, 1);
        timeline.change(600_000, 1);
        timeline.change(1_200_000, -1);
        timeline.change(1_200_000, -1);
        let queue = timeline.summary(2_400_000);
        assert_eq!(queue.length_max, 2);
        assert!((queue.length_mean - 0.75).abs() < 1e-9);
        assert_eq!(queue.timeline.len(), SPANS_REPORTED);
        assert_eq!((queue.timeline[0], queue.timeline[29], queue.timeline[31]), (1, 2, 2));
        assert_eq!((queue.timeline[58], queue.timeline[62], queue.timeline[119]), (2, 0, 0));
    }

    #[test]
    fn quiet_long_run_is_summed_at_once() {
        let mut timeline = Timeline::default();
        timeline.change(5, 1);
        let queue = timeline.summary(3_000_000_000_000_000_000);
        assert!(queue.timeline.iter().all(|&length| length == 1));
        assert_eq!(Timeline::default().summary(i64::MAX).timeline, [0; SPANS_REPORTED]);
    }

    #[test]
    fn memory_does_not_grow_with_run() {
        let mut timeline = Timeline::default();
        for at in 0..100_000i64 {
            timeline.change(at * 1_000_000, if at % 2 == 0 { 1 } else { -1 });
        }
        assert!(timeline.spans.len() <= SPANS);
        assert!(timeline.summary(100_000_000_000).timeline.iter().all(|&length| length == 1));
    }
}
