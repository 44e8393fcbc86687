//! A queue in blocks of 64 places: keys side by side for a kernel to compare, entries elsewhere, holes where entries
//! were taken.
//!
//! ```text
//! order    [ 2 | 0 | 3 ]                   numbers of blocks, oldest first
//! blocks   [ keys of 64 entries, live ]    `live` has a bit for each place that holds an entry: a hole's key may stay
//! entries  [ 64 of block 0 | 64 of … ]     as it was, no value of a key is set aside for holes
//! ```
//!
//! The newest entry lies apart until another is pushed. A vector load waits for stores into what it reads, some 5 ns: if
//! a receive is posted and at once served, as in a ping-pong behind other receives, its key was never written.
//!
//! Push is O(1), and a removal leaves a hole. Two blocks beside each other hold more than 32 entries between them: a
//! removal that would break this merges them, and a block at the end that is full of holes is squeezed before another
//! is begun. That moves at most 32 entries, and fewer than one per push in the long run, since at least 32 pushes lie
//! between the beginnings of two blocks; so however long entries live, at least every fourth key compared is an
//! entry's. Taking a block out of `order` moves four bytes for each block behind it, a sixteenth at most of what the
//! search before it read.

use crate::effort::Effort;
use crate::engine::{Queue, Refused};
use crate::scan::{Kernel, LANES, Lanes, Search};

/// Where an entry lies: 64 × the block's number + the place in it.
pub(crate) type Place = u32;

/// The place of the newest entry.
const NEWEST: Place = u32::MAX;

/// No block.
const NONE: u32 = u32::MAX;

/// Two neighbours with as many entries or fewer become one.
const SPARSE: u32 = LANES as u32 / 2;

/// The keys of a block's entries.
pub(crate) trait Keys<T, S>: Default {
    /// Writes those of `entry`, which lies in place `lane`.
    fn set(&mut self, scheme: &S, lane: usize, entry: &T);
}

/// What is searched for.
pub(crate) trait Wanted<T, K> {
    /// What keys are compared with.
    type Key: Copy;
    /// Its key.
    fn key(&self) -> Self::Key;
    /// The places of entries that may match. Holes may be among them. `inline(always)` in every implementation.
    fn hits<L: Lanes>(lanes: L, keys: &K, key: Self::Key) -> u64;
    /// Whether an entry does match.
    fn matches(&self, entry: &T) -> bool;
}

/// Aligned, so that a load of 64 keys of a byte touches one cache line.
#[repr(align(64))]
struct Block<K> {
    keys: K,
    live: u64,
    /// Bits set in `live`: a count of them takes a dozen instructions where the target promises no `popcnt`.
    count: u32,
    /// The next vacant block, if this is one.
    vacant: u32,
}

/// An entry that was found.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// Where it lies.
    pub(crate) place: Place,
    /// Where its block is in the order, from the front.
    at: u32,
}

/// See the [module's documentation](self).
pub(crate) struct Blocks<T, K> {
    /// From `front` on; what is before it has been taken.
    order: Vec<u32>,
    front: usize,
    blocks: Vec<Block<K>>,
    entries: Vec<T>,
    vacant: u32,
    /// Entries in blocks.
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

fn place(block: u32, lane: u32) -> Place {
    block * LANES as u32 + lane
}

fn bit(place: Place) -> u64 {
    1 << (place % LANES as u32)
}

/// The places before `lane`.
fn before(lane: u32) -> u64 {
    (1 << lane) - 1
}

/// The numbers of the bits that are set, in order.
fn each(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lane = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(lane)
    })
}

impl<T: Copy, K> Blocks<T, K> {
    /// Number of entries.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.stored + usize::from(self.newest.is_some())
    }

    /// The entry at a place.
    #[inline]
    pub(crate) fn get(&self, place: Place) -> &T {
        match &self.newest {
            Some(newest) if place == NEWEST => newest,
            _ => &self.entries[place as usize],
        }
    }

    /// Ages (positions in the queue, holes counted) and places, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, Place)> {
        let stored = (0..).step_by(LANES).zip(self.order()).flat_map(|(age, &block)| {
            let live = self.blocks[block as usize].live;
            each(live).map(move |lane| (age + u64::from(lane), place(block, lane)))
        });
        stored.chain(self.newest.iter().map(|_| (u64::MAX, NEWEST)))
    }

    /// Bytes allocated. Never fewer than before.
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

