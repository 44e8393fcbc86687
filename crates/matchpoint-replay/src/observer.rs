//! Statistics of one rank that do not depend on the engine: lengths, envelopes, runs and conflicts.

use std::hash::{BuildHasher, Hash};

use matchpoint::{Envelope, Message, Receive, Selector, Wild};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::growth::make_room;
use crate::label::Label;
use crate::measurements::{CONFLICT_BLOCK, RankQueue};
use crate::peers::Peers;
use crate::step::{Kind, Step};
use crate::timeline::Timeline;

const TUPLES_MAX: usize = 1 << 18;

const RUN_BUCKETS: usize = 40;

pub(crate) struct SharedStatistics {
    tuples_left: usize,
    pub runs: [u64; RUN_BUCKETS],
    pub run_max: u64,
    pub blocks: u64,
    pub conflicts: u64,
    pub blocks_with_conflict: u64,
}

impl Default for SharedStatistics {
    fn default() -> Self {
        SharedStatistics {
            tuples_left: TUPLES_MAX,
            runs: [0; RUN_BUCKETS],
            run_max: 0,
            blocks: 0,
            conflicts: 0,
            blocks_with_conflict: 0,
        }
    }
}

#[derive(Clone, Copy, Default)]
pub(crate) struct SearchTotals {
    pub searches: u64,
    pub hits: u64,
    pub length_sum: u64,
}

impl SearchTotals {
    fn add(&mut self, length: u32, hit: bool) {
        self.searches += 1;
        self.hits += u64::from(hit);
        self.length_sum += u64::from(length);
    }
}

impl std::ops::AddAssign<&SearchTotals> for SearchTotals {
    fn add_assign(&mut self, other: &SearchTotals) {
        self.searches += other.searches;
        self.hits += other.hits;
        self.length_sum += other.length_sum;
    }
}

#[derive(Default)]
pub(crate) struct RankObserver {
    pub posted: Timeline,
    pub unexpected: Timeline,
    pub posted_searched: SearchTotals,
    pub unexpected_searched: SearchTotals,
    pub worst_length: u64,
    pub worst_at_ns: i64,
    pub peers: Peers,
    pub any_source: u64,
    /// Envelopes as 64-bit hashes, which take a fifth of the memory. Two may collide.
    arrived: FxHashMap<u64, u32>,
    selector: FxHashSet<u64>,
    tuples_cut: bool,
    run: Option<(Selector, u64)>,
    matched: Vec<MatchedReceive>,
    in_block: usize,
    /// Posted order of the first receive that was posted during the block.
    first_posted_in_block: Option<u32>,
    conflicts_in_block: u64,
}

/// A matched receive, in half the bytes of a [`Receive`].
struct MatchedReceive {
    selector: Label,
    order: u32,
}

pub(crate) struct Tuples {
    pub unique: u64,
    pub exact: bool,
    pub share_max: f64,
    pub per_receive: f64,
}

impl RankObserver {
    pub fn observe(&mut self, step: &Step, shared: &mut SharedStatistics) {
        match step.kind {
            Kind::Post { receive, took } => {
                self.note_search(self.unexpected.length(), step.at_ns);
                self.unexpected_searched.add(self.unexpected.length(), took.is_some());
                self.any_source += u64::from(receive.selector.source() == Wild::Any);
                self.extend_run(receive.selector, shared);
                self.note_selector(receive.selector, shared);
                if self.in_block > 0 {
                    self.first_posted_in_block.get_or_insert(order(&receive));
                }
                match took {
                    Some(_) => self.unexpected.change(step.at_ns, -1),
                    None => self.posted.change(step.at_ns, 1),
                }
            }
            Kind::Arrive { message, from, took } => {
                self.note_search(self.posted.length(), step.at_ns);
                self.posted_searched.add(self.posted.length(), took.is_some());
                self.note_peer(from);
                self.note_arrived(message.envelope, shared);
                self.extend_block(&message, took, shared);
                match took {
                    Some(_) => self.posted.change(step.at_ns, -1),
                    None => self.unexpected.change(step.at_ns, 1),
                }
            }
            Kind::Probe { .. } => self.note_search(self.unexpected.length(), step.at_ns),
            Kind::MatchedProbe { took, .. } => {
                self.note_search(self.unexpected.length(), step.at_ns);
                if took.is_some() {
                    self.unexpected.change(step.at_ns, -1);
                }
            }
            Kind::Retract { .. } => self.unexpected.change(step.at_ns, -1),
            Kind::Cancel { was_posted: true, .. } => self.posted.change(step.at_ns, -1),
            _ => {}
        }
    }

    fn note_search(&mut self, length: u32, at_ns: i64) {
        if u64::from(length) > self.worst_length {
            self.worst_length = length.into();
            self.worst_at_ns = at_ns;
        }
    }

    fn note_peer(&mut self, from: u32) {
        if from != u32::MAX {
            self.peers.add(from);
        }
    }

    fn note_arrived(&mut self, envelope: Envelope, shared: &mut SharedStatistics) {
        let envelope = fingerprint(&envelope);
        if let Some(count) = self.arrived.get_mut(&envelope) {
            *count += 1;
        } else if shared.tuples_left > 0 {
            shared.tuples_left -= 1;
            self.arrived.insert(envelope, 1);
        } else {
            self.tuples_cut = true;
        }
    }

    fn note_selector(&mut self, selector: Selector, shared: &mut SharedStatistics) {
        let selector = fingerprint(&selector);
        if shared.tuples_left == 0 {
            self.tuples_cut |= !self.selector.contains(&selector);
        } else if self.selector.insert(selector) {
            shared.tuples_left -= 1;
        }
    }

