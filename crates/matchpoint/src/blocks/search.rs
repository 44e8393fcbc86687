//! Search of a queue in blocks.

use super::{Block, Blocks, NEWEST, SlotIndex, lanes_before, slot_index};
use crate::effort::Effort;
use crate::engine::Queue;
use crate::scan::{Kernel, Lanes, Search};

pub(crate) trait Pattern<T, K> {
    type Key: Copy;
    fn key(&self) -> Self::Key;
    /// Slots that may match, free slots included.
    fn candidates<L: Lanes>(lanes: L, keys: &K, key: Self::Key) -> u64;
    fn matches(&self, entry: &T) -> bool;
}

#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) slot: SlotIndex,
    /// Index of the entry's block, counted from the front.
    pub(super) at: u32,
}

struct OldestSearch<'a, T, K, W, E> {
    order: &'a [u32],
    blocks: &'a [Block<K>],
    entries: &'a [T],
    pattern: &'a W,
    which: Queue,
    effort: &'a mut E,
    false_hits: &'a mut E,
}

impl<T: Copy, K, W: Pattern<T, K>, E: Effort> Search for OldestSearch<'_, T, K, W, E> {
    type Found = Option<Found>;

    #[inline(always)]
    fn run<L: Lanes>(&mut self, lanes: L) -> Option<Found> {
        // Copies, because the compiler loads references again for every block.
        let OldestSearch { order, blocks, entries, pattern, which, ref mut effort, ref mut false_hits } =
            *self;
        let key = pattern.key();
        let mut at = 0;
        loop {
            // Most blocks have no hit. In a separate loop, these need no registers for verification.
            let (number, mut hits) = loop {
                let &number = order.get(at as usize)?;
                let block = &blocks[number as usize];
                let hits = W::candidates(lanes, &block.keys, key) & block.live;
                if hits != 0 {
                    break (number, hits);
                }
                effort.examined(which, u64::from(block.live.count_ones()));
                at += 1;
            };
            let live = blocks[number as usize].live;
            while hits != 0 {
                let lane = hits.trailing_zeros();
                let slot = slot_index(number, lane);
                if pattern.matches(&entries[slot as usize]) {
                    effort.examined(which, u64::from((live & lanes_before(lane)).count_ones()) + 1);
                    return Some(Found { slot, at });
                }
                false_hits.examined(which, 1);
                hits &= hits - 1;
            }
            effort.examined(which, u64::from(live.count_ones()));
            at += 1;
        }
    }
}

impl<T: Copy, K> Blocks<T, K> {
    /// Compares the oldest entry first: programs that receive in arrival order never run the kernel.
    #[inline]
    pub(crate) fn find<W: Pattern<T, K>, E: Effort>(
        &self,
        kernel: Kernel,
        which: Queue,
        pattern: &W,
        effort: &mut E,
        false_hits: &mut E,
    ) -> Option<Found> {
        if self.stored != 0 {
            let block = self.order[self.front];
            let oldest = slot_index(block, self.blocks[block as usize].live.trailing_zeros());
            if pattern.matches(&self.entries[oldest as usize]) {
                effort.examined(which, 1);
                return Some(Found { slot: oldest, at: 0 });
            }
            if self.stored == 1 {
                effort.examined(which, 1);
            } else {
                let (order, blocks, entries) = (self.order(), &self.blocks[..], &self.entries[..]);
                let found = kernel.run(&mut OldestSearch {
                    order,
                    blocks,
                    entries,
                    pattern,
                    which,
                    effort,
                    false_hits,
                });
                if found.is_some() {
                    return found;
                }
            }
        }
        let newest = self.newest.as_ref()?;
        effort.examined(which, 1);
        pattern.matches(newest).then_some(Found { slot: NEWEST, at: 0 })
    }
}
