//! The cost of searching in the traced MPI library: entries that an engine compares × the cost of an entry that was measured
//! in the traced run.
//!
//! The cost of an entry depends on the length of the search, for long queues outgrow caches. It was measured for a few
//! lengths with warm caches, and for the longest with cold ones. Between two lengths it changes with the logarithm of the
//! length. Beyond the longest it goes on as between the last two, and never above the cold cost.

use matchpoint::wrap::counted::{Counts, Depths, QueueCounts};
use matchpoint_trace::{EntryCost, SearchCost};

/// A cost range in nanoseconds: with warm caches, and with cold ones.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CostRange {
    /// Warm.
    pub low_ns: f64,
    /// Cold.
    pub high_ns: f64,
}

/// Costs of entries, over the pairs of ranks that measured them: medians.
#[derive(Clone, PartialEq, Debug)]
pub struct LibraryCost {
    /// Pairs of ranks that measured.
    pub pairs: u32,
    /// All of them on one host each; else between hosts.
    pub same_host: bool,
    /// Of posted receives.
    pub posted: Curve,
    /// Of unexpected messages.
    pub unexpected: Curve,
}

/// The cost of an entry by the length of the search.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Curve {
    /// Lengths, ascending, and the cost of an entry with warm caches, in nanoseconds.
    pub warm: Vec<(f64, f64)>,
    /// The cost of an entry with cold caches.
    pub cold_ns: f64,
}

impl CostRange {
    /// The cost of so many times as many.
    pub(crate) fn times(self, factor: f64) -> CostRange {
        CostRange { low_ns: self.low_ns * factor, high_ns: self.high_ns * factor }
    }
}

impl LibraryCost {
    /// What pairs have measured; `None`: nothing. Of the receives, the share `any_source` leaves the source open.
    ///
    /// Pairs within a host count if there are any: neighbours exchange most messages.
    pub fn of(measured: &[SearchCost], any_source: f64) -> Option<LibraryCost> {
        let medians = SearchCost::medians(measured);
        let cost = medians.first()?;
        let curve = |named: &Option<EntryCost>, any: &Option<EntryCost>| {
            let named = named.as_ref()?;
            Some(Curve::of(&cost.lengths, named, any.as_ref().unwrap_or(named), any_source))
        };
        let posted = curve(&cost.posted, &cost.posted_any)?;
        // A network that holds few messages searches both queues alike.
        let unexpected = curve(&cost.unexpected, &cost.unexpected_any).unwrap_or_else(|| posted.clone());
        Some(LibraryCost { pairs: cost.pairs, same_host: cost.same_host, posted, unexpected })
    }

    /// What the comparisons of an engine would take there.
    pub fn cost(&self, counts: &Counts) -> CostRange {
        let posted = self.posted.cost(&counts.posted);
        let unexpected = self.unexpected.cost(&counts.unexpected);
        let probes = self.unexpected.of_searches(counts.probes.probes, counts.probes.attempts);
        let sum = |of: fn(&CostRange) -> f64| [posted, unexpected, probes].iter().map(of).sum();
        CostRange { low_ns: sum(|cost| cost.low_ns), high_ns: sum(|cost| cost.high_ns) }
    }
}

impl Curve {
    fn of(lengths: &[u32], named: &EntryCost, any: &EntryCost, any_source: f64) -> Curve {
        let mixed = |named: f64, any: f64| named * (1.0 - any_source) + any * any_source;
        let costs = named.warm_ns.iter().zip(&any.warm_ns).map(|(&named, &any)| mixed(named, any));
        let warm: Vec<(f64, f64)> = lengths.iter().map(|&length| f64::from(length)).zip(costs).collect();
        let longest = warm.last().map_or(0.0, |&(_, ns)| ns);
        Curve { cold_ns: mixed(named.cold_ns, any.cold_ns).max(longest), warm }
    }

    /// What an entry costs in a search of so many.
    pub fn entry(&self, length: f64) -> CostRange {
        let low_ns = self.warm(length).clamp(0.0, self.cold_ns.max(0.0));
        CostRange { low_ns, high_ns: self.cold_ns.max(low_ns) }
    }

