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
        // Those before `kept` are mended. Each is looked at once: blocks taken out of the order one by one would have the
        // others moved as often.
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
            // What is skipped is no block of the queue: the next push must not take it for the last.
            self.order.clear();
            self.front = 0;
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
        self.join(scheme, self.order[at], self.order[at + 1]);
        self.drop_block(at + 1);
    }

    /// Moves the entries of `from` to the end of `to`, whose holes go.
    fn join<S>(&mut self, scheme: &S, to: u32, from: u32)
    where
        K: Keys<T, S>,
    {
        let moved = self.gather(scheme, to, 0, to);
        self.gather(scheme, to, moved, from);
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

    /// Takes an empty block out of the order, of which the shorter side moves.
    fn drop_block(&mut self, at: usize) {
        self.vacate(self.order[at]);
        if at - self.front < self.order.len() - at {
            self.order.copy_within(self.front..at, self.front + 1);
            self.front += 1;
        } else {
            self.order.remove(at);
        }
    }

    /// Keeps an empty block for later.
    fn vacate(&mut self, block: u32) {
        self.blocks[block as usize].vacant = self.vacant;
        self.vacant = block;
    }
}
