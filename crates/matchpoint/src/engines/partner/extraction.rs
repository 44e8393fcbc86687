//! Extraction: frequent sources of the shared queue become partners, with separate queues (partner paper,
//! Algorithm 1).

use super::contexts::Contexts;
use super::metric::{Metric, MetricScope};
use super::queue::{QueueEntry, SplitQueue};
use crate::engine::Refused;
use crate::envelope::Rank;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct SelectionRule {
    pub metric: Metric,
    pub over: MetricScope,
    /// The paper's P.
    pub processes: u64,
}

/// `number` is the mapped context id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SourceCount {
    pub number: u64,
    pub source: Rank,
    pub entries: u64,
}

impl SelectionRule {
    /// Keeps the `sources` with more entries than the edge point. `sources` is sorted; `counts` is a reused
    /// buffer.
    pub fn select(&self, sources: &mut Vec<SourceCount>, counts: &mut Vec<u64>) -> Result<(), Refused> {
        counts.clear();
        counts.try_reserve(sources.len()).map_err(|_| Refused::Memory)?;
        counts.extend(sources.iter().map(|source| source.entries));
        counts.sort_unstable();
        let contexts = sources.chunk_by(|one, next| one.number == next.number).count() as u64;
        let zeros = match self.over {
            MetricScope::Processes => {
                self.processes.saturating_mul(contexts).saturating_sub(sources.len() as u64)
            }
            MetricScope::Senders => 0,
        };
        let edge_point = self.metric.edge_point(counts, zeros);
        sources.retain(|source| source.entries as f64 > edge_point);
        Ok(())
    }
}

#[derive(Default)]
pub(super) struct Buffers {
    sources: Vec<SourceCount>,
    counts: Vec<u64>,
}

impl Buffers {
    pub fn bytes(&self) -> u64 {
        (self.sources.capacity() * size_of::<SourceCount>() + self.counts.capacity() * size_of::<u64>())
            as u64
    }

    /// Makes partners of the most frequent sources of the last level (Algorithm 1), up to the table's
    /// capacity. With new partners, starts a new level at age `since`. Returns the number of new partners; 0
    /// after a failed allocation. O(n log n) for n entries of the level.
    pub fn extract<T: QueueEntry>(
        &mut self,
        queue: &mut SplitQueue<T>,
        contexts: &mut Contexts,
        rule: &SelectionRule,
        since: u64,
    ) -> usize {
        let is_counted = !queue.partners.is_full() && self.count(queue, contexts).is_ok();
        if !is_counted || rule.select(&mut self.sources, &mut self.counts).is_err() {
            self.sources.clear();
        }
        let partners = &mut queue.partners;
        let selected = self.sources.iter();
        let added = selected.filter(|source| partners.add(source.number, source.source, since)).count();
        if added > 0 {
            queue.start_level(since);
        }
        // The paper extracts at every entry, which costs O(n² log n) for a level of n entries.
        queue.extraction_delay = match added {
            0 if queue.partners.is_full() => usize::MAX,
            0 => queue.last_level_len(),
            _ => 0,
        };
        added
    }

    fn count<T: QueueEntry>(
        &mut self,
        queue: &SplitQueue<T>,
        contexts: &mut Contexts,
    ) -> Result<(), Refused> {
        let Buffers { sources, .. } = self;
        sources.clear();
        sources.try_reserve(queue.last_level_len()).map_err(|_| Refused::Memory)?;
        for entry in queue.last_level() {
            // Messages with unknown source do not count.
            if let (Some(number), Some(source)) = (contexts.number(entry.context()), entry.source()) {
                sources.push(SourceCount { number, source, entries: 1 });
            }
        }
        sources.sort_unstable();
        sources.dedup_by(|next, one| {
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

    fn selected(rule: SelectionRule, entries: &[(u64, u32, u64)]) -> Vec<(u64, u32)> {
        let source = |&(number, source, entries)| SourceCount { number, source: Rank(source), entries };
        let mut sources: Vec<SourceCount> = entries.iter().map(source).collect();
        rule.select(&mut sources, &mut Vec::new()).unwrap();
        sources.iter().map(|source| (source.number, source.source.0)).collect()
    }

    #[test]
    fn edge_point_depends_on_counted_ranks() {
        let rule = SelectionRule { metric: Metric::Average, over: MetricScope::Senders, processes: 100 };
        let entries = [(0, 1, 2), (0, 5, 2), (0, 9, 2)];
        assert_eq!(selected(rule, &entries), [], "no source has more entries than the average");
        let rule = SelectionRule { over: MetricScope::Processes, ..rule };
        assert_eq!(
            selected(rule, &entries),
            [(0, 1), (0, 5), (0, 9)],
            "97 ranks without entries lower the average"
        );
        let entries = [(0, 1, 2), (0, 5, 2), (1, 5, 3)];
        assert_eq!(selected(SelectionRule { processes: 3, ..rule }, &entries), [(0, 1), (0, 5), (1, 5)]);
        // More sources than processes, as with addresses.
        assert_eq!(selected(SelectionRule { processes: 1, ..rule }, &entries), [(1, 5)]);
    }
}