    fn extend_run(&mut self, selector: Selector, shared: &mut SharedStatistics) {
        match &mut self.run {
            Some((of, length)) if *of == selector => *length += 1,
            _ => {
                self.end_run(shared);
                self.run = Some((selector, 1));
            }
        }
    }

    fn end_run(&mut self, shared: &mut SharedStatistics) {
        if let Some((_, length)) = self.run.take() {
            shared.runs[length.ilog2() as usize] += 1;
            shared.run_max = shared.run_max.max(length);
        }
    }

    /// Adds a message to the block and detects conflicts. In a conflict, an earlier message of the block took
    /// an older receive that also matches this message.
    fn extend_block(&mut self, message: &Message, took: Option<Receive>, shared: &mut SharedStatistics) {
        // The messages were not available together.
        let first = self.first_posted_in_block;
        let own = took
            .map(|own| MatchedReceive { selector: Label::from_selector(&own.selector), order: order(&own) });
        if own.as_ref().is_some_and(|own| first.is_some_and(|first| own.order >= first)) {
            self.end_block(shared);
        }
        let message = Label::from_envelope(&message.envelope);
        let before = own.as_ref().map_or(u32::MAX, |own| own.order);
        let conflicts =
            self.matched.iter().any(|matched| matched.order < before && matched.selector.accepts(message));
        self.conflicts_in_block += u64::from(conflicts);
        if let Some(own) = own {
            make_room(&mut self.matched);
            self.matched.push(own);
        }
        self.in_block += 1;
        if self.in_block == CONFLICT_BLOCK {
            self.end_block(shared);
        }
    }

    fn end_block(&mut self, shared: &mut SharedStatistics) {
        if self.in_block > 0 {
            shared.blocks += 1;
            shared.conflicts += self.conflicts_in_block;
            shared.blocks_with_conflict += u64::from(self.conflicts_in_block > 0);
        }
        self.in_block = 0;
        self.first_posted_in_block = None;
        self.conflicts_in_block = 0;
        self.matched.clear();
    }

    pub fn finish(&mut self, shared: &mut SharedStatistics) {
        self.end_run(shared);
        self.end_block(shared);
    }

    pub fn tuples(&self) -> Tuples {
        let most = self.arrived.values().copied().max().unwrap_or(0);
        Tuples {
            unique: self.arrived.len() as u64,
            exact: !self.tuples_cut,
            share_max: ratio(most.into(), self.posted_searched.searches),
            per_receive: ratio(self.selector.len() as u64, self.unexpected_searched.searches),
        }
    }

    pub fn queues(&self, end_ns: i64) -> (RankQueue, RankQueue) {
        (self.posted.summary(end_ns), self.unexpected.summary(end_ns))
    }
}

fn fingerprint(of: &impl Hash) -> u64 {
    FxBuildHasher.hash_one(of)
}

/// Posted order of a receive: the generation of its id.
fn order(receive: &Receive) -> u32 {
    (receive.id.0 >> 32) as u32
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use matchpoint::{ContextId, MsgId, Rank, RecvId, Tag, Wild};

    fn receive(order: u32, source: Wild<Rank>) -> Receive {
        Receive::new(RecvId::new(order, order), Selector::new(ContextId(0), source, Wild::Is(Tag(1))))
    }

    fn arrives(from: u64, took: Option<Receive>) -> Step {
        let envelope = Envelope::new(ContextId(0), Rank(from as u32), Tag(1));
        let message = Message::new(MsgId(0), envelope);
        Step { at_ns: 0, kind: Kind::Arrive { message, from: from as u32, took }, site: 0 }
    }

    fn conflicts(steps: &[Step]) -> u64 {
        let (mut observer, mut shared) = (RankObserver::default(), SharedStatistics::default());
        steps.iter().for_each(|step| observer.observe(step, &mut shared));
        observer.finish(&mut shared);
        assert_eq!(shared.blocks, 1);
        shared.conflicts
    }

    #[test]
    fn duplicate_messages_conflict_after_first() {
        let one = Wild::Is(Rank(1));
        let steps = [arrives(1, Some(receive(1, one))), arrives(1, Some(receive(2, one))), arrives(1, None)];
        assert_eq!(conflicts(&steps), 2);
    }

    #[test]
    fn sequential_messages_do_not_conflict() {
        let one = Wild::Is(Rank(1));
        let post = |receive| Step { at_ns: 0, kind: Kind::Post { receive, took: None }, site: 0 };
        let (first, is_in_second_group) = (receive(1, one), receive(2, one));
        let steps = [
            post(first),
            arrives(1, Some(first)),
            post(is_in_second_group),
            arrives(1, Some(is_in_second_group)),
        ];
        let (mut observer, mut shared) = (RankObserver::default(), SharedStatistics::default());
        steps.iter().for_each(|step| observer.observe(step, &mut shared));
        observer.finish(&mut shared);
        assert_eq!((shared.blocks, shared.conflicts), (2, 0));
    }

    #[test]
    fn different_sources_conflict_only_over_wildcard() {
        let (one, two) = (Wild::Is(Rank(1)), Wild::Is(Rank(2)));
        assert_eq!(conflicts(&[arrives(1, Some(receive(1, one))), arrives(2, Some(receive(2, two)))]), 0);
        assert_eq!(
            conflicts(&[arrives(1, Some(receive(1, Wild::Any))), arrives(2, Some(receive(2, two)))]),
            1
        );
        // The receive of the second message is older.
        assert_eq!(
            conflicts(&[arrives(1, Some(receive(2, Wild::Any))), arrives(2, Some(receive(1, two)))]),
            0
        );
    }
}
