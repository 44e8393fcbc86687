//! Taking entries out of a queue in blocks, and what keeps its holes few.

use super::{Blocks, Found, Keys, LANES, NEWEST, Place, SPARSE, before, bit, each, place};

impl<T: Copy, K> Blocks<T, K> {
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

    /// Mends the queue wherever entries were [removed](Self::remove). O(blocks), with at most 32 moves for
    /// each of them.
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
    pub(super) fn gather<S>(&mut self, scheme: &S, to: u32, mut lane: u32, from: u32) -> u32
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
}
