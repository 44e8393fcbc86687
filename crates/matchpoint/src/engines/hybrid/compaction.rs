//! Compaction of the log: the messages that wait get new numbers without gaps, in the same order.

use super::log::{BLOCK, Log};
use crate::engine::Refused;

/// The new numbers.
pub(super) struct Numbers {
    first: u64,
    /// Of each old block, the messages that waited, and the new number of the first of them.
    blocks: Vec<(u64, u64)>,
}

impl Numbers {
    /// The new number of a message that waits. O(1).
    pub(super) fn of(&self, old: u64) -> u64 {
        let (waiting, new) = self.blocks[(old / BLOCK - self.first) as usize];
        let before = waiting & !(u64::MAX << (old % BLOCK));
        new + u64::from(before.count_ones())
    }
}

impl Log {
    /// Numbers the messages that wait anew, from the next number on; nothing without memory. All blocks are full. O(blocks + messages
    /// that wait).
    pub(super) fn compact(&mut self) -> Option<Numbers> {
        let (first, end) = (self.first() / BLOCK, self.next() / BLOCK);
        debug_assert!(self.next() % BLOCK == 0);
        let mut numbers = Numbers { first, blocks: Vec::new() };
        numbers.blocks.try_reserve_exact((end - first) as usize).ok()?;
        self.reserve(self.len()).ok()?;
        for block in first..end {
            let waiting = self.waiting(block);
            let mut left = waiting;
            let mut new = None;
            while left != 0 {
                self.make_room().expect("the log has reserved memory");
                let old = block * BLOCK + u64::from(left.trailing_zeros());
                new = new.or(Some(self.next()));
                let key = self.key(old);
                self.remove(old);
                self.push(key);
                left &= left - 1;
            }
            numbers.blocks.push((waiting, new.unwrap_or(0)));
        }
        Some(numbers)
    }

    /// Has memory for so many more messages.
    fn reserve(&mut self, messages: usize) -> Result<(), Refused> {
        let blocks = messages / BLOCK as usize + 2;
        self.reserve_columns(blocks)?;
        while self.next() / BLOCK + blocks as u64 - self.first() / BLOCK >= self.blocks() {
            self.widen()?;
        }
        Ok(())
    }
}
