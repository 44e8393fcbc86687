//! Matches batches. In MPI's order, the matcher uses the method with the lowest expected time.
//!
//! All methods find the same pairs. The times are from an H200, with distinct envelopes:
//! `benchmarks/records/2026-11-24-gpu-h200.json`, and `2026-11-23-gpu-h200-2.json` for more than 1 %
//! wildcards on the whole card. Between the measured sizes, the model interpolates without a check.

use crate::batch::Batch;
use crate::division::Division;
use crate::kernels::{Kernel, WARP};
use crate::machine::{Grid, Machine};
use crate::matching::{Algorithm, Loaded};
use crate::partition::Partition;

/// Maximum number of queues by source. Applications rarely have more than twenty or thirty peers (§VII-A).
const QUEUES_MAX: usize = 32;

/// Matches one batch in temporary memory. For many batches, keep a [`Matcher`].
///
/// # Panics
/// As [`Matcher::match_batch`].
pub fn match_batch<M: Machine>(
    machine: &M,
    algorithm: Algorithm,
    batch: &Batch,
    seed: u64,
) -> Result<Vec<u32>, M::Error> {
    Matcher::default().match_batch(machine, algorithm, batch, seed)
}

#[derive(Debug)]
pub struct Matcher<M: Machine> {
    loaded: Loaded<M>,
    division: Division<M>,
    bytes: u64,
    last_bytes: u64,
}

impl<M: Machine> Default for Matcher<M> {
    fn default() -> Self {
        Matcher { loaded: Loaded::default(), division: Division::default(), bytes: 0, last_bytes: 0 }
    }
}

impl<M: Machine> Matcher<M> {
    /// Returns for each receive its message, or [`NONE`](crate::batch::NONE). [`Algorithm::Ordered`] uses
    /// votes or the whole card if their expected time is lower. `machine` must be the same in every call.
    ///
    /// # Errors
    /// The machine fails or has not enough memory. Memory that grew for the batch shrinks to its size before,
    /// or less if the machine lacks that memory now.
    ///
    /// # Panics
    /// A receive has a wildcard that the algorithm's [assertions](Algorithm::demands) exclude.
    pub fn match_batch(
        &mut self,
        machine: &M,
        algorithm: Algorithm,
        batch: &Batch,
        seed: u64,
    ) -> Result<Vec<u32>, M::Error> {
        let matched = self.matched(machine, algorithm, batch, seed);
        let (mut bytes, mut last_bytes) = (0, 0);
        for buffer in self.loaded.buffers_mut().into_iter().chain(self.division.buffers_mut()) {
            last_bytes += buffer.max_bytes();
            if matched.is_err() {
                buffer.restore_size(machine);
            } else {
                buffer.keep_size();
            }
            bytes += buffer.bytes();
        }
        (self.bytes, self.last_bytes) = (bytes, last_bytes);
        matched
    }

