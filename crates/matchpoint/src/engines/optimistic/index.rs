//! One index (§III-B): a table of bins, each a chain in which what has the same key lies in order. A list is an index
//! of one bin.

use crate::chains::{Aged, Chain, Front, Place, Slab};
use crate::engine::Refused;
use crate::hashes;

/// Entries linked through the pair of links `W`, by the hash of their key.
pub(super) struct Index<const W: usize = 0> {
    /// None until there is something to keep.
    bins: Vec<Chain<W>>,
    /// Bins with an entry: none, and the index need not be searched.
    occupied: u32,
}

/// The bin, of so many, that a key goes to.
#[inline]
pub(super) fn number(key: u32, bins: usize) -> usize {
    ((u64::from(key) * bins as u64) >> hashes::BITS) as usize
}

impl<const W: usize> Default for Index<W> {
    fn default() -> Self {
        Index { bins: Vec::new(), occupied: 0 }
    }
}

impl<const W: usize> Index<W> {
    /// Has so many bins from now on, unless it has bins already.
    #[inline]
    pub(super) fn prepare(&mut self, bins: u32) -> Result<(), Refused> {
        if self.bins.is_empty() { self.allocate(bins) } else { Ok(()) }
    }

    #[cold]
    fn allocate(&mut self, bins: u32) -> Result<(), Refused> {
        self.bins.try_reserve_exact(bins as usize).map_err(|_| Refused::Memory)?;
        self.bins.resize(bins as usize, Chain::default());
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

    /// The bin that a key goes to. Scaled, not masked: the paper's tables have any number of bins.
    #[inline]
    pub(super) fn number(&self, key: u32) -> usize {
        number(key, self.bins.len())
    }

    /// What has this key, and whatever shares its bin, oldest first.
    #[inline]
    pub(super) fn bin(&self, key: u32) -> Chain<W> {
        self.bins.get(self.number(key)).copied().unwrap_or_default()
    }

    /// The oldest entry of a bin, or [`NIL`](crate::chains::NIL).
    #[inline]
    pub(super) fn head(&self, number: usize) -> Place {
        self.bins.get(number).copied().unwrap_or_default().head()
    }

    /// Appends an entry. Without effect before [`Index::prepare`]: an index that is not kept.
    #[inline]
    pub(super) fn push<T: Copy, const L: usize>(&mut self, slab: &mut Slab<Aged<T>, L>, at: Place, key: u32) {
        let number = self.number(key);
        if let Some(bin) = self.bins.get_mut(number) {
            self.occupied += u32::from(*bin == Chain::default());
            bin.push(slab, at);
        }
    }

    /// Puts an entry where its age places it.
    pub(super) fn insert<T: Copy, const L: usize>(
        &mut self,
        slab: &mut Slab<Aged<T>, L>,
        at: Place,
        key: u32,
    ) {
        let number = self.number(key);
        if let Some(bin) = self.bins.get_mut(number) {
            self.occupied += u32::from(*bin == Chain::default());
            bin.insert(slab, at);
        }
    }

    /// Takes out an entry; it stays in the slab.
    #[inline]
    pub(super) fn unlink<T: Copy, const L: usize>(
        &mut self,
        slab: &mut Slab<Aged<T>, L>,
        at: Place,
        key: u32,
    ) {
        let number = self.number(key);
        if let Some(bin) = self.bins.get_mut(number) {
            bin.unlink(slab, at);
            self.occupied -= u32::from(*bin == Chain::default());
        }
    }

    /// Takes an entry out of the bin that it is in, and out of the slab.
    #[inline]
    pub(super) fn take<T: Copy, const L: usize>(
        &mut self,
        slab: &mut Slab<Aged<T>, L>,
        at: Place,
        number: usize,
    ) -> T {
        if let Some(bin) = self.bins.get_mut(number) {
            bin.unlink(slab, at);
            self.occupied -= u32::from(*bin == Chain::default());
        }
        slab.remove(at).value
    }

    /// Forgets all entries; bins are kept.
    pub(super) fn clear(&mut self) {
        self.bins.fill(Chain::default());
        self.occupied = 0;
    }

    /// The bins, for those who count themselves how many they empty.
    pub(super) fn bins_mut(&mut self) -> &mut [Chain<W>] {
        &mut self.bins
    }

    /// So many bins were emptied.
    pub(super) fn emptied(&mut self, bins: u32) {
        self.occupied -= bins;
    }

    /// The share of bins without an entry; all of them if there are no bins yet.
    pub(super) fn empty_share(&self) -> f64 {
        1.0 - f64::from(self.occupied) / self.bins.len().max(1) as f64
    }

    /// Bytes allocated: 4 for each bin. The paper's bins have 20 (§IV-E): a lock, which one thread does not need, and
    /// 8-byte pointers to head and tail, where here the head is a 32-bit place and knows the tail.
    pub(super) fn bytes(&self) -> u64 {
        (self.bins.capacity() * size_of::<Chain<W>>()) as u64
    }
}

impl Index {
    /// What was taken off the front of a bin is not in it any more, `head` is its oldest entry now.
    #[inline]
    pub(super) fn cut<T: Copy, const L: usize>(
        &mut self,
        slab: &mut Slab<Aged<T>, L>,
        number: usize,
        front: Front,
        head: Place,
    ) {
        if let Some(bin) = self.bins.get_mut(number) {
            bin.cut(slab, front, head);
            self.occupied -= u32::from(*bin == Chain::default());
        }
    }
}
