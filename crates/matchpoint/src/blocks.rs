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
//! A removal leaves a hole. Two blocks beside each other hold more than 32 entries between them: a removal that would
//! break this merges them, and a block at the end that is full of holes is squeezed before another is begun. That moves
//! at most 32 entries, and no more than one per push in the long run, since at least 32 pushes lie between the beginnings
//! of two blocks; so however long entries live, at least every fourth key compared is an entry's.
//!
//! A push is O(1) in the long run. `order` is a vector whose beginning is skipped: a push that finds it full moves it to
//! the beginning if half or more is skipped (then no more numbers than blocks left it at the front since the last time), and
//! otherwise to twice the memory; four bytes for each block, once in many pushes. A block that is taken out of the middle
//! has four bytes moved for each block on its shorter side: no more blocks than the search before it read the keys of (64
//! bytes or more each), and one. A ring, whose pushes never move anything but to grow, is searched in two parts, and short
//! queues lie in both most of the time: that took 3 to 13 % more instructions for a post and an arrival.

mod mend;
mod search;
#[cfg(test)]
mod tests;

use crate::engine::Refused;
use crate::scan::LANES;

pub(crate) use self::search::{Found, Wanted};

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
pub(crate) fn each(mut bits: u64) -> impl Iterator<Item = u32> {
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
        // The value that is to be pushed fills what is not used yet.
        self.entries.resize(self.entries.len() + LANES, filler);
        Ok(block)
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
