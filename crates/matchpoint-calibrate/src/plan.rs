//! All measurements in order, for the ranks and the settings.

use matchpoint_model::Locality;
use serde::{Deserialize, Serialize};

use crate::ranks::{Pair, Ranks};

/// Duration of a batch of exchanges with one time measurement. A batch is much shorter than a time slice of
/// the scheduler, so that host load interrupts few batches, and much longer than a clock reading.
pub const BATCH_S: f64 = 1e-4;

/// Each round has another order: a temporary slowdown affects some rounds of all measurements.
pub const ROUNDS: u32 = 5;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Largest message of the ping-pong.
    pub bytes_max: u32,
    pub messages_max: u32,
    /// Bytes of a test with many messages, the same for every number of messages (§4.1).
    pub bytes_total: u32,
    pub batch_s: f64,
    /// Budget of all batches of a measurement over all rounds, unless five batches per round take longer.
    pub budget_s: f64,
    pub rounds: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            bytes_max: 4 << 20,
            messages_max: 10_000,
            bytes_total: 1 << 20,
            batch_s: BATCH_S,
            budget_s: 0.1,
            rounds: ROUNDS,
        }
    }
}

impl Settings {
    pub fn check(&self) -> Result<(), String> {
        let Settings { bytes_max, messages_max, bytes_total, batch_s, budget_s, rounds } = *self;
        if bytes_max == 0 || messages_max == 0 || bytes_total == 0 || rounds == 0 {
            return Err(
                "`bytes_max`, `messages_max`, `bytes_total` and `rounds` must be one at least".to_owned()
            );
        }
        if !(batch_s > 0.0 && budget_s > 0.0 && batch_s.is_finite() && budget_s.is_finite()) {
            return Err("`batch_s` and `budget_s` must be times".to_owned());
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// α and R_b: ping-pong of one pair over all sizes (§3).
    Sizes,
    /// R_N: ping-pong of several pairs between two nodes (equation 2).
    Injection,
    /// γ: many messages, received in different orders (§4.1).
    Queue,
    /// Of four nodes in a line, the first sends to the third (figure 6), as the reference.
    LineAlone,
    /// δ: as `LineAlone`, and the second node sends to the fourth (§4.2).
    LineShared,
    /// g of LogP: consecutive small messages.
    Gap,
    /// o of LogP: send calls of consecutive small messages.
    Overhead,
}

/// Order of the receives, compared with the order of the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostOrder {
    Equal,
    Reversed,
    /// A random order, the same in every exchange.
    Random,
}

impl PostOrder {
    pub fn name(self) -> &'static str {
        match self {
            PostOrder::Equal => "equal",
            PostOrder::Reversed => "reversed",
            PostOrder::Random => "random",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    pub part: Part,
    /// Locality of each pair. `None` if the ranks are on one node and not bound.
    pub placement: Option<Locality>,
    pub pairs: Vec<Pair>,
    pub order: PostOrder,
    /// Concurrent messages per direction.
    pub messages: u32,
    pub bytes: u32,
}

impl Measurement {
    /// The benchmark's name of the test: one message in each direction, many concurrent messages (algorithm
    /// 1), or many send calls.
    pub fn test(&self) -> &'static str {
        match self.part {
            Part::Sizes | Part::Injection => "ping_pong",
            Part::Queue | Part::LineAlone | Part::LineShared | Part::Gap => "high_volume",
            Part::Overhead => "burst",
        }
    }
}

/// Sizes up to a maximum, with one intermediate size per power of two.
fn sizes(bytes_max: u32) -> Vec<u32> {
    let powers = (0..31).map(|power| 1_u32 << power);
    let both = powers.flat_map(|size| [size, size + size / 2]);
    let mut sizes: Vec<u32> = both.filter(|&size| size <= bytes_max).collect();
    sizes.dedup();
    sizes
}

/// 1, 2, 5, 10, 20, … and the maximum.
fn counts(messages_max: u32) -> Vec<u32> {
    let decades = (0..5).map(|power| 10_u32.pow(power));
    let mut counts: Vec<u32> = decades.flat_map(|decade| [decade, 2 * decade, 5 * decade]).collect();
    counts.retain(|&count| count < messages_max);
    counts.push(messages_max);
    counts
}

fn pairs_at_once(most: usize) -> Vec<usize> {
    let powers = (1..10).map(|power| 1_usize << power);
    let mut counts: Vec<usize> = powers.flat_map(|count| [count, count + count / 2]).collect();
    counts.retain(|&count| count < most);
    counts.extend((most > 1).then_some(most));
    counts
}

/// Empty for one rank.
pub fn measurements(ranks: &Ranks, settings: &Settings) -> Vec<Measurement> {
    let mut all = Vec::new();
    for placement in Locality::ALL {
        let Ok(pair) = ranks.pair(placement) else { continue };
        all.extend(sizes(settings.bytes_max).into_iter().map(|bytes| Measurement {
            part: Part::Sizes,
            placement: Some(placement),
            pairs: vec![pair],
            order: PostOrder::Equal,
            messages: 1,
            bytes,
        }));
    }
    all.extend(injection(ranks, settings));
    all.extend(queue(ranks, settings));
    all.extend(line(ranks, settings));
    all.extend(consecutive_messages(ranks));
    all
}

/// Each round has another, reproducible order.
pub fn rounds(ranks: &Ranks, settings: &Settings) -> Vec<(u32, Measurement)> {
    let once = measurements(ranks, settings);
    let round = |round: u32| {
        let mut all: Vec<(u32, Measurement)> = once.iter().map(|one| (round, one.clone())).collect();
        fastrand::Rng::with_seed(u64::from(round)).shuffle(&mut all);
        all
    };
    (0..settings.rounds).flat_map(round).collect()
}

/// A vector element, which sparse products send consecutively.
const SMALL_BYTES: u32 = 8;

fn consecutive_messages(ranks: &Ranks) -> Vec<Measurement> {
    let Some((placement, pair)) = ranks.farthest_pair() else { return Vec::new() };
    let of = |part: Part, messages: u32| {
        let (pairs, order) = (vec![pair], PostOrder::Equal);
        Measurement { part, placement, pairs, order, messages, bytes: SMALL_BYTES }
    };
    // Few messages, for which libraries have buffers.
    let gaps = [1, 2, 4, 8, 16, 32, 64].map(|messages| of(Part::Gap, messages));
    let overheads = [1, 2, 4, 8, 16].map(|messages| of(Part::Overhead, messages));
    gaps.into_iter().chain(overheads).collect()
}

fn injection(ranks: &Ranks, settings: &Settings) -> Vec<Measurement> {
    let pairs = ranks.pairs_between(0, 1);
    let (small, large): (Vec<u32>, Vec<u32>) =
        sizes(settings.bytes_max).into_iter().partition(|&bytes| bytes < 256);
    let measurement = |count: usize, bytes: u32| Measurement {
        part: Part::Injection,
        placement: Some(Locality::OffNode),
        pairs: pairs[..count].to_vec(),
        order: PostOrder::Equal,
        messages: 1,
        bytes,
    };
    // Every third size, from the largest down.
    let some = large.iter().rev().step_by(3).rev();
    // Three sizes measure the time to start the pairs together, because one may be disturbed.
    let some: Vec<u32> = small.iter().take(3).chain(some).copied().collect();
    let of_count = |count| some.iter().map(move |&bytes| (count, bytes));
    pairs_at_once(pairs.len())
        .into_iter()
        .flat_map(of_count)
        .map(|(count, bytes)| measurement(count, bytes))
        .collect()
}

fn queue(ranks: &Ranks, settings: &Settings) -> Vec<Measurement> {
    let Some((placement, pair)) = ranks.closest_pair() else { return Vec::new() };
    let mut all = Vec::new();
    for messages in counts(settings.messages_max) {
        for order in [PostOrder::Equal, PostOrder::Reversed, PostOrder::Random] {
            let bytes = (settings.bytes_total / messages).max(1);
            all.push(Measurement { part: Part::Queue, placement, pairs: vec![pair], order, messages, bytes });
        }
    }
    all
}

/// Figure 6: all ranks of the first node send to the third node, all ranks of the second node to the fourth.
fn line(ranks: &Ranks, settings: &Settings) -> Vec<Measurement> {
    let (alone, other) = (ranks.pairs_between(0, 2), ranks.pairs_between(1, 3));
    if other.is_empty() {
        return Vec::new();
    }
    let shared: Vec<Pair> = alone.iter().chain(&other).copied().collect();
    let mut all = Vec::new();
    for messages in [1, 10, 100] {
        for divisor in [1, 4, 16] {
            let bytes = (settings.bytes_total / divisor / messages).max(1);
            for (part, pairs) in [(Part::LineAlone, &alone), (Part::LineShared, &shared)] {
                let placement = Some(Locality::OffNode);
                let pairs = pairs.clone();
                all.push(Measurement { part, placement, pairs, order: PostOrder::Equal, messages, bytes });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::tests::ranks;

    fn parts(all: &[Measurement]) -> Vec<Part> {
        let mut parts: Vec<Part> = all.iter().map(|measurement| measurement.part).collect();
        parts.dedup();
        parts
    }

    #[test]
    fn rank_placement_decides_measurements() {
        let settings = Settings::default();
        let parts_of = |nodes: &[(u32, &[Option<u32>])]| parts(&measurements(&ranks(nodes), &settings));
        assert_eq!(parts_of(&[(1, &[None])]), []);
        let of_one_node = [Part::Sizes, Part::Queue, Part::Gap, Part::Overhead];
        assert_eq!(parts_of(&[(1, &[None, None])]), of_one_node);
        let four = [None, None];
        let with_injection = [Part::Sizes, Part::Injection, Part::Queue, Part::Gap, Part::Overhead];
        assert_eq!(parts_of(&[(1, &four), (1, &four)]), with_injection);
        let line = parts_of(&[(1, &[None]), (1, &[None]), (1, &[None]), (1, &[None])]);
        let end = [Part::LineAlone, Part::LineShared, Part::Gap, Part::Overhead];
        assert!(line.ends_with(&end), "{line:?}");
    }

    #[test]
    fn rounds_are_shuffled() {
        let (ranks, settings) = (ranks(&[(1, &[None, None])]), Settings { rounds: 3, ..Settings::default() });
        let (once, all) = (measurements(&ranks, &settings), rounds(&ranks, &settings));
        assert_eq!(all, rounds(&ranks, &settings), "the same every time");
        let round = |of: u32| -> Vec<&Measurement> {
            all.iter().filter(|(round, _)| *round == of).map(|(_, one)| one).collect()
        };
        for of in 0..3 {
            assert_eq!(round(of).len(), once.len());
            assert!(once.iter().all(|one| round(of).contains(&one)));
            assert_ne!(round(of), once.iter().collect::<Vec<_>>());
            assert_ne!(round(of), round((of + 1) % 3));
        }
    }

    #[test]
    fn sizes_and_counts_end_at_maximum() {
        assert_eq!(sizes(8), [1, 2, 3, 4, 6, 8]);
        assert_eq!(counts(10_000), [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]);
        assert_eq!(counts(1), [1]);
        assert_eq!(pairs_at_once(1), [0; 0]);
        assert_eq!(pairs_at_once(2), [2]);
        assert_eq!(pairs_at_once(16), [2, 3, 4, 6, 8, 12, 16]);
    }

    #[test]
    fn bytes_do_not_depend_on_message_count() {
        let settings = Settings::default();
        let all = measurements(&ranks(&[(1, &[None, None])]), &settings);
        for measurement in all.iter().filter(|measurement| measurement.part == Part::Queue) {
            let total = measurement.messages * measurement.bytes;
            assert!(total <= settings.bytes_total && total > settings.bytes_total * 99 / 100);
        }
    }
}
