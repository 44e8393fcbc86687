//! What is measured: every measurement there will be, in order, from where the ranks are and what was asked for.

use serde::{Deserialize, Serialize};

use crate::topology::{Pair, Placement, Topology};

/// A batch, which is timed as one: much shorter than a turn of the scheduler, so that on a busy host most batches are not
/// interrupted; much longer than a reading of the clock.
pub const BATCH_S: f64 = 1e-4;

/// How much is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The largest message of the ping-pong.
    pub bytes_max: u32,
    /// The largest number of messages at once.
    pub messages_max: u32,
    /// Bytes of all messages of a test with many: the same for every number of them (§4.1).
    pub bytes_total: u32,
    /// Seconds that a batch, which is timed as one, takes at least.
    pub batch_s: f64,
    /// Seconds that all batches of a measurement take, if five of them do not take longer.
    pub budget_s: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            bytes_max: 4 << 20,
            messages_max: 10_000,
            bytes_total: 1 << 20,
            batch_s: BATCH_S,
            budget_s: 0.1,
        }
    }
}

impl Settings {
    /// The problem, if nothing can be measured so.
    ///
    /// # Errors
    /// A number is 0, or no time.
    pub fn check(&self) -> Result<(), String> {
        let Settings { bytes_max, messages_max, bytes_total, batch_s, budget_s } = *self;
        if bytes_max == 0 || messages_max == 0 || bytes_total == 0 {
            return Err("`bytes_max`, `messages_max` and `bytes_total` must be one at least".to_owned());
        }
        if !(batch_s > 0.0 && budget_s > 0.0 && batch_s.is_finite() && budget_s.is_finite()) {
            return Err("`batch_s` and `budget_s` must be times".to_owned());
        }
        Ok(())
    }
}

/// What a measurement is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Ping-pong of one pair over all sizes: α and R_b (§3).
    Sizes,
    /// Ping-pong of several pairs between two nodes at once: R_N (equation 2).
    Injection,
    /// Many messages, received in different orders: γ (§4.1).
    Queue,
    /// Of four nodes in a line, the first sends to the third (figure 6), for comparison.
    LineAlone,
    /// The same while the second sends to the fourth: δ (§4.2).
    LineShared,
}

/// In which order receives are posted, compared with that of the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The same.
    Equal,
    /// The opposite.
    Reversed,
    /// One that is random, the same in every exchange.
    Random,
}

impl Order {
    /// As the benchmark and the raw file call it.
    pub fn name(self) -> &'static str {
        match self {
            Order::Equal => "equal",
            Order::Reversed => "reversed",
            Order::Random => "random",
        }
    }
}

/// One measurement that is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// What it is for.
    pub part: Part,
    /// How the ranks of each pair are placed; nothing if they are on one node and not bound.
    pub placement: Option<Placement>,
    /// Who exchanges messages, all pairs at once.
    pub pairs: Vec<Pair>,
    /// In which order receives are posted.
    pub order: Order,
    /// In each direction, at once.
    pub messages: u32,
    /// Of each message.
    pub bytes: u32,
}

impl Measurement {
    /// Whether one message goes to and fro, rather than many at once (algorithm 1).
    pub fn is_ping_pong(&self) -> bool {
        matches!(self.part, Part::Sizes | Part::Injection)
    }
}

/// Sizes up to a largest one: three of four within each power of two would say no more than one and a half does.
fn sizes(bytes_max: u32) -> Vec<u32> {
    let powers = (0..31).map(|power| 1_u32 << power);
    let both = powers.flat_map(|size| [size, size + size / 2]);
    let mut sizes: Vec<u32> = both.filter(|&size| size <= bytes_max).collect();
    sizes.dedup();
    sizes
}

/// 1, 2, 5, 10, 20, … and the largest.
fn counts(messages_max: u32) -> Vec<u32> {
    let decades = (0..5).map(|power| 10_u32.pow(power));
    let mut counts: Vec<u32> = decades.flat_map(|decade| [decade, 2 * decade, 5 * decade]).collect();
    counts.retain(|&count| count < messages_max);
    counts.push(messages_max);
    counts
}

/// 2, 3, 4, 6, 8, 12, … and the largest: pairs at once.
fn pairs_at_once(most: usize) -> Vec<usize> {
    let powers = (1..10).map(|power| 1_usize << power);
    let mut counts: Vec<usize> = powers.flat_map(|count| [count, count + count / 2]).collect();
    counts.retain(|&count| count < most);
    counts.extend((most > 1).then_some(most));
    counts
}

