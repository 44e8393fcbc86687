//! Conversion of process clocks to a common time.
//!
//! Clusters have a clock per host. No process leaves a synchronizing collective before all have entered,
//! which bounds the clock offsets. A clock outside its bounds is shifted to their middle.

use crate::rank_summary::RankSummary;

#[derive(Debug)]
pub(crate) struct Clocks {
    shift_ns: Vec<i64>,
    origin_ns: i64,
    pub shifted: usize,
    /// Processes without an offset within all bounds: the clock drifts, or the trace is damaged.
    pub irreconcilable: usize,
}

impl Clocks {
    pub fn align(summaries: &[RankSummary]) -> Self {
        let reference = summaries.first();
        let bounds: Vec<(i64, i64)> = summaries
            .iter()
            .map(|summary| reference.map_or((i64::MIN, i64::MAX), |reference| bounds(reference, summary)))
            .collect();
        let shift_ns: Vec<i64> = bounds.iter().map(|&bounds| shift(bounds)).collect();
        let irreconcilable = bounds.iter().filter(|(low, high)| low > high).count();
        let entries = summaries.iter().zip(&shift_ns).filter(|(summary, _)| summary.calls > 0);
        let origin_ns =
            entries.map(|(summary, shift)| summary.first_ns.saturating_add(*shift)).min().unwrap_or(0);
        let shifted = shift_ns.iter().filter(|shift| **shift != 0).count();
        Clocks { shift_ns, origin_ns, shifted, irreconcilable }
    }

    #[inline]
    pub fn common(&self, process: usize, own_ns: i64) -> i64 {
        own_ns + self.shift_ns[process] - self.origin_ns
    }

    pub fn elapsed_ns(&self, summaries: &[RankSummary]) -> i64 {
        let ends = summaries.iter().enumerate().filter(|(_, summary)| summary.calls > 0);
        ends.map(|(process, summary)| self.common(process, summary.last_ns)).max().unwrap_or(0)
    }
}

fn bounds(reference: &RankSummary, summary: &RankSummary) -> (i64, i64) {
    let pairs = reference.synchronisations.iter().zip(&summary.synchronisations);
    pairs.fold((i64::MIN, i64::MAX), |(low, high), (&(enter, leave), &(own_enter, own_leave))| {
        (low.max(enter - own_leave), high.min(leave - own_enter))
    })
}

fn shift(bounds: (i64, i64)) -> i64 {
    match bounds {
        (i64::MIN, _) => 0,
        (low, high) if low <= 0 && 0 <= high => 0,
        (low, high) => low / 2 + high / 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(rank: u32, synchronisations: &[(i64, i64)]) -> RankSummary {
        let (first_ns, last_ns) = synchronisations[0];
        let synchronisations = synchronisations.to_vec();
        RankSummary { calls: 1, first_ns, last_ns, synchronisations, ..RankSummary::new(rank) }
    }

    #[test]
    fn clocks_within_measured_error_are_unchanged() {
        let clocks = Clocks::align(&[summary(0, &[(0, 100)]), summary(1, &[(90, 101)])]);
        assert_eq!((clocks.shifted, clocks.common(1, 90)), (0, 90));
    }

    #[test]
    fn contradicting_clocks_are_shifted_into_error() {
        let clocks = Clocks::align(&[summary(0, &[(0, 100)]), summary(1, &[(5000, 5100)])]);
        assert_eq!(clocks.shifted, 1);
        assert_eq!(clocks.common(1, 5050), 50);
    }
}
