//! Algorithm 1 on the last level of the shared queue: selection of partners.

use super::contexts::Contexts;
use super::metric::{Metric, Over};
use super::queue::{Queued, Split};
use crate::engine::Refused;
use crate::envelope::Rank;

/// Parameters of the selection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Rule {
    pub metric: Metric,
    pub over: Over,
    /// The paper's P.
    pub processes: u64,
}

/// A source in a numbered context, and the number of its entries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sender {
    pub number: u64,
    pub source: Rank,
    pub entries: u64,
}

impl Rule {
    /// Keeps the `senders` with more entries than the edge point. `senders` are sorted, one per source.
    /// `counts` is a buffer.
    pub fn select(&self, senders: &mut Vec<Sender>, counts: &mut Vec<u64>) -> Result<(), Refused> {
        counts.clear();
        counts.try_reserve(senders.len()).map_err(|_| Refused::Memory)?;
        counts.extend(senders.iter().map(|sender| sender.entries));
        counts.sort_unstable();
        let contexts = senders.chunk_by(|one, next| one.number == next.number).count() as u64;
        let silent = match self.over {
            Over::Processes => self.processes.saturating_mul(contexts).saturating_sub(senders.len() as u64),
            Over::Senders => 0,
        };
        let edge_point = self.metric.edge_point(counts, silent);
        senders.retain(|sender| sender.entries as f64 > edge_point);
        Ok(())
    }
}

/// Buffers, reused by later extractions.
#[derive(Default)]
pub(super) struct Scratch {
    senders: Vec<Sender>,
    counts: Vec<u64>,
}

impl Scratch {
    pub fn bytes(&self) -> u64 {
        (self.senders.capacity() * size_of::<Sender>() + self.counts.capacity() * size_of::<u64>()) as u64
    }

    /// Makes partners of the sources with most entries in the last level of `queue`, in the order of keys
    /// (Algorithm 1), up to the capacity of the table. If any, starts a new level with entries of age
    /// `since`. Returns the number of partners, 0 without memory. O(entries of the level × log).
    pub fn extract<T: Queued>(
        &mut self,
        queue: &mut Split<T>,
        contexts: &mut Contexts,
        rule: &Rule,
        since: u64,
    ) -> usize {
        let is_counted = !queue.partners.is_full() && self.count(queue, contexts).is_ok();
        if !is_counted || rule.select(&mut self.senders, &mut self.counts).is_err() {
            self.senders.clear();
        }
        let partners = &mut queue.partners;
        let selected = self.senders.iter();
        let added = selected.filter(|sender| partners.add(sender.number, sender.source, since)).count();
        if added > 0 {
            queue.begin_level(since);
        }
        // The paper retries at every entry: n² × log for a level of n entries.
        queue.patience = match added {
            0 if queue.partners.is_full() => usize::MAX,
            0 => queue.last_level_len(),
            _ => 0,
        };
        added
    }

    fn count<T: Queued>(&mut self, queue: &Split<T>, contexts: &mut Contexts) -> Result<(), Refused> {
        let Scratch { senders, .. } = self;
        senders.clear();
        senders.try_reserve(queue.last_level_len()).map_err(|_| Refused::Memory)?;
        for entry in queue.last_level() {
            // Messages with unknown source do not count.
            if let (Some(number), Some(source)) = (contexts.number(entry.context()), entry.source()) {
                senders.push(Sender { number, source, entries: 1 });
            }
        }
        senders.sort_unstable();
        senders.dedup_by(|next, one| {
            let is_same = (next.number, next.source) == (one.number, one.source);
            one.entries += u64::from(is_same);
            is_same
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(rule: Rule, entries: &[(u64, u32, u64)]) -> Vec<(u64, u32)> {
        let sender = |&(number, source, entries)| Sender { number, source: Rank(source), entries };
        let mut senders: Vec<Sender> = entries.iter().map(sender).collect();
        rule.select(&mut senders, &mut Vec::new()).unwrap();
        senders.iter().map(|sender| (sender.number, sender.source.0)).collect()
    }

    #[test]
    fn counted_ranks_decide_edge_point() {
        let rule = Rule { metric: Metric::Average, over: Over::Senders, processes: 100 };
        let entries = [(0, 1, 2), (0, 5, 2), (0, 9, 2)];
        assert_eq!(selected(rule, &entries), [], "none has more than the average");
        let rule = Rule { over: Over::Processes, ..rule };
        assert_eq!(selected(rule, &entries), [(0, 1), (0, 5), (0, 9)], "97 others have none");
        let entries = [(0, 1, 2), (0, 5, 2), (1, 5, 3)];
        // 7 entries ÷ 3 processes in 2 communicators.
        assert_eq!(selected(Rule { processes: 3, ..rule }, &entries), [(0, 1), (0, 5), (1, 5)]);
        // More sources than processes, as with addresses.
        assert_eq!(selected(Rule { processes: 1, ..rule }, &entries), [(1, 5)]);
    }
}
