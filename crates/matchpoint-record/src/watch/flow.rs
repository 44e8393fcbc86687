//! Messages sent to each rank and not received.
//!
//! Ranks write their calls up to a second apart. `Flow` therefore keeps the numbers of messages by time, and counts up
//! to a time that every rank has reported.

use std::collections::VecDeque;

/// Resolution of the times.
const BUCKET_NS: i64 = 10_000_000;

#[derive(Default)]
pub struct Flow {
    ranks: Vec<Rank>,
}

#[derive(Clone, Default)]
struct Rank {
    /// Sent − received messages before the buckets.
    before: i64,
    /// Times, and sent − received messages in each bucket.
    buckets: VecDeque<(i64, i64)>,
}

impl Flow {
    pub fn sent(&mut self, rank: u32, ns: i64) {
        self.rank(rank).add(ns, 1);
    }

    pub fn received(&mut self, rank: u32, ns: i64) {
        self.rank(rank).add(ns, -1);
    }

    fn rank(&mut self, rank: u32) -> &mut Rank {
        let at = rank as usize;
        if at >= self.ranks.len() {
            self.ranks.resize(at + 1, Rank::default());
        }
        &mut self.ranks[at]
    }

    /// Messages sent to `rank` and not received at `ns`. A receive may be read before its send.
    pub fn pending(&self, rank: u32, ns: i64) -> u64 {
        let Some(rank) = self.ranks.get(rank as usize) else { return 0 };
        let recent = rank.buckets.iter().take_while(|(number, _)| *number < ns.div_euclid(BUCKET_NS));
        u64::try_from(rank.before + recent.map(|(_, change)| change).sum::<i64>()).unwrap_or(0)
    }

    /// Merges the buckets before `ns`. Later calls of `pending` must not ask for an earlier time.
    pub fn merge_before(&mut self, ns: i64) {
        let until = ns.div_euclid(BUCKET_NS);
        for rank in &mut self.ranks {
            let settled = rank.buckets.iter().take_while(|(number, _)| *number < until).count();
            rank.before += rank.buckets.drain(..settled).map(|(_, change)| change).sum::<i64>();
        }
    }
}

impl Rank {
    fn add(&mut self, ns: i64, change: i64) {
        let number = ns.div_euclid(BUCKET_NS);
        // The calls of a rank are in order, so this is usually the last bucket.
        let before = self.buckets.iter().rposition(|(there, _)| *there <= number);
        match before {
            Some(at) if self.buckets[at].0 == number => self.buckets[at].1 += change,
            Some(at) => self.buckets.insert(at + 1, (number, change)),
            None => self.buckets.push_front((number, change)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn pending_messages_are_sent_minus_received() {
        let mut flow = Flow::default();
        for ms in 0..3000 {
            flow.sent(7, ms * MS);
        }
        for ms in 0..1000 {
            flow.received(7, (ms + 5) * MS);
        }
        assert_eq!(flow.pending(7, 1000 * MS), 5);
        assert_eq!(flow.pending(7, 3000 * MS), 2000);
        assert_eq!(flow.pending(7, i64::MAX), 2000);
        assert_eq!((flow.pending(7, -1), flow.pending(8, 0)), (0, 0));
        flow.merge_before(990 * MS);
        assert_eq!(flow.pending(7, 1000 * MS), 5);
        assert!(flow.ranks[7].buckets.len() < 202);
    }

    #[test]
    fn late_report_counts_at_its_time() {
        let mut flow = Flow::default();
        flow.received(0, 500 * MS);
        flow.sent(0, 300 * MS);
        flow.sent(0, 100 * MS);
        let at = |ms: i64| flow.pending(0, ms * MS);
        assert_eq!([at(100), at(200), at(400), at(600)], [0, 1, 2, 1]);
        flow.merge_before(400 * MS);
        flow.received(0, 50 * MS);
        assert_eq!(flow.pending(0, 600 * MS), 0);
    }
}
