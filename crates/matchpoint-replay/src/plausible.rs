//! Plausibility of recorded times. Readers do not detect a flipped bit in a recorded time.

use crate::clocks::Clocks;
use crate::measurements::ImplausibleTimes;
use crate::survey::RankSurvey;

const APART_NS: i64 = 1_000_000_000;

pub(crate) fn implausible_times(surveys: &[RankSurvey], clocks: &Clocks) -> ImplausibleTimes {
    let odd = |survey: &&RankSurvey| survey.time_errors.negative + survey.time_errors.backward > 0;
    ImplausibleTimes {
        negative: surveys.iter().map(|survey| survey.time_errors.negative).sum(),
        backward: surveys.iter().map(|survey| survey.time_errors.backward).sum(),
        first_rank: surveys.iter().find(odd).map(|survey| survey.rank),
        outliers: outliers(surveys, clocks),
    }
}

/// Ranks with an outlier as first or last time. All ranks begin together in `MPI_Init` and end together in
/// `MPI_Finalize`, so an outlier is further from the median than the run time.
fn outliers(surveys: &[RankSurvey], clocks: &Clocks) -> Vec<u32> {
    let used = || surveys.iter().enumerate().filter(|(_, survey)| survey.calls > 0);
    let first = |(process, survey): (usize, &RankSurvey)| clocks.common(process, survey.first_ns);
    let last = |(process, survey): (usize, &RankSurvey)| clocks.common(process, survey.last_ns);
    let (Some(begin), Some(end)) = (median(used().map(first)), median(used().map(last))) else {
        return Vec::new();
    };
    let far = end.saturating_sub(begin).max(APART_NS);
    let is_far = |time: i64, from: i64| time.saturating_sub(from).saturating_abs() > far;
    let outside = used().filter(|&of| is_far(first(of), begin) || is_far(last(of), end));
    outside.map(|(_, survey)| survey.rank).collect()
}

fn median(time_errors: impl Iterator<Item = i64>) -> Option<i64> {
    let mut time_errors: Vec<i64> = time_errors.collect();
    time_errors.sort_unstable();
    time_errors.get(time_errors.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::TimeErrors;

    fn survey(rank: u32, calls: &[(i64, i64)]) -> RankSurvey {
        let mut time_errors = TimeErrors::default();
        calls.iter().for_each(|&(enter, leave)| time_errors.note(0, enter, leave));
        RankSurvey {
            rank,
            calls: calls.len() as u64,
            by_function: Vec::new(),
            first_ns: calls.iter().map(|call| call.0).min().unwrap_or(0),
            last_ns: calls.iter().map(|call| call.1).max().unwrap_or(0),
            setup_ns: 0,
            membership_calls: None,
            any_sources: Default::default(),
            synchronisations: Vec::new(),
            time_errors,
        }
    }

    #[test]
    fn unordered_times_are_reported() {
        let fine = survey(0, &[(0, 10), (10, 20), (25, 2_000_000_000)]);
        let found =
            implausible_times(std::slice::from_ref(&fine), &Clocks::align(std::slice::from_ref(&fine)));
        assert_eq!((found.negative, found.backward, found.first_rank), (0, 0, None));
        let all = [fine, survey(1, &[(0, 10), (20, 15), (12, 30)]), survey(2, &[(0, 10), (11, 1 << 40)])];
        let found = implausible_times(&all, &Clocks::align(&all));
        assert_eq!((found.negative, found.backward, found.first_rank), (1, 1, Some(1)));
        assert_eq!(found.outliers, [2]);
    }
}
