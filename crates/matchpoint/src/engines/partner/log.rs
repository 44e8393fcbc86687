//! What the counting build notes for [`Engine::statistics`](crate::Engine::statistics): partner paper §6.2 to §6.5. The
//! other build does not even read a clock.

use std::time::{Duration, Instant};

use crate::effort::{Attempts, Effort};
use crate::engines::rank_array::BYTES_PER_PROCESS;
use crate::envelope::Rank;

/// One search in so many is timed: a clock is read three times for it, which takes as long as a short search.
const SAMPLED: u64 = 16;

/// Sources from here on are addresses, not ranks: `rank_array` keeps no array for them, and they are left out of what it
/// would take.
const ADDRESSES: u64 = 1 << 16;

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
    /// A queue is going to be searched.
    fn search(&mut self) -> Option<Begun> {
        None
    }

    /// It was.
    fn searched(&mut self, _: Option<Begun>) {}

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

/// What [`Attempts`] go with.
#[derive(Default)]
pub struct Kept {
    lookups: u64,
    searches: u64,
    timed_searches: u64,
    timed_ns: f64,
    extractions: u64,
    fruitless: u64,
    extraction_ns: f64,
    /// Ranks are below it: one more than the highest that something was queued of.
    processes: u64,
}

impl Log for Kept {
    fn search(&mut self) -> Option<Begun> {
        self.searches += 1;
        (self.searches % SAMPLED == 0).then(Begun::now)
    }

    fn searched(&mut self, begun: Option<Begun>) {
        if let Some(begun) = begun {
            self.timed_searches += 1;
            self.timed_ns += begun.ns();
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
            self.processes = self.processes.max(source.0 + 1);
        }
    }

    fn statistics(&self, peers_bytes: u64, communicators: usize) -> Vec<(&'static str, f64)> {
        let per_search_ns = self.timed_ns.max(0.0) / self.timed_searches.max(1) as f64;
        let search_ns = per_search_ns * self.searches as f64;
        let extraction_ns = self.extraction_ns.max(0.0);
        let overhead = if search_ns > 0.0 { extraction_ns / search_ns } else { 0.0 };
        let rank_array_bytes = (BYTES_PER_PROCESS * self.processes * communicators as u64) as f64;
        let memory = if rank_array_bytes > 0.0 { peers_bytes as f64 / rank_array_bytes } else { 0.0 };
        vec![
            ("hash_lookups", self.lookups as f64),
            ("extractions", self.extractions as f64),
            ("extractions_without_partner", self.fruitless as f64),
            ("extraction_ns", extraction_ns),
            ("search_ns", search_ns),
            ("extraction_per_search_time", overhead),
            ("rank_array_bytes", rank_array_bytes),
            ("partners_bytes_per_rank_array_bytes", memory),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::ADDRESSES;
    use crate::engines::rank_array::SPEC;

    #[test]
    fn addresses_begin_where_those_of_rank_array_do() {
        let dense = SPEC.parameters.iter().find(|parameter| parameter.key == "dense");
        assert_eq!(dense.map(|dense| dense.default), Some(&*ADDRESSES.to_string()));
    }
}
