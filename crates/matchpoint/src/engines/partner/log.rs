//! What the counting build notes for [`Engine::statistics`](crate::Engine::statistics): partner paper §6.2 to §6.5. The
//! other build does not even read a clock.

use std::time::{Duration, Instant};

use crate::effort::{Attempts, Effort};
use crate::engine::Queue;
use crate::engines::rank_array::BYTES_PER_PROCESS;
use crate::envelope::Rank;

/// One search in so many is timed: a clock is read three times for it, which takes as long as a short search. Which one,
/// is drawn anew each time: every 16th is always of the same queue where posts and arrivals alternate, and always at the
/// same place of a loop of 16 calls.
const SAMPLED: u64 = 16;

/// Sources from here on are addresses, not ranks: `rank_array` keeps no array for them, and they are left out of what it
/// would take.
const ADDRESSES: u32 = 1 << 16;

/// Chooses what an effort counter goes with.
pub trait Observed: Effort {
    /// What is noted.
    type Log: Log;
}

impl Observed for () {
    type Log = ();
}

impl Observed for Attempts {
    type Log = Kept;
}

/// A search or an extraction that is being timed: when it began, and how long reading the clock had taken just before.
#[derive(Clone, Copy)]
pub struct Begun(Instant, Duration);

impl Begun {
    fn now() -> Self {
        let before = Instant::now();
        let now = Instant::now();
        Begun(now, now - before)
    }

    fn ns(self) -> f64 {
        self.0.elapsed().as_nanos() as f64 - self.1.as_nanos() as f64
    }
}

/// Listens to the engine. `()` does not.
pub trait Log: Default + Send + 'static {
    /// This queue is going to be searched.
    fn search(&mut self, _: Queue) -> Option<Begun> {
        None
    }

    /// It was.
    fn searched(&mut self, _: Queue, _: Option<Begun>) {}

    /// The table of partners was asked for a source.
    fn looked_up(&mut self) {}

    /// Partners are going to be extracted.
    fn extraction(&mut self) -> Option<Begun> {
        None
    }

    /// They were; so many.
    fn extracted(&mut self, _: Option<Begun>, _partners: usize) {}

    /// Something of this source has to wait.
    fn queued(&mut self, _: Rank) {}

    /// Names, with units, and values; of an engine that keeps so many bytes for its sources, and has queued something in so
    /// many communicators.
    fn statistics(&self, _peers_bytes: u64, _communicators: usize) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

impl Log for () {}

/// The searches of one queue, of which a sample is timed.
#[derive(Default)]
struct Searches {
    all: u64,
    /// Which of the present [`SAMPLED`] is timed, from 0.
    drawn: u64,
    random: u64,
    timed: u64,
    timed_ns: f64,
}

impl Searches {
    /// Counts one more, and says whether it is to be timed: one of each [`SAMPLED`], at random.
    fn is_drawn(&mut self) -> bool {
        if self.all % SAMPLED == 0 {
            // SplitMix64, whose upper bits are taken.
            self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            self.drawn = mixed >> (u64::BITS - SAMPLED.ilog2());
        }
        let is_drawn = self.all % SAMPLED == self.drawn;
        self.all += 1;
        is_drawn
    }

    /// Of all of them, as long as those that were timed are on the average.
    fn ns(&self) -> f64 {
        self.timed_ns.max(0.0) / self.timed.max(1) as f64 * self.all as f64
    }
}

/// What [`Attempts`] go with.
#[derive(Default)]
pub struct Kept {
    lookups: u64,
    /// Of receives posted, of messages unexpected: most searches of one may take a hundred times as long as those of the
    /// other.
    posted: Searches,
    unexpected: Searches,
    extractions: u64,
    fruitless: u64,
    extraction_ns: f64,
    /// Ranks are below it: one more than the highest that something was queued of.
    processes: u64,
}

impl Kept {
    fn searches(&mut self, queue: Queue) -> &mut Searches {
        match queue {
            Queue::Posted => &mut self.posted,
            Queue::Unexpected => &mut self.unexpected,
        }
    }
}

impl Log for Kept {
    fn search(&mut self, queue: Queue) -> Option<Begun> {
        self.searches(queue).is_drawn().then(Begun::now)
    }

    fn searched(&mut self, queue: Queue, begun: Option<Begun>) {
        if let Some(begun) = begun {
            let searches = self.searches(queue);
            searches.timed += 1;
            searches.timed_ns += begun.ns();
        }
    }

    fn looked_up(&mut self) {
        self.lookups += 1;
    }

    fn extraction(&mut self) -> Option<Begun> {
        Some(Begun::now())
    }

    fn extracted(&mut self, begun: Option<Begun>, partners: usize) {
        self.extractions += 1;
        self.fruitless += u64::from(partners == 0);
        self.extraction_ns += begun.map_or(0.0, Begun::ns);
    }

    fn queued(&mut self, source: Rank) {
        if source.0 < ADDRESSES {
            self.processes = self.processes.max(u64::from(source.0) + 1);
        }
    }

    fn statistics(&self, peers_bytes: u64, communicators: usize) -> Vec<(&'static str, f64)> {
        let (posted_ns, unexpected_ns) = (self.posted.ns(), self.unexpected.ns());
        let search_ns = posted_ns + unexpected_ns;
        let extraction_ns = self.extraction_ns.max(0.0);
        let overhead = if search_ns > 0.0 { extraction_ns / search_ns } else { 0.0 };
        let rank_array_bytes = (BYTES_PER_PROCESS * self.processes * communicators as u64) as f64;
        let memory = if rank_array_bytes > 0.0 { peers_bytes as f64 / rank_array_bytes } else { 0.0 };
        vec![
            ("hash_lookups", self.lookups as f64),
            ("extractions", self.extractions as f64),
            ("extractions_without_partner", self.fruitless as f64),
            ("extraction_ns", extraction_ns),
            ("posted_searches", self.posted.all as f64),
            ("posted_searches_timed", self.posted.timed as f64),
            ("posted_search_ns", posted_ns),
            ("unexpected_searches", self.unexpected.all as f64),
            ("unexpected_searches_timed", self.unexpected.timed as f64),
            ("unexpected_search_ns", unexpected_ns),
            ("search_ns", search_ns),
            ("extraction_per_search_time", overhead),
            ("rank_array_bytes", rank_array_bytes),
            ("partners_bytes_per_rank_array_bytes", memory),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::{ADDRESSES, SAMPLED, Searches};
    use crate::engines::rank_array::SPEC;

    #[test]
    fn no_place_of_a_loop_is_left_out() {
        const ROUNDS: u64 = 4000;
        for period in [2, 3, 7, 8, 15, 16, 17, 32, 48, 64] {
            let (mut searches, mut timed) = (Searches::default(), vec![0; period as usize]);
            (0..ROUNDS * period)
                .for_each(|at| timed[(at % period) as usize] += u64::from(searches.is_drawn()));
            assert_eq!(timed.iter().sum::<u64>(), ROUNDS * period / SAMPLED);
            let fair = ROUNDS / SAMPLED;
            let is_fair = |&timed: &u64| (fair / 2..=2 * fair).contains(&timed);
            assert!(timed.iter().all(is_fair), "every {period}th search: {timed:?}");
        }
    }

    #[test]
    fn addresses_begin_where_those_of_rank_array_do() {
        let dense = SPEC.parameters.iter().find(|parameter| parameter.key == "dense");
        assert_eq!(dense.map(|dense| dense.default), Some(&*ADDRESSES.to_string()));
    }
}