/// The search of [`Blocks::find`] in the blocks, for any instruction set.
struct First<'a, T, K, W, E> {
    order: &'a [u32],
    blocks: &'a [Block<K>],
    entries: &'a [T],
    wanted: &'a W,
    /// Which queue it is, and who wants to know what is examined and what was hit in vain.
    which: Queue,
    effort: &'a mut E,
    in_vain: &'a mut E,
}

impl<T: Copy, K, W: Wanted<T, K>, E: Effort> Search for First<'_, T, K, W, E> {
    type Found = Option<Found>;

    #[inline(always)]
    fn run<L: Lanes>(&mut self, lanes: L) -> Option<Found> {
        // By value: what stays behind a reference is loaded again for every block.
        let First { order, blocks, entries, wanted, which, ref mut effort, ref mut in_vain } = *self;
        let key = wanted.key();
        let mut at = 0;
        loop {
            // A loop of its own for blocks without a hit, which nearly all are: what verifying needs stays out of its
            // registers.
            let (number, mut hits) = loop {
                let &number = order.get(at as usize)?;
                let block = &blocks[number as usize];
                let hits = W::hits(lanes, &block.keys, key) & block.live;
                if hits != 0 {
                    break (number, hits);
                }
                effort.examined(which, u64::from(block.live.count_ones()));
                at += 1;
            };
            let live = blocks[number as usize].live;
            while hits != 0 {
                let lane = hits.trailing_zeros();
                let place = place(number, lane);
                if wanted.matches(&entries[place as usize]) {
                    effort.examined(which, u64::from((live & before(lane)).count_ones()) + 1);
                    return Some(Found { place, at });
                }
                in_vain.examined(which, 1);
                hits &= hits - 1;
            }
            effort.examined(which, u64::from(live.count_ones()));
            at += 1;
        }
    }
}

impl<T: Copy, K> Blocks<T, K> {
    /// The oldest entry that matches. An empty queue costs nothing, and the oldest of all is compared before a kernel
    /// is called, which programs that receive in the order of arrival never need.
    #[inline]
    pub(crate) fn find<W: Wanted<T, K>, E: Effort>(
        &self,
        kernel: Kernel,
        which: Queue,
        wanted: &W,
        effort: &mut E,
        in_vain: &mut E,
    ) -> Option<Found> {
        if self.stored != 0 {
            let block = self.order[self.front];
            let oldest = place(block, self.blocks[block as usize].live.trailing_zeros());
            if wanted.matches(&self.entries[oldest as usize]) {
                effort.examined(which, 1);
                return Some(Found { place: oldest, at: 0 });
            }
            if self.stored == 1 {
                effort.examined(which, 1);
            } else {
                let (order, blocks, entries) = (self.order(), &self.blocks[..], &self.entries[..]);
                let found = kernel.run(&mut First { order, blocks, entries, wanted, which, effort, in_vain });
                if found.is_some() {
                    return found;
                }
            }
        }
        let newest = self.newest.as_ref()?;
        effort.examined(which, 1);
        wanted.matches(newest).then_some(Found { place: NEWEST, at: 0 })
    }
}

impl<T: Copy, K> Blocks<T, K> {
    /// Appends an entry.
    ///
    /// # Errors
    /// [`Refused::Memory`] or [`Refused::Full`]; nothing has changed.
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

    /// Appends an entry to the last block.
    #[inline]
    fn store<S>(&mut self, scheme: &S, entry: T) -> Result<(), Refused>
    where
        K: Keys<T, S>,
    {
        let mut tail = self.order.last().copied().unwrap_or(NONE);
        if tail == NONE || self.blocks[tail as usize].live >> (LANES - 1) != 0 {
            tail = self.room(scheme, tail, entry)?;
        }
        let block = &mut self.blocks[tail as usize];
        let lane = u64::BITS - block.live.leading_zeros();
        block.live |= 1 << lane;
        block.count += 1;
        block.keys.set(scheme, lane as usize, &entry);
        self.entries[place(tail, lane) as usize] = entry;
        self.stored += 1;
        Ok(())
    }