/// Every measurement that these ranks can make. Empty if there is one rank alone.
pub fn measurements(topology: &Topology, settings: &Settings) -> Vec<Measurement> {
    let mut all = Vec::new();
    for placement in Placement::ALL {
        let Ok(pair) = topology.pair(placement) else { continue };
        all.extend(sizes(settings.bytes_max).into_iter().map(|bytes| Measurement {
            part: Part::Sizes,
            placement: Some(placement),
            pairs: vec![pair],
            order: Order::Equal,
            messages: 1,
            bytes,
        }));
    }
    all.extend(injection(topology, settings));
    all.extend(queue(topology, settings));
    all.extend(line(topology, settings));
    all
}

fn injection(topology: &Topology, settings: &Settings) -> Vec<Measurement> {
    let pairs = topology.pairs_between(0, 1);
    let sizes: Vec<u32> = sizes(settings.bytes_max).into_iter().filter(|&bytes| bytes >= 256).collect();
    let measurement = |count: usize, bytes: u32| Measurement {
        part: Part::Injection,
        placement: Some(Placement::OffNode),
        pairs: pairs[..count].to_vec(),
        order: Order::Equal,
        messages: 1,
        bytes,
    };
    // Every fourth size: two for a factor of four.
    let some: Vec<u32> = sizes.into_iter().rev().step_by(3).collect();
    let of_count = |count| some.iter().rev().map(move |&bytes| (count, bytes));
    pairs_at_once(pairs.len())
        .into_iter()
        .flat_map(of_count)
        .map(|(count, bytes)| measurement(count, bytes))
        .collect()
}

fn queue(topology: &Topology, settings: &Settings) -> Vec<Measurement> {
    let Some((placement, pair)) = topology.closest_pair() else { return Vec::new() };
    let mut all = Vec::new();
    for messages in counts(settings.messages_max) {
        for order in [Order::Equal, Order::Reversed, Order::Random] {
            let bytes = (settings.bytes_total / messages).max(1);
            all.push(Measurement { part: Part::Queue, placement, pairs: vec![pair], order, messages, bytes });
        }
    }
    all
}

/// Figure 6: all ranks of the first node send to the third, and those of the second to the fourth.
fn line(topology: &Topology, settings: &Settings) -> Vec<Measurement> {
    let (alone, other) = (topology.pairs_between(0, 2), topology.pairs_between(1, 3));
    if other.is_empty() {
        return Vec::new();
    }
    let shared: Vec<Pair> = alone.iter().chain(&other).copied().collect();
    let mut all = Vec::new();
    for messages in [1, 10, 100] {
        for divisor in [1, 4, 16] {
            let bytes = (settings.bytes_total / divisor / messages).max(1);
            for (part, pairs) in [(Part::LineAlone, &alone), (Part::LineShared, &shared)] {
                let placement = Some(Placement::OffNode);
                let pairs = pairs.clone();
                all.push(Measurement { part, placement, pairs, order: Order::Equal, messages, bytes });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::tests::topology;

    fn parts(all: &[Measurement]) -> Vec<Part> {
        let mut parts: Vec<Part> = all.iter().map(|measurement| measurement.part).collect();
        parts.dedup();
        parts
    }

    #[test]
    fn what_can_be_measured_follows_from_where_ranks_are() {
        let settings = Settings::default();
        let parts_of = |nodes: &[(u32, &[Option<u32>])]| parts(&measurements(&topology(nodes), &settings));
        assert_eq!(parts_of(&[(1, &[None])]), []);
        assert_eq!(parts_of(&[(1, &[None, None])]), [Part::Sizes, Part::Queue]);
        let four = [None, None];
        let with_injection = [Part::Sizes, Part::Injection, Part::Queue];
        assert_eq!(parts_of(&[(1, &four), (1, &four)]), with_injection);
        let line = parts_of(&[(1, &[None]), (1, &[None]), (1, &[None]), (1, &[None])]);
        assert!(line.ends_with(&[Part::LineAlone, Part::LineShared]), "{line:?}");
    }

    #[test]
    fn sizes_and_counts_reach_what_was_asked_for() {
        assert_eq!(sizes(8), [1, 2, 3, 4, 6, 8]);
        assert_eq!(counts(10_000), [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]);
        assert_eq!(counts(1), [1]);
        assert_eq!(pairs_at_once(1), [0; 0]);
        assert_eq!(pairs_at_once(2), [2]);
        assert_eq!(pairs_at_once(16), [2, 3, 4, 6, 8, 12, 16]);
    }

    #[test]
    fn bytes_are_the_same_for_every_number_of_messages() {
        let settings = Settings::default();
        let all = measurements(&topology(&[(1, &[None, None])]), &settings);
        for measurement in all.iter().filter(|measurement| measurement.part == Part::Queue) {
            let total = measurement.messages * measurement.bytes;
            assert!(total <= settings.bytes_total && total > settings.bytes_total * 99 / 100);
        }
    }
}
