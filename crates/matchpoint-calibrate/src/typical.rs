//! What a measurement comes to: the one estimator of calibrations and of validations.

/// What most batches agree on: the mean of the half of them that lie closest together (Rousseeuw's shorth). What disturbs a
/// batch makes it longer, which moves a median well before half of them are disturbed. Not a number of none.
pub fn typical(seconds: &[f64]) -> f64 {
    let sorted = sorted(seconds);
    let half = sorted.len() / 2 + 1;
    let width = |window: &&[f64]| window[half - 1] - window[0];
    let closest = sorted.windows(half).min_by(|one, other| width(one).total_cmp(&width(other)));
    closest.map_or(f64::NAN, |window| window.iter().sum::<f64>() / half as f64)
}

/// The one in the middle, or the mean of two: of what several rounds came to. Not a number of none.
pub fn median(of: &[f64]) -> f64 {
    let sorted = sorted(of);
    let above = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[above],
        _ => (sorted[above - 1] + sorted[above]) / 2.0,
    }
}

fn sorted(of: &[f64]) -> Vec<f64> {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_disturbed_does_not_count() {
        assert_eq!(typical(&[1.0, 9.0, 1.0, 5.0, 1.0]), 1.0);
        assert_eq!(typical(&[2.0]), 2.0);
        assert!((typical(&[1.0, 1.1, 3.0]) - 1.05).abs() < 1e-12);
        assert!(typical(&[]).is_nan() && median(&[]).is_nan());
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0])), (2.0, 2.5));
    }
}