    /// A last block that has room at its end: `tail` without its holes, or a new one.
    #[cold]
    fn room<S>(&mut self, scheme: &S, tail: u32, filler: T) -> Result<u32, Refused>
    where
        K: Keys<T, S>,
    {
        if tail != NONE && self.blocks[tail as usize].count <= SPARSE {
            self.gather(scheme, tail, 0, tail);
            return Ok(tail);
        }
        if self.order.len() == self.order.capacity() {
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
        // The value that is to be pushed fills what is not used yet.
        self.entries.resize(self.entries.len() + LANES, filler);
        Ok(block)
    }

    /// Takes out what was found, and mends the queue around it. Does not return the entry: of its 40 bytes a caller
    /// wants eight, and copying the others, just written in other sizes, made a ping-pong wait 5 ns.
    #[inline]
    pub(crate) fn take<S>(&mut self, scheme: &S, found: Found)
    where
        K: Keys<T, S>,
    {
        self.remove(found.place);
        if found.place != NEWEST
            && self.blocks[found.place as usize / LANES].count <= SPARSE
            && self.order.len() - self.front > 1
        {
            self.mend(scheme, self.front + found.at as usize);
        }
    }

    /// Takes out the entry at a place. Nothing moves, but the queue must be [settled](Self::settle) before the next push
    /// or search.
    #[inline]
    pub(crate) fn remove(&mut self, place: Place) {
        if place == NEWEST {
            self.newest = None;
            return;
        }
        let block = &mut self.blocks[place as usize / LANES];
        block.live &= !bit(place);
        block.count -= 1;
        self.stored -= 1;
    }

    /// Mends the queue wherever entries were [removed](Self::remove). O(blocks), and one move per entry at most.
    pub(crate) fn settle<S>(&mut self, scheme: &S)
    where
        K: Keys<T, S>,
    {
        let mut at = self.front;
        while at < self.order.len() && self.order.len() - self.front > 1 {
            let blocks = self.order.len() - self.front;
            self.mend(scheme, at);
            // A block that has gone leaves its position to the next, or is the one before it in the order.
            if self.order.len() - self.front == blocks {
                at += 1;
            } else {
                at = at.saturating_sub(1).max(self.front);
            }
        }
    }

    /// Sees to it that the block at a position has neighbours that it cannot be merged with.
    #[inline(never)]
    fn mend<S>(&mut self, scheme: &S, at: usize)
    where
        K: Keys<T, S>,
    {
        let count = |at: usize| self.count(at);
        if count(at) == 0 {
            self.drop_block(at);
        } else if at > self.front && count(at - 1) + count(at) <= SPARSE {
            self.merge(scheme, at - 1);
        } else if at + 1 < self.order.len() && count(at) + count(at + 1) <= SPARSE {
            self.merge(scheme, at);
        }
    }

    /// Moves the entries of the block behind position `at` to the end of the one there, whose holes go.
    fn merge<S>(&mut self, scheme: &S, at: usize)
    where
        K: Keys<T, S>,
    {
        let (to, from) = (self.order[at], self.order[at + 1]);
        let moved = self.gather(scheme, to, 0, to);
        self.gather(scheme, to, moved, from);
        self.drop_block(at + 1);
    }

    /// Moves the entries of `from` to the places of `to` from `lane` on, where no entries lie but those moved. Returns
    /// the next place.
    fn gather<S>(&mut self, scheme: &S, to: u32, mut lane: u32, from: u32) -> u32
    where
        K: Keys<T, S>,
    {
        let live = std::mem::take(&mut self.blocks[from as usize].live);
        self.blocks[from as usize].count = 0;
        for old in each(live) {
            let entry = self.entries[place(from, old) as usize];
            self.entries[place(to, lane) as usize] = entry;
            self.blocks[to as usize].keys.set(scheme, lane as usize, &entry);
            lane += 1;
        }
        self.blocks[to as usize].live = before(lane);
        self.blocks[to as usize].count = lane;
        lane
    }

    /// Takes an empty block out of the order.
    fn drop_block(&mut self, at: usize) {
        let block = self.order[at];
        self.blocks[block as usize].vacant = self.vacant;
        self.vacant = block;
        if at == self.front {
            self.front += 1;
        } else {
            self.order.remove(at);
        }
    }

    /// Replaces the entry at a place, which keeps its age.
    pub(crate) fn replace<S>(&mut self, scheme: &S, place: Place, entry: T)
    where
        K: Keys<T, S>,
    {
        if place == NEWEST {
            self.newest = Some(entry);
            return;
        }
        self.entries[place as usize] = entry;
        self.blocks[place as usize / LANES].keys.set(scheme, place as usize % LANES, &entry);
    }
}

#[cfg(test)]
mod tests;
