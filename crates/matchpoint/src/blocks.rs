//! A queue in blocks of 64 slots. A vector kernel compares all keys of a block.
//!
//! ```text
//! order    [ 2 | 0 | 3 ]                   numbers of blocks, oldest first
//! blocks   [ keys of 64 entries, live ]    `live` has a bit for each slot with an entry; free slots keep old keys
//! entries  [ 64 of block 0 | 64 of … ]
//! ```
//!
//! The newest entry is stored outside the blocks until the next push: a vector load waits about 5 ns for
//! recent stores into the same bytes. The key of a matched newest entry is never written.
//!
//! Two adjacent blocks hold more than 32 entries together; a removal that breaks this invariant merges the
//! blocks. A last block with at most 32 entries is compacted before a new block is used. So at least one
//! compared key in four belongs to an entry, and a push moves amortized at most one entry.
//!
//! The first `front` elements of `order` are unused. If `order` is full and at least half is unused, the
//! block numbers move to its beginning. A ring buffer needs two loops per search: 3 to 13 % more instructions
//! per post and arrival.

mod removal;
mod search;
#[cfg(test)]
mod tests;

use crate::engine::Refused;
use crate::scan::LANES;

pub(crate) use self::search::{Found, Pattern};

/// 64 × block number + slot.
pub(crate) type SlotIndex = u32;

const NEWEST: SlotIndex = u32::MAX;

const NONE: u32 = u32::MAX;

/// Adjacent blocks with at most this many entries are merged.
const SPARSE: u32 = LANES as u32 / 2;

pub(crate) trait Keys<T, S>: Default {
    fn set(&mut self, scheme: &S, lane: usize, entry: &T);
}

/// The alignment lets a load of 64 one-byte keys touch one cache line only.
#[repr(align(64))]
struct Block<K> {
    keys: K,
    live: u64,
    /// Number of set bits in `live`: without `popcnt`, counting takes a dozen instructions.
    count: u32,
    /// In a free block: the next free block.
    vacant: u32,
}

pub(crate) struct Blocks<T, K> {
    /// Block numbers from index `front` on, oldest first.
    order: Vec<u32>,
    front: usize,
    blocks: Vec<Block<K>>,
    entries: Vec<T>,
    vacant: u32,
    /// Entries in blocks, without `newest`.
    stored: usize,
    newest: Option<T>,
}

impl<T, K> Default for Blocks<T, K> {
    fn default() -> Self {
        Blocks {
            order: Vec::new(),
            front: 0,
            blocks: Vec::new(),
            entries: Vec::new(),
            vacant: NONE,
            stored: 0,
            newest: None,
        }
    }
}

fn slot_index(block: u32, lane: u32) -> SlotIndex {
    block * LANES as u32 + lane
}

fn lane_bit(slot: SlotIndex) -> u64 {
    1 << (slot % LANES as u32)
}

fn lanes_before(lane: u32) -> u64 {
    (1 << lane) - 1
}

pub(crate) fn set_bits(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lane = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(lane)
    })
}

impl<T: Copy, K> Blocks<T, K> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.stored + usize::from(self.newest.is_some())
    }

    #[inline]
    pub(crate) fn get(&self, slot: SlotIndex) -> &T {
        match &self.newest {
            Some(newest) if slot == NEWEST => newest,
            _ => &self.entries[slot as usize],
        }
    }

    /// Free slots also count in ages.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, SlotIndex)> {
        let stored = (0..).step_by(LANES).zip(self.order()).flat_map(|(age, &block)| {
            let live = self.blocks[block as usize].live;
            set_bits(live).map(move |lane| (age + u64::from(lane), slot_index(block, lane)))
        });
        stored.chain(self.newest.iter().map(|_| (u64::MAX, NEWEST)))
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.order.capacity() * size_of::<u32>()
            + self.blocks.capacity() * size_of::<Block<K>>()
            + self.entries.capacity() * size_of::<T>()) as u64
    }

    #[inline]
    fn order(&self) -> &[u32] {
        &self.order[self.front..]
    }

    fn count(&self, at: usize) -> u32 {
        self.blocks[self.order[at] as usize].count
    }
}

impl<T: Copy, K> Blocks<T, K> {
    #[inline]
    pub(crate) fn push<S>(&mut self, scheme: &S, entry: T) -> Result<(), Refused>
    where
        K: Keys<T, S>,
    {
        if let Some(newest) = self.newest {
            self.store(scheme, newest)?;
        }
        self.newest = Some(entry);
        Ok(())
    }

    #[inline]
    fn store<S>(&mut self, scheme: &S, entry: T) -> Result<(), Refused>
    where
        K: Keys<T, S>,
    {
        let mut tail = self.order.last().copied().unwrap_or(NONE);
        if tail == NONE || self.blocks[tail as usize].live >> (LANES - 1) != 0 {
            tail = self.make_space(scheme, tail, entry)?;
        }
        let block = &mut self.blocks[tail as usize];
        let lane = u64::BITS - block.live.leading_zeros();
        block.live |= 1 << lane;
        block.count += 1;
        block.keys.set(scheme, lane as usize, &entry);
        self.entries[slot_index(tail, lane) as usize] = entry;
        self.stored += 1;
        Ok(())
    }

    /// Returns a last block with a free slot: the compacted `tail` or a new block.
    #[cold]
    fn make_space<S>(&mut self, scheme: &S, tail: u32, filler: T) -> Result<u32, Refused>
    where
        K: Keys<T, S>,
    {
        if tail != NONE && self.blocks[tail as usize].count <= SPARSE {
            self.move_entries(scheme, tail, 0, tail);
            return Ok(tail);
        }
        if self.order.len() == self.order.capacity() && self.front >= self.order.len() / 2 {
            self.order.drain(..self.front);
            self.front = 0;
        }
        self.order.try_reserve(1).map_err(|_| Refused::Memory)?;
        let block = match self.vacant {
            NONE => self.allocate(filler)?,
            block => block,
        };
        self.vacant = self.blocks[block as usize].vacant;
        self.order.push(block);
        Ok(block)
    }

    fn allocate(&mut self, filler: T) -> Result<u32, Refused>
    where
        K: Default,
    {
        let block = self.blocks.len() as u32;
        if block == NONE / LANES as u32 {
            return Err(Refused::Full);
        }
        self.blocks.try_reserve(1).map_err(|_| Refused::Memory)?;
        self.entries.try_reserve(LANES).map_err(|_| Refused::Memory)?;
        self.blocks.push(Block { keys: K::default(), live: 0, count: 0, vacant: NONE });
        // Unused slots are never read.
        self.entries.resize(self.entries.len() + LANES, filler);
        Ok(block)
    }

    /// The new entry has the age of the old entry.
    pub(crate) fn replace<S>(&mut self, scheme: &S, slot: SlotIndex, entry: T)
    where
        K: Keys<T, S>,
    {
        if slot == NEWEST {
            self.newest = Some(entry);
            return;
        }
        self.entries[slot as usize] = entry;
        self.blocks[slot as usize / LANES].keys.set(scheme, slot as usize % LANES, &entry);
    }
}