    fn matched(
        &mut self,
        machine: &M,
        algorithm: Algorithm,
        batch: &Batch,
        seed: u64,
    ) -> Result<Vec<u32>, M::Error> {
        let Matcher { loaded, division, .. } = self;
        let (messages, receives) = (batch.message_count(), batch.receive_count());
        let entries = messages.max(receives);
        if algorithm == Algorithm::Partitioned {
            // One warp per queue, with an entry for each lane.
            let queues = entries.div_ceil(WARP as usize).clamp(1, QUEUES_MAX);
            let partition = Partition::by_source(batch, queues).expect("every receive has a source");
            loaded.load(machine, &partition.batch, &partition.segments)?;
            loaded.launch(machine, algorithm, Grid { blocks: 1, threads: queues as u32 * WARP }, seed)?;
            return Ok(partition.matched_before(&loaded.matched(machine)?));
        }
        loaded.load(machine, batch, &[batch.whole()])?;
        let mut by = algorithm;
        if algorithm == Algorithm::Ordered {
            let has_card = Division::fits(machine, batch.layout());
            let block = Kernel::MatchOrdered.threads_within(machine.shared_bytes_max(), 1024, batch.layout());
            match Method::of(messages, receives, batch.wildcards(), block, has_card) {
                Method::Numbers => {}
                Method::Votes => by = Algorithm::Matrix,
                Method::WholeCard => {
                    division.fit(machine, loaded)?;
                    division.launch(machine, loaded, seed)?;
                    return loaded.matched(machine);
                }
            }
        }
        let voters = if by == Algorithm::Matrix { messages } else { entries };
        loaded.launch(machine, by, Grid { blocks: 1, threads: by.threads(1, voters) }, seed)?;
        loaded.matched(machine)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Maximum bytes at once for the last batch, refused or not.
    pub fn last_bytes(&self) -> u64 {
        self.last_bytes
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    /// One block numbers entries within their envelopes, and searches for its wildcard receives one by one.
    Numbers,
    /// One block votes on every receive, with or without wildcards.
    Votes,
    /// The whole card, in parts.
    WholeCard,
}

/// Threads of a measured block, and messages that a voting block has at once.
const BLOCK: f64 = 1024.0;

impl Method {
    /// The method with the lowest expected time. `block` is the maximum number of threads of a numbering
    /// block.
    fn of(messages: usize, receives: usize, wildcards: usize, block: u32, has_card: bool) -> Method {
        let mut ways = vec![Method::Numbers, Method::Votes];
        ways.extend(has_card.then_some(Method::WholeCard));
        let block = Algorithm::Ordered.threads(1, messages.max(receives)).min(block);
        let [messages, receives, wildcards] = [messages, receives, wildcards].map(|count| count as f64);
        let expected = |way: &Method| way.microseconds(messages, receives, wildcards, f64::from(block));
        ways.into_iter()
            .min_by(|one, other| expected(one).total_cmp(&expected(other)))
            .expect("there are some")
    }

    /// Estimate in µs, without copies and the launch of a single block, which `Numbers` and `Votes` share.
    fn microseconds(self, messages: f64, receives: f64, wildcards: f64, block: f64) -> f64 {
        let parts = |entries: f64, block: f64| (entries / block).ceil();
        let has_wildcards = wildcards > 0.0;
        match self {
            // Per pair of parts: 64, 1024 and 4096 entries in 1.3, 2.5 and 32.7 µs, which are 1, 1 and 16
            // pairs. Wildcards add 5 µs per call, and 0.4 µs per wildcard receive and part of the messages.
            // With 1, 10 and 50 % wildcards, 1024 entries need 11.9, 49.8 and 203 µs. Scaling with the block
            // size is an assumption.
            Method::Numbers => {
                let share = block / BLOCK;
                let pairs = parts(messages, block) * parts(receives, block);
                let asked = parts(messages, block) * wildcards;
                let begins = if has_wildcards { 5.0 * share } else { 0.0 };
                0.5 + pairs * (0.8 + 1.25 * share) + begins + asked * (0.1 + 0.31 * share)
            }
            // 64, 256, 1024 and 4096 entries in 4.6, 11.3, 67 and 1058 µs. Each receive votes once per part
            // of the messages, by one warp per 128 messages.
            Method::Votes => {
                let receive = 0.03 + 0.0345 * (messages / BLOCK).min(1.0);
                0.5 + parts(messages, BLOCK) * (2.0 + receives * receive)
            }
            // 2^10, 2^14, 2^20 and 2^24 entries in 38, 52, 149 and 2394 µs.
            Method::WholeCard if !has_wildcards => 50.0 + messages.max(receives) * 1.2e-4,
            // Additional rounds, mostly for wildcard receives that depend on each other: 34, 211 and 2697
            // rounds with 1, 3 and 10 % of 2^20.
            Method::WholeCard => {
                let rounds = 3.0 + wildcards * wildcards / (3.5 * messages.min(receives));
                120.0 + messages.max(receives) * 1e-4 + 30.0 * rounds
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(messages: usize, receives: usize, wildcards: usize) -> Method {
        Method::of(messages, receives, wildcards, 1024, true)
    }

    /// Times that were measured for both methods, or differ much.
    #[test]
    fn faster_method_is_chosen() {
        for (entries, wildcards, way) in [
            (64, 0, Method::Numbers),
            (1024, 0, Method::Numbers),
            (1024, 10, Method::Numbers),
            (1024, 102, Method::Numbers),
            (1024, 512, Method::Votes),
            (4096, 0, Method::Numbers),
            (1 << 14, 0, Method::WholeCard),
            (1 << 20, 10_414, Method::WholeCard),
            (1 << 20, 102_497, Method::WholeCard),
            // The whole card took 14.5 ms. A third of 4096 entries takes 0.5 ms by votes.
            (3000, 2248, Method::Votes),
        ] {
            assert_eq!(of(entries, entries, wildcards), way, "{wildcards} of {entries}");
        }
        assert_eq!(Method::of(1 << 20, 1 << 20, 0, 1024, false), Method::Numbers);
        assert_ne!(Method::of(1 << 20, 1 << 20, 10, 1024, false), Method::WholeCard);
    }

    /// The chosen method is never much slower than another, such as one block for a million messages.
    #[test]
    fn short_side_does_not_select_method() {
        for (messages, receives, wildcards, way) in [
            (1 << 20, 8000, 0, Method::WholeCard),
            (4096, 1 << 20, 0, Method::WholeCard),
            (1 << 20, 1000, 10, Method::WholeCard),
            (1 << 20, 1, 0, Method::WholeCard),
            (1 << 20, 1, 1, Method::WholeCard),
            (4000, 1, 1, Method::Votes),
            (255, 255, 255, Method::Votes),
            (100, 100, 100, Method::Votes),
            (1, 1, 1, Method::Numbers),
            (1000, 1, 0, Method::Numbers),
            (0, 5, 0, Method::Numbers),
            (5, 0, 0, Method::Numbers),
        ] {
            assert_eq!(of(messages, receives, wildcards), way, "{messages}, {receives}, {wildcards}");
        }
    }

    /// A smaller block has more parts: with 256 threads, 4096 entries have 256 pairs of parts.
    #[test]
    fn smaller_blocks_match_smaller_batches() {
        assert_eq!(Method::of(4096, 4096, 0, 256, true), Method::WholeCard);
        assert_eq!(Method::of(1024, 1024, 102, 256, true), Method::Votes);
    }

    /// Table of `docs/explanation/gpu.md`: the percentage of wildcards at which the method changes.
    #[test]
    fn methods_equal_table_in_manual() {
        use Method::{Numbers, Votes, WholeCard};
        let table: [(usize, &[(f64, Method)]); 7] = [
            (64, &[(0.0, Numbers), (37.6, Votes)]),
            (256, &[(0.0, Numbers), (20.8, Votes)]),
            (1024, &[(0.0, Numbers), (14.5, Votes)]),
            (4096, &[(0.0, Numbers), (3.1, WholeCard), (15.7, Votes)]),
            (16_384, &[(0.0, WholeCard), (34.6, Votes)]),
            (65_536, &[(0.0, WholeCard), (69.4, Votes)]),
            (1 << 20, &[(0.0, WholeCard)]),
        ];
        for (entries, expected) in table {
            let mut found: Vec<(f64, Method)> = Vec::new();
            for tenths in 0..=1000 {
                let way = of(entries, entries, (entries * tenths).div_ceil(1000));
                if found.last().is_none_or(|&(_, before)| before != way) {
                    found.push((tenths as f64 / 10.0, way));
                }
            }
            assert_eq!(found, expected, "{entries}");
        }
    }

    #[test]
    fn estimates_are_near_measured_times() {
        for (way, entries, wildcards, measured) in [
            (Method::Numbers, 64.0, 0.0, 64.0 / 45.76),
            (Method::Numbers, 256.0, 0.0, 256.0 / 150.22),
            (Method::Numbers, 1024.0, 0.0, 1024.0 / 397.98),
            (Method::Numbers, 2048.0, 0.0, 2048.0 / 231.06),
            (Method::Numbers, 4096.0, 0.0, 4096.0 / 124.38),
            (Method::Numbers, 1024.0, 10.0, 1024.0 / 86.92),
            (Method::Numbers, 1024.0, 20.0, 1024.0 / 64.12),
            (Method::Numbers, 1024.0, 102.0, 1024.0 / 21.03),
            (Method::Numbers, 1024.0, 512.0, 1024.0 / 5.18),
            (Method::Votes, 64.0, 0.0, 64.0 / 14.09),
            (Method::Votes, 256.0, 2.0, 256.0 / 22.84),
            (Method::Votes, 512.0, 0.0, 512.0 / 20.81),
            (Method::Votes, 1024.0, 512.0, 1024.0 / 14.50),
            (Method::Votes, 2048.0, 0.0, 2048.0 / 7.75),
            (Method::Votes, 4096.0, 40.0, 4096.0 / 3.90),
            (Method::WholeCard, 1024.0, 0.0, 1024.0 / 25.64),
            (Method::WholeCard, 16_384.0, 0.0, 16_384.0 / 289.92),
            (Method::WholeCard, 262_144.0, 0.0, 262_144.0 / 3639.27),
            (Method::WholeCard, 1_048_576.0, 0.0, 1_048_576.0 / 6781.46),
            (Method::WholeCard, 4_194_304.0, 0.0, 4_194_304.0 / 7516.89),
            (Method::WholeCard, 16_777_216.0, 0.0, 16_777_216.0 / 7017.45),
            (Method::WholeCard, 1_048_576.0, 1057.0, 1_048_576.0 / 2897.54),
            (Method::WholeCard, 1_048_576.0, 10_414.0, 1_048_576.0 / 670.92),
            (Method::WholeCard, 1_048_576.0, 31_253.0, 7320.2 + 100.0),
            (Method::WholeCard, 1_048_576.0, 102_497.0, 77_692.1 + 100.0),
            (Method::WholeCard, 20_000.0, 8747.0, 26_598.8 + 50.0),
        ] {
            let block = f64::clamp(entries, 64.0, BLOCK);
            let ratio = way.microseconds(entries, entries, wildcards, block) / measured;
            assert!(
                (0.66..1.5).contains(&ratio),
                "{way:?}, {entries} entries, {wildcards} wildcards: {ratio}"
            );
        }
    }
}
