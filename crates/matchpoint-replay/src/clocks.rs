//! Conversion of process clocks to a common time.
//!
//! Clusters have a clock per host. No process leaves a synchronizing collective before all have entered,
//! which bounds the clock offsets. A clock outside its bounds is shifted to their middle.

use crate::survey::RankSurvey;

#[derive(Debug)]
pub(crate) struct Clocks {
    shift_ns: Vec<i64>,
    origin_ns: i64,
    pub shifted: usize,
    /// Processes without an offset within all bounds: the clock drifts, or the trace is damaged.
    pub irreconcilable: usize,
}

impl Clocks {
    pub fn align(surveys: &[RankSurvey]) -> Self {
        let reference = surveys.first();
        let bounds: Vec<(i64, i64)> = surveys
            .iter()
            .map(|survey| reference.map_or((i64::MIN, i64::MAX), |reference| bounds(reference, survey)))
            .collect();
        let shift_ns: Vec<i64> = bounds.iter().map(|&bounds| shift(bounds)).collect();
        let irreconcilable = bounds.iter().filter(|(low, high)| low > high).count();
        let entries = surveys.iter().zip(&shift_ns).filter(|(survey, _)| survey.calls > 0);
        let origin_ns =
            entries.map(|(survey, shift)| survey.first_ns.saturating_add(*shift)).min().unwrap_or(0);
        let shifted = shift_ns.iter().filter(|shift| **shift != 0).count();
        Clocks { shift_ns, origin_ns, shifted, irreconcilable }
    }

    #[inline]
    pub fn common(&self, process: usize, own_ns: i64) -> i64 {
        own_ns + self.shift_ns[process] - self.origin_ns
    }

    /// Time from the first call to the last call of all processes.
    pub fn elapsed_ns(&self, surveys: &[RankSurvey]) -> i64 {
        let ends = surveys.iter().enumerate().filter(|(_, survey)| survey.calls > 0);
        ends.map(|(process, survey)| self.common(process, survey.last_ns)).max().unwrap_or(0)
    }
}

/// Bounds of the clock offset: no collective ends at one process before the other process has entered.
fn bounds(reference: &RankSurvey, survey: &RankSurvey) -> (i64, i64) {
    let pairs = reference.synchronisations.iter().zip(&survey.synchronisations);
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

    fn survey(rank: u32, synchronisations: &[(i64, i64)]) -> RankSurvey {
        RankSurvey {
            rank,
            calls: 1,
            by_function: Vec::new(),
            first_ns: synchronisations[0].0,
            last_ns: synchronisations[0].1,
            setup_ns: 0,
            membership_calls: None,
            any_sources: Default::default(),
            synchronisations: synchronisations.to_vec(),
            time_errors: Default::default(),
        }
    }

    #[test]
    fn clocks_within_bounds_are_unchanged() {
        let clocks = Clocks::align(&[survey(0, &[(0, 100)]), survey(1, &[(90, 101)])]);
        assert_eq!((clocks.shifted, clocks.common(1, 90)), (0, 90));
    }

    #[test]
    fn contradicting_clocks_are_shifted_into_bounds() {
        let clocks = Clocks::align(&[survey(0, &[(0, 100)]), survey(1, &[(5000, 5100)])]);
        assert_eq!(clocks.shifted, 1);
        assert_eq!(clocks.common(1, 5050), 50);
    }
}
