//! Edge point: a source with more entries becomes a partner (partner paper, Algorithm 1, line 1).

/// Definition of the edge point (partner paper §4.1).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Metric {
    Average,
    Median,
    /// Q₃ + `slope` × (Q₃ − Q₁): `slope` is −α in Equation 2, +α in Tukey's fence. With the paper's α = 0,
    /// both are the upper quartile.
    UpperFence {
        slope: f64,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MetricScope {
    /// All processes of all communicators seen. Processes without entries count as zero (Algorithm 1).
    Processes,
    /// Sources with entries.
    Senders,
}

impl Metric {
    /// The `zeros` are additional counts of zero. Quartiles are interpolated linearly, as in R and NumPy.
    /// O(1); O(counts) for the average.
    pub fn edge_point(self, counts: &[u64], zeros: u64) -> f64 {
        let population = Population { counts, zeros };
        match self {
            Metric::Average => population.average(),
            Metric::Median => population.quantile(0.5),
            Metric::UpperFence { slope } => {
                let (lower, upper) = (population.quantile(0.25), population.quantile(0.75));
                upper + slope * (upper - lower)
            }
        }
    }
}

struct Population<'a> {
    counts: &'a [u64],
    zeros: u64,
}

impl Population<'_> {
    fn len(&self) -> u64 {
        self.zeros + self.counts.len() as u64
    }

    fn average(&self) -> f64 {
        let sum: f64 = self.counts.iter().map(|&count| count as f64).sum();
        sum / self.len().max(1) as f64
    }

    fn nth(&self, at: u64) -> f64 {
        let last = self.counts.len().saturating_sub(1);
        let count = at.checked_sub(self.zeros).map(|at| (at as usize).min(last));
        count.and_then(|at| self.counts.get(at)).map_or(0.0, |&count| count as f64)
    }

    fn quantile(&self, share: f64) -> f64 {
        let position = share * self.len().saturating_sub(1) as f64;
        let below = position.floor();
        let (lower, upper) = (self.nth(below as u64), self.nth(below as u64 + 1));
        lower + (position - below) * (upper - lower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FENCE: fn(f64) -> Metric = |slope| Metric::UpperFence { slope };

    #[test]
    fn edge_points_of_sample_are_exact() {
        // Quartiles 2 and 7.
        let counts = [1, 2, 4, 7, 11];
        for (metric, expected) in [
            (Metric::Average, 5.0),
            (Metric::Median, 4.0),
            (FENCE(0.0), 7.0),
            (FENCE(1.5), 14.5),
            (FENCE(-1.5), -0.5),
        ] {
            assert_eq!(metric.edge_point(&counts, 0), expected, "{metric:?}");
        }
    }

    #[test]
    fn sources_without_entries_are_zeros() {
        for (metric, expected) in [(Metric::Average, 4.0), (Metric::Median, 2.0), (FENCE(0.0), 7.0)] {
            assert_eq!(metric.edge_point(&[4, 8, 12], 3), expected, "{metric:?}");
        }
        assert_eq!(Metric::Median.edge_point(&[9], 1000), 0.0);
        assert_eq!(FENCE(1.0).edge_point(&[], 0), 0.0);
        assert_eq!(Metric::Average.edge_point(&[], 0), 0.0);
    }
}
