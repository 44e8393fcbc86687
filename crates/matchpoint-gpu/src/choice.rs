//! Which way a batch is matched in MPI's order: the one that figures say is the fastest.
//!
//! All of them find the same. What each takes depends on how many messages and receives there are, and on how many receives leave
//! something open; figures are of an H200, of envelopes that are all different (`benchmarks/records/2026-11-23-gpu-h200.json` and,
//! of wildcards on the whole card, `2026-11-23-gpu-h200-2.json`). Between what was measured they are a guess.

/// A way to match in MPI's order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// One block numbers entries within their envelopes, and asks its wildcard receives one by one.
    Numbers,
    /// One block votes on every receive, whatever it leaves open.
    Votes,
    /// The whole card, in parts.
    WholeCard,
}

/// Entries of either side that a block has at once.
const BLOCK: f64 = 1024.0;

/// Entries on both sides below which a batch is small: votes are the fastest on so many, and slower on fewer.
const SMALL: usize = 256;

/// Without wildcards, messages and receives on either side from which the whole card is faster than one block of it: of 4096 it has
/// two thirds of the block's rate, of 16384 five times as much (`benchmarks/records/2026-11-22-gpu-h200.json`).
const WHOLE_CARD: usize = 8192;

impl Way {
    /// The fastest for so many, of which small ones take a start, whichever it is. Without a `card` the whole of it cannot be had.
    pub fn of(messages: usize, receives: usize, wildcards: usize, has_card: bool) -> Way {
        let is_large = has_card && messages.min(receives) >= WHOLE_CARD;
        if wildcards == 0 || messages.max(receives) < SMALL {
            return if is_large { Way::WholeCard } else { Way::Numbers };
        }
        let mut ways = vec![Way::Numbers, Way::Votes];
        ways.extend(is_large.then_some(Way::WholeCard));
        let expected = |way: &Way| way.microseconds(messages as f64, receives as f64, wildcards as f64);
        ways.into_iter()
            .min_by(|one, other| expected(one).total_cmp(&expected(other)))
            .expect("there are some")
    }

    /// What it takes, about.
    fn microseconds(self, messages: f64, receives: f64, wildcards: f64) -> f64 {
        let [message_parts, receive_parts] = [messages, receives].map(|entries| (entries / BLOCK).ceil());
        match self {
            // Parts: 4096 entries at 125 million a second are 16 of them. Wildcards: 1024 entries at 20.6 million with 10 %, at
            // 5.05 with 50 %; in each part of the messages anew.
            Way::Numbers => message_parts * (2.1 * receive_parts + 0.45 * wildcards),
            // 1024 entries at 15.2 million a second, 4096 at 3.9: each receive in each part of the messages.
            Way::Votes => 0.065 * receives * message_parts,
            // 2^14 entries at 313 million a second, 2^20 at 7053; and rounds, of which those that wildcards wait for each other
            // are most: 34, 211 and 2697 with 1, 3 and 10 % of 2^20.
            Way::WholeCard => {
                let rounds = 3.0 + wildcards * wildcards / (3.5 * messages.min(receives));
                120.0 + messages.max(receives) * 1e-4 + 30.0 * rounds
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was measured both ways, or so that the other cannot be near.
    #[test]
    fn the_way_is_the_one_that_was_faster() {
        for (entries, wildcards, way) in [
            (100, 100, Way::Numbers),
            (1024, 0, Way::Numbers),
            (1024, 10, Way::Numbers),
            (1024, 102, Way::Numbers),
            (1024, 512, Way::Votes),
            (4096, 0, Way::Numbers),
            (1 << 14, 0, Way::WholeCard),
            (1 << 20, 10_414, Way::WholeCard),
            (1 << 20, 102_497, Way::WholeCard),
            // The whole card took 14.5 ms; a third of 4096 entries by votes takes half a millisecond.
            (3000, 2248, Way::Votes),
        ] {
            assert_eq!(Way::of(entries, entries, wildcards, true), way, "{wildcards} of {entries}");
        }
        assert_eq!(Way::of(1 << 20, 1 << 20, 0, false), Way::Numbers);
        assert_ne!(Way::of(1 << 20, 1 << 20, 10, false), Way::WholeCard);
    }

    /// Times that the model has for what was measured are within a half of that.
    #[test]
    fn figures_are_near_what_was_measured() {
        for (way, entries, wildcards, measured) in [
            (Way::Numbers, 2048.0, 0.0, 2048.0 / 236.36),
            (Way::Numbers, 4096.0, 0.0, 4096.0 / 125.34),
            (Way::Numbers, 1024.0, 102.0, 1024.0 / 20.55),
            (Way::Numbers, 1024.0, 512.0, 1024.0 / 5.05),
            (Way::Votes, 256.0, 2.0, 256.0 / 22.58),
            (Way::Votes, 1024.0, 512.0, 1024.0 / 14.42),
            (Way::Votes, 4096.0, 40.0, 4096.0 / 3.87),
            (Way::WholeCard, 1_048_576.0, 1057.0, 211.5 + 100.0),
            (Way::WholeCard, 1_048_576.0, 10_414.0, 1306.9 + 100.0),
            (Way::WholeCard, 1_048_576.0, 31_253.0, 7320.2 + 100.0),
            (Way::WholeCard, 1_048_576.0, 102_497.0, 77_692.1 + 100.0),
            (Way::WholeCard, 20_000.0, 8747.0, 26_598.8 + 50.0),
        ] {
            let ratio = way.microseconds(entries, entries, wildcards) / measured;
            assert!(
                (0.66..1.5).contains(&ratio),
                "{way:?}, {entries} entries, {wildcards} wildcards: {ratio}"
            );
        }
    }
}
