//! Statistics of samples: median, quartiles, percentiles.

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
