//! Statistics of the indexes, sampled at each call: the quantities of the paper's analysis (§V).

use super::class::{CLASSES, Class};
use super::communicator::PostedIndexes;
use super::descriptors::Descriptors;
use crate::effort::{Attempts, Effort};
use crate::engine::Queue;
use crate::hashes::Hashes;
use crate::linked::SlotIndex;

/// `()` discards statistics.
pub(in crate::engines) trait Tally: Effort {
    const COUNTS_EACH_MESSAGE: bool = false;

    fn count_arrival(&mut self, _: &PostedIndexes, _: &Descriptors, _: Hashes) {}

    fn count_posted(&mut self, _: &PostedIndexes, _: &Descriptors, _: (Class, u32), _length: u32) {}

    fn count_match(&mut self, _: &Descriptors, _: SlotIndex) {}

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

impl Tally for () {}

#[derive(Clone, Copy, Default)]
struct ByClass {
    posted: u64,
    /// Sum of the fractions of empty bins at arrivals.
    empty: f64,
}

/// Each search or insertion walks the whole bin.
#[derive(Default)]
pub(in crate::engines) struct Counts {
    attempts: Attempts,
    classes: [ByClass; 4],
    arrivals: u64,
    /// Receives in the bins that arrivals search, taken receives included.
    depth: u64,
    depth_max: u64,
    collisions: u64,
    runs: u64,
    run_max: u32,
    matches: u64,
    matches_followed: u64,
}

impl Effort for Counts {
    fn examined(&mut self, queue: Queue, entries: u64) {
        self.attempts.examined(queue, entries);
    }

    fn attempts(&self) -> Attempts {
        self.attempts
    }
}

impl Tally for Counts {
    const COUNTS_EACH_MESSAGE: bool = true;

    fn count_arrival(&mut self, indexes: &PostedIndexes, receives: &Descriptors, hashes: Hashes) {
        self.arrivals += 1;
        for class in CLASSES {
            let index = indexes.of(class);
            self.classes[class as usize].empty += index.empty_share();
            self.depth += index.bin(class.key(hashes)).iter(receives).count() as u64;
        }
    }

    fn count_posted(
        &mut self,
        indexes: &PostedIndexes,
        receives: &Descriptors,
        (class, key): (Class, u32),
        length: u32,
    ) {
        self.classes[class as usize].posted += 1;
        let depth = indexes.of(class).bin(key).iter(receives).count() as u64;
        self.depth_max = self.depth_max.max(depth);
        self.collisions += u64::from(depth > 1 && class != Class::AnySourceAnyTag);
        self.runs += u64::from(length == 1);
        self.run_max = self.run_max.max(length);
    }

    fn count_match(&mut self, receives: &Descriptors, at: SlotIndex) {
        let run = |at| receives.get(at).value.run;
        let next = receives.next(at, 0);
        self.matches += 1;
        self.matches_followed += u64::from(next != crate::linked::NIL && run(next) == run(at));
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        let mean = |sum: f64, count: u64| sum / count.max(1) as f64;
        let posted = |class: Class| self.classes[class as usize].posted as f64;
        let empty = |class: Class| 100.0 * mean(self.classes[class as usize].empty, self.arrivals);
        let receives: u64 = self.classes.iter().map(|class| class.posted).sum();
        vec![
            ("posted_no_wildcard", posted(Class::NoWildcard)),
            ("posted_any_source", posted(Class::AnySource)),
            ("posted_any_tag", posted(Class::AnyTag)),
            ("posted_any_source_any_tag", posted(Class::AnySourceAnyTag)),
            ("posted_collisions", self.collisions as f64),
            ("bin_depth_mean", mean(self.depth as f64, self.arrivals)),
            ("bin_others_mean", mean((self.depth - self.matches) as f64, self.arrivals)),
            ("bin_depth_max", self.depth_max as f64),
            ("empty_bins_no_wildcard_percent", empty(Class::NoWildcard)),
            ("empty_bins_any_source_percent", empty(Class::AnySource)),
            ("empty_bins_any_tag_percent", empty(Class::AnyTag)),
            ("runs", self.runs as f64),
            ("run_length_mean", mean(receives as f64, self.runs)),
            ("run_length_max", self.run_max.into()),
            ("matches_followed_percent", 100.0 * mean(self.matches_followed as f64, self.matches)),
        ]
    }
}
