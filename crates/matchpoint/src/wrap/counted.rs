//! `Counted`: a wrapper of an engine that counts queue lengths and match attempts as MPI_T does.
//!
//! Lengths (MPICH's `posted_recvq_length`, `unexpected_recvq_length`) are sampled before each search.
//! Attempts (`posted_recvq_match_attempts`, `unexpected_recvq_match_attempts`) are the entries examined,
//! separate for search hits and search misses. All depths are 0 unless
//! [`engines::create_counting`](crate::engines::create_counting) created the engine.

use crate::effort::Attempts;
use crate::engine::{Engine, MsgId, RecvId, Refused};
use crate::envelope::{Pair, Selector, Tag};
use crate::footprint::Footprint;
use crate::forwarded;

/// Searches by entries examined, in powers of two. Element 0 counts searches that examined no entry, element
/// `b` those that examined 2^(b−1) to 2^b − 1, the last element all longer searches. Counts saturate.
pub type Depths = [u32; 20];

/// Counts of one queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueCounts {
    /// Maximum queue length at search.
    pub length_max: u64,
    /// Sum of the queue lengths at search.
    pub length_sum: u64,
    /// Searches: of the posted queue by arrivals, of the unexpected queue by posts. A call refused for lack
    /// of memory counts; a receive that breaks an assertion does not.
    pub searches: u64,
    /// Search hits.
    pub hits: u64,
    /// Entries examined by search hits.
    pub attempts_hit: u64,
    /// Entries examined by search misses.
    pub attempts_miss: u64,
    /// Search hits by entries examined.
    pub depth_hit: Depths,
    /// Search misses by entries examined.
    pub depth_miss: Depths,
}

/// Counts of probes and matched probes, separate because a polling program makes very many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProbeCounts {
    /// Probes and matched probes.
    pub probes: u64,
    /// Probes that found a message.
    pub hits: u64,
    /// Entries examined.
    pub attempts: u64,
}

/// All counts of [`Counted`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Counts of the posted queue (PRQ), which arrivals search.
    pub posted: QueueCounts,
    /// Counts of the unexpected queue (UMQ), which posts search.
    pub unexpected: QueueCounts,
    /// Counts of probes of the unexpected queue.
    pub probes: ProbeCounts,
}

/// An engine, with counts of its queue lengths and attempts.
pub struct Counted {
    engine: Box<dyn Engine>,
    counts: Counts,
    seen: Attempts,
}

impl QueueCounts {
    /// Entries examined by all searches: MPI_T's match attempts.
    pub fn attempts(&self) -> u64 {
        self.attempts_hit + self.attempts_miss
    }

    /// Mean queue length at search, in entries; 0 without searches.
    pub fn length_mean(&self) -> f64 {
        self.length_sum as f64 / self.searches.max(1) as f64
    }

    #[inline]
    fn count(&mut self, length: usize, is_hit: bool, examined: u64) {
        self.searches += 1;
        self.length_max = self.length_max.max(length as u64);
        self.length_sum += length as u64;
        let (attempts, depths) = if is_hit {
            self.hits += 1;
            (&mut self.attempts_hit, &mut self.depth_hit)
        } else {
            (&mut self.attempts_miss, &mut self.depth_miss)
        };
        *attempts += examined;
        let bucket = (u64::BITS - examined.leading_zeros()) as usize;
        let count = &mut depths[bucket.min(depths.len() - 1)];
        *count = count.saturating_add(1);
    }
}

impl Counted {
    /// Wraps `engine`.
    pub fn new(engine: Box<dyn Engine>) -> Self {
        let seen = engine.attempts();
        Counted { engine, counts: Counts::default(), seen }
    }

    /// The counts so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    fn call<A>(&mut self, call: impl FnOnce(&mut dyn Engine) -> A) -> A {
        call(&mut *self.engine)
    }

    fn read<A>(&self, read: impl FnOnce(&dyn Engine) -> A) -> A {
        read(&*self.engine)
    }

    /// Entries of the posted and the unexpected queue examined since the last call.
    #[inline]
    fn take_examined(&mut self) -> (u64, u64) {
        let now = self.engine.attempts();
        let before = std::mem::replace(&mut self.seen, now);
        (now.posted - before.posted, now.unexpected - before.unexpected)
    }

    fn count_probe(&mut self, found: Option<MsgId>) -> Option<MsgId> {
        let (_, examined) = self.take_examined();
        self.counts.probes.probes += 1;
        self.counts.probes.hits += u64::from(found.is_some());
        self.counts.probes.attempts += examined;
        found
    }
}

impl Engine for Counted {
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let length = self.engine.unexpected_len();
        let result = self.engine.post_selector(id, selector);
        let (_, examined) = self.take_examined();
        if result != Err(Refused::Hint) {
            self.counts.unexpected.count(length, matches!(result, Ok(Some(_))), examined);
        }
        result
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let length = self.engine.posted_len();
        let result = self.engine.arrive(id, pair, tag);
        let (examined, _) = self.take_examined();
        self.counts.posted.count(length, matches!(result, Ok(Some(_))), examined);
        result
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        let found = self.engine.probe(selector);
        self.count_probe(found)
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        let found = self.engine.matched_probe(selector);
        self.count_probe(found)
    }

    forwarded!(inside: cancel retract readdress set_hints close fail_source visit queued_in posted_len unexpected_len);
    forwarded!(inside: order demands attempts statistics);

    fn substitute(&self) -> Option<&str> {
        self.engine.substitute()
    }

    fn footprint(&self) -> Footprint {
        let own = size_of::<Self>() as u64;
        let inner = self.engine.footprint();
        Footprint { fixed_bytes: inner.fixed_bytes + own, peak_bytes: inner.peak_bytes + own, ..inner }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines;
    use crate::event::script;

    fn run_script(script: &str) -> Counted {
        let mut engine = Counted::new(engines::create_counting("list").unwrap());
        for event in script::parse(script).unwrap() {
            event.play(&mut engine);
        }
        engine
    }

    #[test]
    fn hits_and_misses_are_counted_separately() {
        let engine =
            run_script("arrive m1 0/1/1\n arrive m2 0/1/2\n post r1 0/1/2\n post r2 0/1/3\n arrive m3 0/1/3");
        let Counts { posted, unexpected, .. } = engine.counts();
        assert_eq!((unexpected.searches, unexpected.hits), (2, 1));
        assert_eq!((unexpected.attempts_hit, unexpected.attempts_miss), (2, 1));
        assert_eq!((unexpected.depth_hit[2], unexpected.depth_miss[1]), (1, 1));
        assert_eq!((unexpected.length_max, unexpected.length_sum), (2, 3));
        assert_eq!((posted.searches, posted.hits, posted.depth_miss[0]), (3, 1, 2));
    }

    #[test]
    fn probes_and_refusals_do_not_count() {
        let engine = run_script(
            "arrive m1 0/1/1\n probe 0/*/1\n matched_probe 0/*/2\n set_hints 1 no_any_tag\n post r1 1/0/*",
        );
        assert_eq!(engine.counts().unexpected, QueueCounts::default());
        assert_eq!(engine.counts().probes, ProbeCounts { probes: 2, hits: 1, attempts: 2 });
    }

    #[test]
    fn batch_counts_each_message() {
        let engine = run_script("post r1 0/*/*\n arrive_batch m1=0/1/1 m2=0/1/1");
        assert_eq!((engine.counts().posted.searches, engine.counts().posted.length_sum), (2, 1));
    }

    #[test]
    fn wrapper_takes_at_most_600_bytes() {
        assert!(size_of::<Counted>() <= 600, "{} bytes", size_of::<Counted>());
    }
}
