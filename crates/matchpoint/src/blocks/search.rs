//! Search of a queue in blocks.

use super::{Block, Blocks, NEWEST, Place, before, place};
use crate::effort::Effort;
use crate::engine::Queue;
use crate::scan::{Kernel, Lanes, Search};

/// The selector or envelope that a search compares with entries.
pub(crate) trait Wanted<T, K> {
    /// Value that is compared with keys.
    type Key: Copy;
    fn key(&self) -> Self::Key;
    /// Bits of slots that may match, free slots included. Implementations are `inline(always)`.
    fn hits<L: Lanes>(lanes: L, keys: &K, key: Self::Key) -> u64;
    fn matches(&self, entry: &T) -> bool;
}

/// Result of a search.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) place: Place,
    /// Position of its block in the order, from the front.
    pub(super) at: u32,
}

/// Search of [`Blocks::find`] in the blocks, for any instruction set.
struct First<'a, T, K, W, E> {
    order: &'a [u32],
    blocks: &'a [Block<K>],
    entries: &'a [T],
    wanted: &'a W,
    which: Queue,
    effort: &'a mut E,
    in_vain: &'a mut E,
}

impl<T: Copy, K, W: Wanted<T, K>, E: Effort> Search for First<'_, T, K, W, E> {
    type Found = Option<Found>;

    #[inline(always)]
    fn run<L: Lanes>(&mut self, lanes: L) -> Option<Found> {
        // By value: references would be loaded again for every block.
        let First { order, blocks, entries, wanted, which, ref mut effort, ref mut in_vain } = *self;
        let key = wanted.key();
        let mut at = 0;
        loop {
            // Nearly all blocks have no hit. A separate loop leaves them the registers that verification
            // needs.
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
    /// Finds the oldest entry that matches. Compares the oldest entry of all before it calls a kernel:
    /// programs that receive in arrival order never need the kernel.
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
