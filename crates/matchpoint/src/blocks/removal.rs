//! Removal of entries from a queue in blocks, and compaction of the queue.

use super::{Blocks, Found, Keys, LANES, NEWEST, SPARSE, SlotIndex, before, bit, place, set_bits};

impl<T: Copy, K> Blocks<T, K> {
    /// Removes the entry found and compacts the blocks around it. Returns nothing: callers need 8 of the 40
    /// bytes, and copying bytes just stored with other widths delayed a ping-pong by 5 ns.
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
            self.merge_neighbours(scheme, self.front + found.at as usize);
        }
    }

    /// Moves no other entries. Call [`compact`](Self::compact) before the next push or search.
    #[inline]
    pub(crate) fn remove(&mut self, place: SlotIndex) {
        if place == NEWEST {
            self.newest = None;
            return;
        }
        let block = &mut self.blocks[place as usize / LANES];
        block.live &= !bit(place);
        block.count -= 1;
        self.stored -= 1;
    }

    /// Compacts the queue after calls of [`remove`](Self::remove). O(blocks), at most 32 moves per block.
    pub(crate) fn compact<S>(&mut self, scheme: &S)
    where
        K: Keys<T, S>,
    {
        // Compacted blocks are before `kept`. Separate removals would move the later block numbers each time.
        let mut kept = self.front;
        for at in self.front..self.order.len() {
            let block = self.order[at];
            if self.count(at) == 0 {
                self.vacate(block);
            } else if kept > self.front && self.count(kept - 1) + self.count(at) <= SPARSE {
                self.join(scheme, self.order[kept - 1], block);
                self.vacate(block);
            } else {
                self.order[kept] = block;
                kept += 1;
            }
        }
        self.order.truncate(kept);
        if kept == self.front {
            // The next push must not use a removed block.
            self.order.clear();
            self.front = 0;
        }
    }

    #[inline(never)]
    fn merge_neighbours<S>(&mut self, scheme: &S, at: usize)
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

    /// Appends the entries of block `at + 1` to block `at`.
    fn merge<S>(&mut self, scheme: &S, at: usize)
    where
        K: Keys<T, S>,
    {
        self.join(scheme, self.order[at], self.order[at + 1]);
        self.drop_block(at + 1);
    }

    fn join<S>(&mut self, scheme: &S, to: u32, from: u32)
    where
        K: Keys<T, S>,
    {
        let moved = self.move_entries(scheme, to, 0, to);
        self.move_entries(scheme, to, moved, from);
    }

    /// Moves the entries of `from` to the slots of `to` from `lane` on. Returns the next slot.
    pub(super) fn move_entries<S>(&mut self, scheme: &S, to: u32, mut lane: u32, from: u32) -> u32
    where
        K: Keys<T, S>,
    {
        let live = std::mem::take(&mut self.blocks[from as usize].live);
        self.blocks[from as usize].count = 0;
        for old in set_bits(live) {
            let entry = self.entries[place(from, old) as usize];
            self.entries[place(to, lane) as usize] = entry;
            self.blocks[to as usize].keys.set(scheme, lane as usize, &entry);
            lane += 1;
        }
        self.blocks[to as usize].live = before(lane);
        self.blocks[to as usize].count = lane;
        lane
    }

    /// The shorter side of `order` moves.
    fn drop_block(&mut self, at: usize) {
        self.vacate(self.order[at]);
        if at - self.front < self.order.len() - at {
            self.order.copy_within(self.front..at, self.front + 1);
            self.front += 1;
        } else {
            self.order.remove(at);
        }
    }

    fn vacate(&mut self, block: u32) {
        self.blocks[block as usize].vacant = self.vacant;
        self.vacant = block;
    }
}
