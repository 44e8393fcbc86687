//! What a measurement comes to: the one estimator of calibrations and of validations, whatever was measured how often.

/// What counts of a round's batches: the time that this share of them does not exceed.
///
/// What disturbs a batch makes it longer, and on a busy host most of those are disturbed that take as long as a scheduler has
/// another process run. A mode, as of the half that lies closest together, finds nothing of them then; the least is another
/// quantity with five batches than with 400, and a difference of the two is off by what batches scatter. This is the same of
/// any number of them, and needs little more than one in ten undisturbed. What it says is less than a median: by 1.28
/// standard deviations, where batches are normal and none is disturbed.
const SHARE: f64 = 0.1;

/// What the batches of a round come to: the tenth percentile, estimated so that its expectation does not go with their
/// number, where they are normal (Blom's plotting positions). Not a number of none.
pub fn typical(seconds: &[f64]) -> f64 {
    let sorted = sorted(seconds);
    let (Some(&least), count) = (sorted.first(), sorted.len() as f64) else { return f64::NAN };
    // From 1 on, between two of them.
    let rank = ((count + 0.25) * SHARE + 0.375).max(1.0);
    let below = rank as usize;
    let (one, next) = (sorted.get(below - 1).unwrap_or(&least), sorted.get(below));
    next.map_or(*one, |next| one + (next - one) * rank.fract())
}

/// What several rounds of batches come to: the same of all batches together. Where a round has five of them and most are
/// disturbed, a round by itself too often has none that is not, for a median of rounds to count. Not a number of none.
pub fn over_rounds(rounds: &[&[f64]]) -> f64 {
    typical(&rounds.concat())
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
        let many = |undisturbed: f64| [vec![undisturbed; 5], vec![9.0; 15]].concat();
        assert_eq!(typical(&many(1.0)), 1.0);
        let few: &[f64] = &[9.0, 9.1, 1.0, 5.0, 7.0];
        assert_eq!((typical(few), typical(&[2.0]), typical(&[3.0, 2.0])), (1.0, 2.0, 2.0));
        assert!(typical(&[]).is_nan() && median(&[]).is_nan() && over_rounds(&[]).is_nan());
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0])), (2.0, 2.5));
        assert_eq!(over_rounds(&[&many(1.0), &many(2.0)]), 1.0);
        assert_eq!(over_rounds(&[&[1.0, 3.1], few, &[1.0]]), 1.0);
    }

    /// One of undisturbed batches, with normal logarithms.
    fn batch(random: &mut fastrand::Rng, noise: f64) -> f64 {
        let normal: f64 = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        (noise * normal).exp()
    }

    /// The mean of what five rounds come to, of so many batches each, of which a share takes up to so much longer.
    fn mean(batches: usize, noise: f64, disturbed: f64, longer: f64) -> f64 {
        const RUNS: usize = 400;
        let mut random = fastrand::Rng::with_seed(6);
        let mut one = || {
            let late = if random.f64() < disturbed { longer * random.f64() } else { 0.0 };
            batch(&mut random, noise) + late
        };
        let mut run = || {
            let rounds: Vec<Vec<f64>> = (0..5).map(|_| (0..batches).map(|_| one()).collect()).collect();
            over_rounds(&rounds.iter().map(|round| &round[..]).collect::<Vec<_>>())
        };
        (0..RUNS).map(|_| run()).sum::<f64>() / RUNS as f64
    }

    /// However many batches there are, what they come to is the same quantity: of a difference of two of them nothing is left
    /// but what it is of. With few and with many, on a quiet host and on one that disturbs half of them, or most.
    #[test]
    fn few_batches_come_to_what_many_do() {
        for noise in [0.02, 0.05, 0.1] {
            let quantile = f64::exp(-1.2816 * noise);
            for batches in [5, 15, 16, 17, 200] {
                let off = mean(batches, noise, 0.0, 0.0) / quantile - 1.0;
                assert!(off.abs() <= 0.02, "{batches} batches, noise {noise}: off by {off:.3}");
            }
            for disturbed in [0.5, 0.7] {
                for batches in [5, 15, 200] {
                    let off = mean(batches, noise, disturbed, 2.0) - 1.0;
                    assert!(
                        off.abs() <= 0.02 + noise,
                        "{batches} batches, noise {noise}, {disturbed} disturbed: off by {off:.3}"
                    );
                }
            }
        }
    }

    /// γ where reversed order takes so long that there are few batches of it, and equal order so short that there are many.
    #[test]
    fn a_difference_of_few_and_many_is_one_of_the_same_quantity() {
        for noise in [0.02, 0.05, 0.1] {
            let (few, many) = (mean(5, noise, 0.0, 0.0), mean(200, noise, 0.0, 0.0));
            let (reversed, equal) = (4.0, 3.0);
            let found = (reversed * few - equal * many) / (reversed - equal);
            let off = found / few - 1.0;
            assert!(off.abs() <= 0.06, "noise {noise}: off by {off:.3}");
        }
    }
}
