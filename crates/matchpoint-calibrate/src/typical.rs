//! The typical time of a measurement, for calibrations and validations.

/// Rounds have fewer batches only if a batch takes a millisecond or more, as long as a scheduler's time
/// slice. Host load disturbs most such batches.
const FEW_BATCHES: usize = 16;

/// Typical time of the batches of a round: the mean of the half of the batches with the closest times
/// (Rousseeuw's shorth). A median would move well before half of the batches are disturbed. For few batches,
/// the minimum, because no disturbance shortens a batch. NaN without batches.
pub fn typical(seconds: &[f64]) -> f64 {
    let sorted = sorted(seconds);
    if (1..FEW_BATCHES).contains(&sorted.len()) {
        return sorted[0];
    }
    let half = sorted.len() / 2 + 1;
    let width = |window: &&[f64]| window[half - 1] - window[0];
    let closest = sorted.windows(half).min_by(|one, other| width(one).total_cmp(&width(other)));
    closest.map_or(f64::NAN, |window| window.iter().sum::<f64>() / half as f64)
}

/// Typical time of several rounds: the median of the rounds' times, because a slow round is one of several.
/// If all rounds have few batches, the minimum. NaN without rounds.
pub fn over_rounds(rounds: &[&[f64]]) -> f64 {
    let each: Vec<f64> = rounds.iter().map(|round| typical(round)).collect();
    if rounds.iter().all(|round| round.len() < FEW_BATCHES) { typical(&each) } else { median(&each) }
}

/// NaN without values.
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
    fn disturbed_batches_do_not_count() {
        let many =
            |undisturbed: f64| [vec![undisturbed; 12], vec![0.5, 5.0, 6.0, 7.0, 8.0, 9.0, 9.5, 9.9]].concat();
        assert_eq!(typical(&many(1.0)), 1.0);
        let few: &[f64] = &[9.0, 9.1, 1.0, 5.0];
        assert_eq!((typical(few), typical(&[2.0])), (1.0, 2.0));
        assert!(typical(&[]).is_nan() && median(&[]).is_nan() && over_rounds(&[]).is_nan());
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0])), (2.0, 2.5));
        assert_eq!(over_rounds(&[&many(1.0), &many(2.0), &many(2.1)]), 2.0);
        assert_eq!(over_rounds(&[&[3.0, 3.1], few, &[2.9]]), 1.0);
    }
}
