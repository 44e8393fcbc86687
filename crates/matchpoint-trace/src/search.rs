//! Cost of an attempt in an MPI library, measured by the recorder at the start of the traced program.

use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SearchCost {
    #[serde(default = "one")]
    pub pairs: u32,
    pub same_host: bool,
    /// Lengths of the searched queues.
    pub lengths: Vec<u32>,
    pub posted: Option<EntryCost>,
    pub posted_any: Option<EntryCost>,
    /// Unexpected messages, searched by a receive with a source. `None` if the transport does not buffer
    /// enough messages.
    pub unexpected: Option<EntryCost>,
    /// The same for receives with `MPI_ANY_SOURCE`.
    pub unexpected_any: Option<EntryCost>,
    /// Costs of bursts, in ascending order of messages; empty if not measured.
    #[serde(default)]
    pub bursts: Vec<BurstCost>,
    /// Cost of a message without a search, while every rank sends a burst to the next rank. The value is the
    /// mean of several bursts and of all pairs; 0 if not measured.
    #[serde(default)]
    pub ring_message_ns: f64,
}

fn one() -> u32 {
    1
}

impl SearchCost {
    /// Medians of the pairs within hosts, and of the pairs between hosts.
    pub fn medians(measured: &[SearchCost]) -> Vec<SearchCost> {
        let among = |same_host: bool| {
            let first = measured.iter().find(|pair| pair.same_host == same_host)?;
            let is_alike = |pair: &&SearchCost| pair.same_host == same_host && pair.lengths == first.lengths;
            let pairs: Vec<&SearchCost> = measured.iter().filter(is_alike).collect();
            let of = |which: fn(&SearchCost) -> &Option<EntryCost>| {
                EntryCost::median(pairs.iter().filter_map(|pair| which(pair).as_ref()), first.lengths.len())
            };
            Some(SearchCost {
                pairs: pairs.iter().map(|pair| pair.pairs).sum(),
                same_host,
                lengths: first.lengths.clone(),
                posted: of(|pair| &pair.posted),
                posted_any: of(|pair| &pair.posted_any),
                unexpected: of(|pair| &pair.unexpected),
                unexpected_any: of(|pair| &pair.unexpected_any),
                bursts: BurstCost::medians(&pairs),
                ring_message_ns: pairs.iter().map(|pair| pair.ring_message_ns).sum::<f64>()
                    / pairs.len() as f64,
            })
        };
        [true, false].into_iter().filter_map(among).collect()
    }
}

#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct EntryCost {
    /// Best case by queue length: entries in sequence, warm caches. Noise may make the value negative.
    pub warm_ns: Vec<f64>,
    /// Worst case in the longest queue: entries in random order, used caches.
    pub cold_ns: f64,
    /// Cost of a search in an empty queue; 0 if not measured.
    #[serde(default)]
    pub empty_ns: f64,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct BurstCost {
    pub messages: u32,
    /// Time of the calls that wait for the burst, per message.
    pub message_ns: f64,
}

impl BurstCost {
    fn medians(pairs: &[&SearchCost]) -> Vec<BurstCost> {
        let mut lengths: Vec<u32> =
            pairs.iter().flat_map(|pair| &pair.bursts).map(|burst| burst.messages).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let of = |messages: u32| {
            let bursts = pairs.iter().flat_map(|pair| &pair.bursts);
            let costs = bursts.filter(|burst| burst.messages == messages).map(|burst| burst.message_ns);
            Some(BurstCost { messages, message_ns: median(costs.collect())? })
        };
        lengths.into_iter().filter_map(of).collect()
    }
}

/// The lower median, because host load only adds time.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

impl EntryCost {
    fn median<'a>(costs: impl Iterator<Item = &'a EntryCost>, lengths: usize) -> Option<EntryCost> {
        let costs: Vec<&EntryCost> = costs.filter(|cost| cost.warm_ns.len() == lengths).collect();
        let median = |of: &dyn Fn(&EntryCost) -> f64| median(costs.iter().map(|cost| of(cost)).collect());
        let cold_ns = median(&|cost| cost.cold_ns)?;
        let empty_ns = median(&|cost| cost.empty_ns)?;
        let warm_ns = (0..lengths).filter_map(|at| median(&|cost| cost.warm_ns[at])).collect();
        Some(EntryCost { warm_ns, cold_ns, empty_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(same_host: bool, ns: f64) -> SearchCost {
        let cost = Some(EntryCost { warm_ns: vec![ns, 2.0 * ns], cold_ns: 10.0 * ns, empty_ns: 50.0 * ns });
        SearchCost {
            pairs: 1,
            same_host,
            lengths: vec![16, 128],
            posted: cost.clone(),
            posted_any: cost,
            unexpected: None,
            unexpected_any: None,
            bursts: vec![BurstCost { messages: 128, message_ns: 100.0 * ns }],
            ring_message_ns: 200.0 * ns,
        }
    }

    #[test]
    fn median_ignores_disturbed_pair() {
        let measured = [pair(false, 7.0), pair(true, 1.0), pair(true, 300.0), pair(true, 1.5)];
        let medians = SearchCost::medians(&measured);
        let posted = |at: usize| medians[at].posted.clone();
        assert_eq!(
            medians.iter().map(|of| (of.pairs, of.same_host)).collect::<Vec<_>>(),
            [(3, true), (1, false)]
        );
        assert_eq!(posted(0), Some(EntryCost { warm_ns: vec![1.5, 3.0], cold_ns: 15.0, empty_ns: 75.0 }));
        assert_eq!(posted(1), pair(false, 7.0).posted);
        assert_eq!(medians[0].unexpected, None);
        assert_eq!(medians[0].bursts, [BurstCost { messages: 128, message_ns: 150.0 }]);
        assert_eq!(medians[0].ring_message_ns, 200.0 * (1.0 + 300.0 + 1.5) / 3.0, "the mean");
    }

    #[test]
    fn pairs_with_other_lengths_are_ignored() {
        let odd = SearchCost { lengths: vec![16], ..pair(true, 9.0) };
        assert_eq!(SearchCost::medians(&[pair(true, 1.0), odd])[0].pairs, 1);
        let broken = SearchCost { lengths: vec![16, 128, 1024], ..pair(true, 9.0) };
        assert_eq!(SearchCost::medians(&[broken])[0].posted, None);
        assert_eq!(SearchCost::medians(&[]), []);
    }
}
