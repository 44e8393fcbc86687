//! Conversion of process clocks to a common time.
//!
//! Clusters have a clock per host. No process leaves a synchronizing collective before all have entered,
//! which bounds the clock offsets. A clock outside its bounds is shifted to their middle.

use crate::measurements::ImplausibleTimes;
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

const APART_NS: i64 = 1_000_000_000;

pub(crate) fn implausible_times(summaries: &[RankSummary], clocks: &Clocks) -> ImplausibleTimes {
    let odd = |summary: &&RankSummary| summary.time_errors.negative + summary.time_errors.backward > 0;
    ImplausibleTimes {
        negative: summaries.iter().map(|summary| summary.time_errors.negative).sum(),
        backward: summaries.iter().map(|summary| summary.time_errors.backward).sum(),
        first_rank: summaries.iter().find(odd).map(|summary| summary.rank),
        outliers: outliers(summaries, clocks),
    }
}

/// Ranks with an outlier as first or last time. All ranks begin together in `MPI_Init` and end together in
/// `MPI_Finalize`, so an outlier is further from the median than the run time.
fn outliers(summaries: &[RankSummary], clocks: &Clocks) -> Vec<u32> {
    let used = || summaries.iter().enumerate().filter(|(_, summary)| summary.calls > 0);
    let first = |(process, summary): (usize, &RankSummary)| clocks.common(process, summary.first_ns);
    let last = |(process, summary): (usize, &RankSummary)| clocks.common(process, summary.last_ns);
    let (Some(begin), Some(end)) = (median(used().map(first)), median(used().map(last))) else {
        return Vec::new();
    };
    let far = end.saturating_sub(begin).max(APART_NS);
    let is_far = |time: i64, from: i64| time.saturating_sub(from).saturating_abs() > far;
    let outside = used().filter(|&of| is_far(first(of), begin) || is_far(last(of), end));
    outside.map(|(_, summary)| summary.rank).collect()
}

fn median(time_errors: impl Iterator<Item = i64>) -> Option<i64> {
    let mut time_errors: Vec<i64> = time_errors.collect();
    time_errors.sort_unstable();
    time_errors.get(time_errors.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank_summary::TimeErrors;

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

    fn with_calls(rank: u32, calls: &[(i64, i64)]) -> RankSummary {
        let mut time_errors = TimeErrors::default();
        calls.iter().for_each(|&(enter, leave)| time_errors.note(0, enter, leave));
        RankSummary {
            calls: calls.len() as u64,
            first_ns: calls.iter().map(|call| call.0).min().unwrap_or(0),
            last_ns: calls.iter().map(|call| call.1).max().unwrap_or(0),
            time_errors,
            ..RankSummary::new(rank)
        }
    }

    #[test]
    fn unordered_times_are_reported() {
        let fine = with_calls(0, &[(0, 10), (10, 20), (25, 2_000_000_000)]);
        let found =
            implausible_times(std::slice::from_ref(&fine), &Clocks::align(std::slice::from_ref(&fine)));
        assert_eq!((found.negative, found.backward, found.first_rank), (0, 0, None));
        let all =
            [fine, with_calls(1, &[(0, 10), (20, 15), (12, 30)]), with_calls(2, &[(0, 10), (11, 1 << 40)])];
        let found = implausible_times(&all, &Clocks::align(&all));
        assert_eq!((found.negative, found.backward, found.first_rank), (1, 1, Some(1)));
        assert_eq!(found.outliers, [2]);
    }
}