    fn warm(&self, length: f64) -> f64 {
        let (Some(&first), Some(&last)) = (self.warm.first(), self.warm.last()) else { return 0.0 };
        if length <= first.0 {
            return first.1;
        }
        let behind = self.warm.iter().position(|point| point.0 >= length).unwrap_or(self.warm.len() - 1);
        let (Some(&from), Some(&to)) = (self.warm.get(behind.wrapping_sub(1)), self.warm.get(behind)) else {
            return last.1;
        };
        let slope = (to.1 - from.1) / (to.0 / from.0).log2();
        let slope = if length > last.0 { slope.max(0.0) } else { slope };
        from.1 + slope * (length / from.0).log2()
    }

    fn cost(&self, counts: &QueueCounts) -> CostRange {
        let hits = self.of_depths(&counts.depth_hit, counts.attempts_hit);
        let misses = self.of_depths(&counts.depth_miss, counts.attempts_miss);
        CostRange { low_ns: hits.low_ns + misses.low_ns, high_ns: hits.high_ns + misses.high_ns }
    }

    /// Searches by powers of two of the entries compared, of which there were so many in all.
    fn of_depths(&self, depths: &Depths, attempts: u64) -> CostRange {
        let middle = |bucket: usize| if bucket == 0 { 0.0 } else { 0.75 * f64::from(1u32 << bucket) };
        let of_bucket = |bucket: usize| f64::from(depths[bucket]) * middle(bucket);
        let all: f64 = (0..depths.len()).map(of_bucket).sum();
        let mut sum = CostRange::default();
        for bucket in (1..depths.len()).filter(|&bucket| depths[bucket] > 0) {
            let entries = attempts as f64 * of_bucket(bucket) / all;
            let entry = self.entry(entries / f64::from(depths[bucket]));
            sum.low_ns += entries * entry.low_ns;
            sum.high_ns += entries * entry.high_ns;
        }
        sum
    }

    fn of_searches(&self, searches: u64, attempts: u64) -> CostRange {
        let entry = self.entry(attempts as f64 / searches.max(1) as f64);
        CostRange { low_ns: attempts as f64 * entry.low_ns, high_ns: attempts as f64 * entry.high_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(warm: [f64; 3], cold_ns: f64) -> SearchCost {
        let cost = Some(EntryCost { warm_ns: warm.to_vec(), cold_ns });
        SearchCost {
            pairs: 1,
            same_host: true,
            lengths: vec![16, 128, 1024],
            posted: cost.clone(),
            posted_any: cost,
            unexpected: None,
            unexpected_any: None,
        }
    }

    #[test]
    fn entry_cost_grows_to_cold_cost() {
        let cost = LibraryCost::of(&[measured([1.0, 4.0, 7.0], 10.0)], 0.0).unwrap();
        let low = |length| cost.posted.entry(length).low_ns;
        assert_eq!([low(1.0), low(16.0), low(128.0), low(1024.0)], [1.0, 1.0, 4.0, 7.0]);
        assert!((low(2048.0) - 8.0).abs() < 1e-9, "{}", low(2048.0));
        assert_eq!(low(1e6), 10.0);
        assert_eq!(cost.posted.entry(16.0).high_ns, 10.0);
        assert_eq!(cost.unexpected, cost.posted);
    }

    #[test]
    fn hashed_queue_costs_nothing() {
        let cost = LibraryCost::of(&[measured([-0.4, 0.1, -0.02], -3.0)], 0.0).unwrap();
        for length in [1.0, 16.0, 500.0, 1e5] {
            let cost = cost.posted.entry(length);
            assert!((0.0..0.1).contains(&cost.low_ns) && cost.high_ns < 0.1, "{cost:?}");
        }
    }

    #[test]
    fn cost_follows_entries_compared() {
        let cost = LibraryCost::of(&[measured([2.0; 3], 8.0)], 0.0).unwrap();
        let mut counts = Counts::default();
        counts.unexpected.attempts_hit = 3000;
        counts.unexpected.depth_hit[10] = 4;
        counts.probes.probes = 10;
        counts.probes.attempts = 100;
        assert_eq!(cost.cost(&counts), CostRange { low_ns: 6200.0, high_ns: 24800.0 });
    }

    #[test]
    fn no_measurement_gives_no_cost() {
        assert_eq!(LibraryCost::of(&[], 0.0), None);
    }
}
