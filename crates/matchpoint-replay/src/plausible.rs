//! Plausibility of recorded times. Readers do not detect a flipped bit in a recorded time.

use crate::clocks::Clocks;
use crate::measurements::ImplausibleTimes;
use crate::rank_summary::RankSummary;

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

    fn summary(rank: u32, calls: &[(i64, i64)]) -> RankSummary {
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
        let fine = summary(0, &[(0, 10), (10, 20), (25, 2_000_000_000)]);
        let found =
            implausible_times(std::slice::from_ref(&fine), &Clocks::align(std::slice::from_ref(&fine)));
        assert_eq!((found.negative, found.backward, found.first_rank), (0, 0, None));
        let all = [fine, summary(1, &[(0, 10), (20, 15), (12, 30)]), summary(2, &[(0, 10), (11, 1 << 40)])];
        let found = implausible_times(&all, &Clocks::align(&all));
        assert_eq!((found.negative, found.backward, found.first_rank), (1, 1, Some(1)));
        assert_eq!(found.outliers, [2]);
    }
}
