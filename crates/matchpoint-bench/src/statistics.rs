//! Statistics of samples: median, quartiles, percentiles.

use serde::Serialize;

/// For an even number of samples, the mean of the middle two. 0 without samples.
pub fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    match samples.len() {
        0 => 0.0,
        count => f64::midpoint(samples[(count - 1) / 2], samples[count / 2]),
    }
}

/// Median, first and third quartile. Sorts the samples.
pub fn quartiles(samples: &mut [f64]) -> [f64; 3] {
    [median(samples), percentile(samples, 0.25), percentile(samples, 0.75)]
}

/// The nearest rank of `sorted`. 0 without samples.
pub fn percentile<T: Copy + Default>(sorted: &[T], share: f64) -> T {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or_default()
}

/// Million messages per second: the median and the quartiles of the repetitions. Not a number if unknown.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RateSpread {
    #[serde(rename = "rate_millions_per_s")]
    pub median: f64,
    #[serde(rename = "rate_p25")]
    pub p25: f64,
    #[serde(rename = "rate_p75")]
    pub p75: f64,
}

impl RateSpread {
    pub(crate) fn of(samples: &mut [f64], is_known: bool) -> Self {
        let [median, p25, p75] = if is_known { quartiles(samples) } else { [f64::NAN; 3] };
        RateSpread { median, p25, p75 }
    }

    pub fn values(self) -> [f64; 3] {
        [self.median, self.p25, self.p75]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_middle_sample() {
        assert_eq!(median(&mut [9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [9.0, 1.0, 4.0, 2.0]), 3.0);
        assert_eq!(median(&mut []), 0.0);
    }

    #[test]
    fn percentile_is_a_sample() {
        let samples: Vec<u32> = (1..=1000).collect();
        assert_eq!(percentile(&samples, 0.5), 500);
        assert_eq!(percentile(&samples, 0.9999), 1000);
        assert_eq!(percentile(&samples, 0.0), 1);
        assert_eq!(percentile::<u32>(&[], 0.5), 0);
    }
}
