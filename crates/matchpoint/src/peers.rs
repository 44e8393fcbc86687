//! A table with one entry per source: an array for ranks, a hash table for large addresses.

use crate::engine::Refused;
use crate::envelope::Rank;

/// Sources below a bound index an array; others are hashed.
pub(crate) struct Peers<P> {
    dense: Vec<P>,
    sparse: Sparse<P>,
}

/// Entries in insertion order, and an open-addressed table of their indices, at most half full. A sorted list
/// takes O(sources) per insertion.
struct Sparse<P> {
    entries: Vec<(Rank, P)>,
    table: Vec<u32>,
}

const EMPTY: u32 = u32::MAX;

impl<P> Default for Peers<P> {
    fn default() -> Self {
        Peers { dense: Vec::new(), sparse: Sparse { entries: Vec::new(), table: Vec::new() } }
    }
}

impl<P: Default> Sparse<P> {
    /// The slot of a source, or the first free slot: multiply-shift, then linear probing. The table has
    /// slots.
    #[inline]
    fn slot(&self, source: Rank) -> usize {
        let mask = self.table.len() - 1;
        // At least 4 slots, so the shift is less than 64.
        let shift = u64::BITS - self.table.len().trailing_zeros();
        let mut slot = (u64::from(source.0).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize;
        while self.table[slot] != EMPTY && self.entries[self.table[slot] as usize].0 != source {
            slot = (slot + 1) & mask;
        }
        slot
    }

    #[inline]
    fn find(&self, source: Rank) -> Option<usize> {
        if self.table.is_empty() {
            return None;
        }
        let number = self.table[self.slot(source)];
        (number != EMPTY).then_some(number as usize)
    }

    fn insert(&mut self, source: Rank) -> Result<usize, Refused> {
        if let Some(at) = self.find(source) {
            return Ok(at);
        }
        self.entries.try_reserve(1).map_err(|_| Refused::Memory)?;
        if self.table.len() < 2 * (self.entries.len() + 1) {
            self.grow()?;
        }
        let (at, slot) = (self.entries.len(), self.slot(source));
        self.table[slot] = at as u32;
        self.entries.push((source, P::default()));
        Ok(at)
    }

    #[cold]
    fn grow(&mut self) -> Result<(), Refused> {
        let slots = (2 * self.table.len()).max(4);
        if slots > EMPTY as usize {
            return Err(Refused::Full);
        }
        self.table.try_reserve_exact(slots - self.table.len()).map_err(|_| Refused::Memory)?;
        self.table.clear();
        self.table.resize(slots, EMPTY);
        for at in 0..self.entries.len() {
            let slot = self.slot(self.entries[at].0);
            self.table[slot] = at as u32;
        }
        Ok(())
    }
}

impl<P: Default> Peers<P> {
    /// O(1); expected O(1) above the bound.
    #[inline]
    pub(crate) fn get_mut(&mut self, source: Rank) -> Option<&mut P> {
        if usize::try_from(source.0).is_ok_and(|at| at < self.dense.len()) {
            return self.dense.get_mut(source.0 as usize);
        }
        self.sparse.find(source).map(|at| &mut self.sparse.entries[at].1)
    }

    /// The value of `source`. `bound`, the first hashed source, must be the same in every call. O(1) expected
    /// and amortized.
    #[inline]
    pub(crate) fn get_or_insert(&mut self, source: Rank, bound: u64) -> Result<&mut P, Refused> {
        if u64::from(source.0) >= bound {
            let at = self.sparse.insert(source)?;
            return Ok(&mut self.sparse.entries[at].1);
        }
        let at = source.0 as usize;
        if at >= self.dense.len() {
            self.grow(at + 1)?;
        }
        Ok(&mut self.dense[at])
    }

    /// Values of sources below the bound, in ascending order of the source. Unused values are included.
    pub(crate) fn dense(&self) -> impl Iterator<Item = &P> {
        self.dense.iter()
    }

    /// Values of sources above the bound, in insertion order.
    pub(crate) fn sparse(&self) -> impl Iterator<Item = (Rank, &P)> {
        self.sparse.entries.iter().map(|(source, peer)| (*source, peer))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &P> {
        self.dense().chain(self.sparse().map(|(_, peer)| peer))
    }

    pub(crate) fn bytes(&self) -> u64 {
        let Sparse { entries, table } = &self.sparse;
        (self.dense.capacity() * size_of::<P>()
            + entries.capacity() * size_of::<(Rank, P)>()
            + table.capacity() * size_of::<u32>()) as u64
    }

    #[cold]
    fn grow(&mut self, len: usize) -> Result<(), Refused> {
        self.dense.try_reserve(len - self.dense.len()).map_err(|_| Refused::Memory)?;
        self.dense.resize_with(len, P::default);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_source_takes_one_slot() {
        let mut peers = Peers::<u8>::default();
        for source in [1 << 30, 3, u32::MAX, 64] {
            *peers.get_or_insert(Rank(source), 64).unwrap() = source as u8 | 1;
        }
        assert_eq!(peers.get_mut(Rank(1 << 30)).copied(), Some(1));
        assert_eq!(peers.get_mut(Rank(2)).copied(), Some(0), "a source below an inserted source");
        assert_eq!(peers.get_mut(Rank(63)), None);
        assert!(peers.bytes() < 256, "{} bytes", peers.bytes());
        assert_eq!(peers.iter().copied().collect::<Vec<_>>(), [0, 0, 0, 3, 1, 255, 65]);
    }

    #[test]
    fn inserted_addresses_are_found() {
        for stride in [1, 64, 1 << 20, 0x1E37_79B9] {
            let mut peers = Peers::<u32>::default();
            for at in 0..1000 {
                let source = Rank((1u32 << 31).wrapping_add(u32::wrapping_mul(at, stride)));
                assert_eq!(peers.get_mut(source), None);
                *peers.get_or_insert(source, 0).unwrap() = at + 1;
                assert_eq!(peers.get_or_insert(source, 0), Ok(&mut (at + 1)));
            }
            let address = |at| Rank((1u32 << 31).wrapping_add(u32::wrapping_mul(at, stride)));
            assert!((0..1000).all(|at| peers.get_mut(address(at)).copied() == Some(at + 1)));
            assert_eq!(peers.iter().count(), 1000);
        }
    }
}
