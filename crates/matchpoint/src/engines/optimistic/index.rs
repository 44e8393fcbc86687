//! An index: bins of entries by hashed key (paper §III-B). A list is an index with one bin.

use crate::engine::Refused;
use crate::hashes;
use crate::linked::{Aged, FrontRemoval, LinkedQueue, Slab, SlotIndex};

/// The entries of a bin are connected by their links number `W`.
pub(super) struct Index<const W: usize = 0> {
    /// Allocated before the first entry.
    bins: Vec<LinkedQueue<W>>,
    occupied: u32,
}

#[inline]
pub(super) fn bin_of_key(key: u32, bins: usize) -> usize {
    ((u64::from(key) * bins as u64) >> hashes::BITS) as usize
}

impl<const W: usize> Default for Index<W> {
    fn default() -> Self {
        Index { bins: Vec::new(), occupied: 0 }
    }
}

impl<const W: usize> Index<W> {
    #[inline]
    pub(super) fn prepare(&mut self, bins: u32) -> Result<(), Refused> {
        if self.bins.is_empty() { self.allocate(bins) } else { Ok(()) }
    }

    #[cold]
    fn allocate(&mut self, bins: u32) -> Result<(), Refused> {
        self.bins.try_reserve_exact(bins as usize).map_err(|_| Refused::Memory)?;
        self.bins.resize(bins as usize, LinkedQueue::default());
        Ok(())
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.bins.len()
    }

    /// The hash is scaled, not masked, because the paper allows any number of bins.
    #[inline]
    pub(super) fn number(&self, key: u32) -> usize {
        bin_of_key(key, self.bins.len())
    }

    #[inline]
    pub(super) fn bin(&self, key: u32) -> LinkedQueue<W> {
        self.bins.get(self.number(key)).copied().unwrap_or_default()
    }

    #[inline]
    pub(super) fn head(&self, number: usize) -> SlotIndex {
        self.bins.get(number).copied().unwrap_or_default().head()
    }

    /// No effect before [`Index::prepare`].
    #[inline]
    pub(super) fn push<T: Copy, const L: usize>(
        &mut self,
        slab: &mut Slab<Aged<T>, L>,
        at: SlotIndex,
        key: u32,
    ) {
        let number = self.number(key);
        if let Some(bin) = self.bins.get_mut(number) {
            self.occupied += u32::from(*bin == LinkedQueue::default());
            bin.push(slab, at);
        }
    }

    pub(super) fn insert<T: Copy, const L: usize>(
        &mut self,
        slab: &mut Slab<Aged<T>, L>,
        at: SlotIndex,
        key: u32,
    ) {
        let number = self.number(key);
        if let Some(bin) = self.bins.get_mut(number) {
            self.occupied += u32::from(*bin == LinkedQueue::default());
            bin.insert(slab, at);
        }
    }

    #[inline]
    pub(super) fn unlink<T: Copy, const L: usize>(
        &mut self,
        slab: &mut Slab<Aged<T>, L>,
        at: SlotIndex,
        key: u32,
    ) {
        let number = self.number(key);
        if let Some(bin) = self.bins.get_mut(number) {
            bin.unlink(slab, at);
            self.occupied -= u32::from(*bin == LinkedQueue::default());
        }
    }

    #[inline]
    pub(super) fn take<T: Copy, const L: usize>(
        &mut self,
        slab: &mut Slab<Aged<T>, L>,
        at: SlotIndex,
        number: usize,
    ) -> T {
        if let Some(bin) = self.bins.get_mut(number) {
            bin.unlink(slab, at);
            self.occupied -= u32::from(*bin == LinkedQueue::default());
        }
        slab.remove(at).value
    }

    pub(super) fn clear(&mut self) {
        self.bins.fill(LinkedQueue::default());
        self.occupied = 0;
    }

    /// The caller reports emptied bins to [`subtract_emptied`](Self::subtract_emptied).
    pub(super) fn bins_mut(&mut self) -> &mut [LinkedQueue<W>] {
        &mut self.bins
    }

    pub(super) fn subtract_emptied(&mut self, bins: u32) {
        self.occupied -= bins;
    }

    /// Fraction of bins that are empty; 1 without bins.
    pub(super) fn empty_share(&self) -> f64 {
        1.0 - f64::from(self.occupied) / self.bins.len().max(1) as f64
    }

    /// 4 bytes per bin. The paper's bins have 20 (§IV-E): a lock, and 64-bit pointers to head and tail.
    pub(super) fn bytes(&self) -> u64 {
        (self.bins.capacity() * size_of::<LinkedQueue<W>>()) as u64
    }
}

impl Index {
    #[inline]
    pub(super) fn unlink_front<T: Copy, const L: usize>(
        &mut self,
        slab: &mut Slab<Aged<T>, L>,
        number: usize,
        front: FrontRemoval,
        head: SlotIndex,
    ) {
        if let Some(bin) = self.bins.get_mut(number) {
            bin.unlink_front(slab, front, head);
            self.occupied -= u32::from(*bin == LinkedQueue::default());
        }
    }
}
