//! Counters of table lookups and extractions, for statistics (partner paper §6.2 to §6.5).

use crate::effort::{Attempts, Effort};
use crate::engines::rank_array::BYTES_PER_PROCESS;
use crate::envelope::Rank;

/// Sources from here on are addresses, which the estimated memory of `rank_array` excludes.
const ADDRESSES: u32 = 1 << 16;

pub trait HasLog: Effort {
    type Log: Log;
}

impl HasLog for () {
    type Log = ();
}

impl HasLog for Attempts {
    type Log = Counts;
}

/// `()` discards events.
pub trait Log: Default + Send + 'static {
    fn count_lookup(&mut self) {}

    fn count_extraction(&mut self, _partners: usize) {}

    fn count_queued(&mut self, _: Rank) {}

    /// `peers_bytes`: memory for sources.
    fn statistics(&self, _peers_bytes: u64, _communicators: usize) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

impl Log for () {}

#[derive(Default)]
pub struct Counts {
    lookups: u64,
    extractions: u64,
    without_partner: u64,
    /// Highest rank with a queued entry, plus 1.
    processes: u64,
}

impl Log for Counts {
    fn count_lookup(&mut self) {
        self.lookups += 1;
    }

    fn count_extraction(&mut self, partners: usize) {
        self.extractions += 1;
        self.without_partner += u64::from(partners == 0);
    }

    fn count_queued(&mut self, source: Rank) {
        if source.0 < ADDRESSES {
            self.processes = self.processes.max(u64::from(source.0) + 1);
        }
    }

    fn statistics(&self, peers_bytes: u64, communicators: usize) -> Vec<(&'static str, f64)> {
        let rank_array_bytes = (BYTES_PER_PROCESS * self.processes * communicators as u64) as f64;
        let memory = if rank_array_bytes > 0.0 { peers_bytes as f64 / rank_array_bytes } else { 0.0 };
        vec![
            ("hash_lookups", self.lookups as f64),
            ("extractions", self.extractions as f64),
            ("extractions_without_partner", self.without_partner as f64),
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
    fn addresses_begin_at_default_dense() {
        let dense = SPEC.parameters.iter().find(|parameter| parameter.key == "dense");
        assert_eq!(dense.map(|dense| dense.default), Some(&*ADDRESSES.to_string()));
    }
}
