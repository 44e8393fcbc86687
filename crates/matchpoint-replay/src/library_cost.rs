//! Estimate of the search time in the traced MPI library: attempts × the cost of an attempt.
//!
//! The cost depends on the length of the search, because long queues do not fit into caches. The recorder
//! measures a few queue lengths with warm caches, and the longest queue with cold caches. Costs are
//! interpolated in the logarithm of the length. Beyond the longest measured length, the warm cost rises with
//! the last slope, up to the cold cost. Every doubling of the length adds the cold cost once more. With
//! 16,384 receives in random order, an attempt in MPICH took 70 ns; with 1024 receives, 13 ns.

use matchpoint_trace::{BurstCost, EntryCost, SearchCost, Trace};

#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SearchTime {
    /// Search time if all caches are warm.
    pub low_ns: f64,
    /// Search time estimated from the recorded durations of calls, between `low_ns` and `high_ns`.
    pub likely_ns: f64,
    /// Part of `likely_ns` in calls that were too short for searches with cold caches.
    pub bounded_ns: f64,
    /// Search time if all caches are cold.
    pub high_ns: f64,
}

/// Costs of the MPI library: medians over pairs of ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct LibraryCost {
    /// Number of measured pairs of ranks; 0 for [typical] costs.
    pub pairs: u32,
    pub same_host: bool,
    pub posted: Curve,
    pub unexpected: Curve,
    pub bursts: Vec<BurstCost>,
    /// Cost of a message without a search while every rank sends to the next rank; 0 if not measured.
    pub ring_message_ns: f64,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Curve {
    /// Queue length, and cost with warm caches in nanoseconds; ascending.
    pub warm: Vec<(f64, f64)>,
    pub cold_ns: f64,
    pub empty_ns: f64,
}

impl SearchTime {
    pub(crate) fn times(self, factor: f64) -> SearchTime {
        let SearchTime { low_ns, likely_ns, bounded_ns, high_ns } = self;
        let [low_ns, likely_ns, bounded_ns, high_ns] =
            [low_ns, likely_ns, bounded_ns, high_ns].map(|ns| ns * factor);
        SearchTime { low_ns, likely_ns, bounded_ns, high_ns }
    }
}

impl LibraryCost {
    /// Medians of the measured costs, of pairs within a host if measured, because neighbors exchange most
    /// messages. `any_source` is the fraction of receives with `MPI_ANY_SOURCE`.
    pub fn of(measured: &[SearchCost], any_source: f64) -> Option<LibraryCost> {
        let medians = SearchCost::medians(measured);
        let cost = medians.first()?;
        let curve = |named: &Option<EntryCost>, any: &Option<EntryCost>| {
            let named = named.as_ref()?;
            Some(Curve::of(&cost.lengths, named, any.as_ref().unwrap_or(named), any_source))
        };
        let posted = curve(&cost.posted, &cost.posted_any)?;
        // If the transport buffers few messages, both queues are assumed to have the same search cost.
        let unexpected = curve(&cost.unexpected, &cost.unexpected_any).unwrap_or_else(|| posted.clone());
        Some(LibraryCost {
            pairs: cost.pairs,
            same_host: cost.same_host,
            posted,
            unexpected,
            bursts: cost.bursts.clone(),
            ring_message_ns: cost.ring_message_ns,
        })
    }

    /// Time of the calls that wait for a burst of `messages` messages, without searches.
    ///
    /// The cost per message grows linearly: sends that the transport does not accept wait in a queue, which
    /// each progress call scans.
    pub(crate) fn burst_ns(&self, messages: f64) -> f64 {
        let alone_ns = self.posted.empty_ns;
        let point = |burst: &BurstCost| (f64::from(burst.messages), burst.message_ns);
        let Some(first) = self.bursts.first().map(point) else { return messages * alone_ns };
        // A call for a few messages takes them at their arrival, like a short burst.
        let (mut from, mut to) = (first, first);
        for next in self.bursts[1..].iter().map(point) {
            if to.0 >= messages {
                break;
            }
            (from, to) = (to, next);
        }
        let slope = if to.0 > from.0 { (to.1 - from.1) / (to.0 - from.0) } else { 0.0 };
        messages * (to.1 + slope * (messages - to.0)).max(alone_ns)
    }
}

pub(crate) fn costs_of(trace: &dyn Trace) -> Vec<SearchCost> {
    match trace.searches() {
        measured if measured.is_empty() => vec![typical(trace.description().library.as_deref())],
        measured => measured,
    }
}

pub const TYPICAL_OF: &str = "MPICH 5.0 and 4.0, Open MPI 5.0 and 4.1, Intel MPI 2021 on an AMD EPYC";

/// Typical costs over shared memory: medians of ten runs. For an unknown library, the costs of MPICH.
pub fn typical(library: Option<&str>) -> SearchCost {
    let is = |name: &str| library.is_some_and(|library| library.starts_with(name));
    let cost = |warm_ns: [f64; 3], cold_ns, empty_ns| {
        Some(EntryCost { warm_ns: warm_ns.to_vec(), cold_ns, empty_ns })
    };
    let posted = cost([1.9, 1.9, 1.9], 14.0, 100.0);
    // Intel MPI has a hash table of unexpected messages.
    let unexpected = if is("Intel") {
        cost([0.0; 3], 0.2, 60.0)
    } else if is("Open MPI") {
        cost([0.9, 0.9, 1.4], 13.5, 40.0)
    } else {
        cost([1.3, 1.3, 3.6], 13.5, 50.0)
    };
    SearchCost {
        pairs: 0,
        same_host: true,
        lengths: vec![16, 128, 1024],
        posted: posted.clone(),
        posted_any: posted,
        unexpected: unexpected.clone(),
        unexpected_any: unexpected,
        bursts: Vec::new(),
        ring_message_ns: 0.0,
    }
}

