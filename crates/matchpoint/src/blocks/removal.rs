//! Removal of entries from a queue in blocks, and compaction of the queue.

use super::{
    Blocks, Found, Keys, LANES, NEWEST, SPARSE, SlotIndex, lane_bit, lanes_before, set_bits, slot_index,
};

impl<T: Copy, K> Blocks<T, K> {
    /// Removes the found entry and merges sparse neighbouring blocks. Does not return the entry, because
    /// callers need only 8 of its 40 bytes. A copy of bytes that were just stored with other widths delayed a
    /// ping-pong by 5 ns.
    #[inline]
    pub(crate) fn take<S>(&mut self, scheme: &S, found: Found)
    where
        K: Keys<T, S>,
    {
        self.remove(found.slot);
        if found.slot != NEWEST
            && self.blocks[found.slot as usize / LANES].count <= SPARSE
            && self.order.len() - self.front > 1
        {
            self.merge_neighbours(scheme, self.front + found.at as usize);
        }
    }

    /// Call [`compact`](Self::compact) before the next push or search.
    #[inline]
    pub(crate) fn remove(&mut self, slot: SlotIndex) {
        if slot == NEWEST {
            self.newest = None;
            return;
        }
        let block = &mut self.blocks[slot as usize / LANES];
        block.live &= !lane_bit(slot);
        block.count -= 1;
        self.stored -= 1;
    }

    /// O(blocks), at most 32 moves per block.
    pub(crate) fn compact<S>(&mut self, scheme: &S)
    where
        K: Keys<T, S>,
    {
        // Blocks before index `kept` are compacted.
        let mut kept = self.front;
        for at in self.front..self.order.len() {
            let block = self.order[at];
            if self.count(at) == 0 {
                self.free_block(block);
            } else if kept > self.front && self.count(kept - 1) + self.count(at) <= SPARSE {
                self.append_block(scheme, self.order[kept - 1], block);
                self.free_block(block);
            } else {
                self.order[kept] = block;
                kept += 1;
            }
        }
        self.order.truncate(kept);
        if kept == self.front {
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

    fn merge<S>(&mut self, scheme: &S, at: usize)
    where
        K: Keys<T, S>,
    {
        self.append_block(scheme, self.order[at], self.order[at + 1]);
        self.drop_block(at + 1);
    }

    fn append_block<S>(&mut self, scheme: &S, to: u32, from: u32)
    where
        K: Keys<T, S>,
    {
        let moved = self.move_entries(scheme, to, 0, to);
        self.move_entries(scheme, to, moved, from);
    }

    /// Moves entries to the slots of `to` from `lane` on. Returns the next slot.
    pub(super) fn move_entries<S>(&mut self, scheme: &S, to: u32, mut lane: u32, from: u32) -> u32
    where
        K: Keys<T, S>,
    {
        let live = std::mem::take(&mut self.blocks[from as usize].live);
        self.blocks[from as usize].count = 0;
        for old in set_bits(live) {
            let entry = self.entries[slot_index(from, old) as usize];
            self.entries[slot_index(to, lane) as usize] = entry;
            self.blocks[to as usize].keys.set(scheme, lane as usize, &entry);
            lane += 1;
        }
        self.blocks[to as usize].live = lanes_before(lane);
        self.blocks[to as usize].count = lane;
        lane
    }

    /// The shorter side of `order` moves.
    fn drop_block(&mut self, at: usize) {
        self.free_block(self.order[at]);
        if at - self.front < self.order.len() - at {
            self.order.copy_within(self.front..at, self.front + 1);
            self.front += 1;
        } else {
            self.order.remove(at);
        }
    }

    fn free_block(&mut self, block: u32) {
        self.blocks[block as usize].vacant = self.vacant;
        self.vacant = block;
    }
}