impl Curve {
    fn of(lengths: &[u32], named: &EntryCost, any: &EntryCost, any_source: f64) -> Curve {
        let mixed = |named: f64, any: f64| named * (1.0 - any_source) + any * any_source;
        let costs = named.warm_ns.iter().zip(&any.warm_ns).map(|(&named, &any)| mixed(named, any));
        let warm: Vec<(f64, f64)> = lengths.iter().map(|&length| f64::from(length)).zip(costs).collect();
        let longest = warm.last().map_or(0.0, |&(_, ns)| ns);
        let empty_ns = mixed(named.empty_ns, any.empty_ns).max(0.0);
        Curve { cold_ns: mixed(named.cold_ns, any.cold_ns).max(longest), warm, empty_ns }
    }

    /// Time of a search with `entries` attempts, warm and cold, in nanoseconds.
    pub(crate) fn search(&self, entries: u64) -> (f64, f64) {
        if entries == 0 {
            return (0.0, 0.0);
        }
        let (low_ns, high_ns) = self.entry(entries as f64);
        (entries as f64 * low_ns, entries as f64 * high_ns)
    }

    /// Time of an attempt in a search of this length, warm and cold, in nanoseconds.
    pub fn entry(&self, length: f64) -> (f64, f64) {
        let low_ns = self.warm(length).clamp(0.0, self.cold_ns.max(0.0));
        let longest = self.warm.last().map_or(length, |&(longest, _)| longest);
        let high_ns = self.cold_ns * (1.0 + (length / longest).log2().max(0.0));
        (low_ns, high_ns.max(low_ns))
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(warm: [f64; 3], cold_ns: f64) -> SearchCost {
        let cost = Some(EntryCost { warm_ns: warm.to_vec(), cold_ns, empty_ns: 0.0 });
        SearchCost {
            pairs: 1,
            same_host: true,
            lengths: vec![16, 128, 1024],
            posted: cost.clone(),
            posted_any: cost,
            unexpected: None,
            unexpected_any: None,
            bursts: Vec::new(),
            ring_message_ns: 0.0,
        }
    }

    #[test]
    fn burst_cost_grows_with_messages() {
        let of = |bursts: &[(u32, f64)]| {
            let bursts =
                bursts.iter().map(|&(messages, message_ns)| BurstCost { messages, message_ns }).collect();
            let mut cost =
                LibraryCost::of(&[SearchCost { bursts, ..measured([1.0; 3], 10.0) }], 0.0).unwrap();
            cost.posted.empty_ns = 50.0;
            move |messages| cost.burst_ns(messages)
        };
        let none = of(&[]);
        assert_eq!([none(0.0), none(1.0), none(1000.0)], [0.0, 50.0, 50_000.0]);
        let one = of(&[(129, 178.0)]);
        assert_eq!([1.0, 65.0, 129.0, 1000.0].map(one), [178.0, 65.0 * 178.0, 129.0 * 178.0, 178_000.0]);
        let two = of(&[(100, 100.0), (1100, 600.0)]);
        assert_eq!([1.0, 600.0, 2100.0].map(two), [100.0, 600.0 * 350.0, 2100.0 * 1100.0]);
        let falls = of(&[(100, 400.0), (1100, 100.0)]);
        assert_eq!(falls(10_000.0), 500_000.0);
    }

    #[test]
    fn entry_cost_grows_to_cold_cost() {
        let cost = LibraryCost::of(&[measured([1.0, 4.0, 7.0], 10.0)], 0.0).unwrap();
        let low = |length| cost.posted.entry(length).0;
        assert_eq!([low(1.0), low(16.0), low(128.0), low(1024.0)], [1.0, 1.0, 4.0, 7.0]);
        assert!((low(2048.0) - 8.0).abs() < 1e-9, "{}", low(2048.0));
        assert_eq!(low(1e6), 10.0);
        assert_eq!(cost.posted.search(16), (16.0, 160.0));
        assert_eq!(cost.posted.entry(4096.0).1, 30.0);
        assert_eq!(cost.unexpected, cost.posted);
    }

    #[test]
    fn hashed_queue_costs_nothing() {
        let cost = LibraryCost::of(&[measured([-0.4, 0.1, -0.02], -3.0)], 0.0).unwrap();
        for length in [1.0, 16.0, 500.0, 1e5] {
            let (low_ns, high_ns) = cost.posted.entry(length);
            assert!((0.0..0.1).contains(&low_ns) && high_ns < 0.1, "{low_ns} {high_ns}");
        }
    }

    #[test]
    fn typical_cost_knows_hashed_queue() {
        let entry = |library| LibraryCost::of(&[typical(library)], 0.0).unwrap().unexpected.entry(100.0).0;
        assert!(entry(None) > 1.0 && entry(Some("Open MPI v5.0.8")) > 0.8);
        assert_eq!(entry(Some("Intel(R) MPI Library 2021.17")), 0.0);
    }

    #[test]
    fn no_measurement_gives_no_cost() {
        assert_eq!(LibraryCost::of(&[], 0.0), None);
    }
}
