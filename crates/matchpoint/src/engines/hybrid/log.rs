//! The log of unexpected messages in arrival order. Wildcard searches scan the log.
//!
//! ```text
//!   first                    last
//!     ▼                        ▼
//!   [ block 4 ]⇄[ block 0 ]⇄[ block 7 ]     message n is in block n / 64, lane n % 64
//!        ├─ a bit for each queued message
//!        ├─ tags, lower half  [ 64 × 4 bytes ]
//!        ├─ tags, upper half  [ 64 × 4 bytes ]     a SIMD kernel compares 64 tags at once
//!        ├─ source numbers    [ 64 × 4 bytes ]
//!        └─ contexts          [ 64 × 4 bytes ]
//! ```
//!
//! A block leaves the list when its last message is taken, and is reused later. So a number is unique while
//! its message is queued. The age of a message counts the lanes of all blocks in the order of their use, so
//! an age is always unique.
#![allow(unsafe_code)]

use std::collections::TryReserveError;

use super::key::Key;
use super::row::{NEXT, NUMBER, UNEXPECTED};
use crate::blocks::set_bits;
use crate::engine::Refused;
use crate::scan::{Kernel, LANES};

pub(super) const LANE: u64 = LANES as u64;
/// The index of no block.
const NONE: u32 = u32::MAX;
/// Maximum number of blocks that a call frees.
const STEP: usize = 512;

/// The alignment lets a kernel load whole cache lines.
#[repr(align(64))]
pub(super) struct Block {
    /// Columns of the block: lower half of the tags, upper half of the tags, sources, contexts.
    pub(super) columns: [[u32; LANES]; 4],
    /// The age of the message in lane 0.
    age: u64,
    /// The previous block in the list, and the next block.
    before: u32,
    next: u32,
}

impl Block {
    const EMPTY: Block = Block { columns: [[0; LANES]; 4], age: 0, before: NONE, next: NONE };

    fn set(&mut self, lane: usize, Key { pair, tag }: Key) {
        let [lows, highs, sources, contexts] = &mut self.columns;
        (lows[lane], highs[lane]) = (tag as u32, (tag >> 32) as u32);
        (sources[lane], contexts[lane]) = (pair as u32, (pair >> 32) as u32);
    }

    pub(super) fn key(&self, lane: usize) -> Key {
        let [low, high, source, context] = self.columns.each_ref().map(|column| u64::from(column[lane]));
        Key { pair: context << 32 | source, tag: high << 32 | low }
    }
}

/// See the [module's documentation](self).
#[repr(C)]
pub(super) struct Log {
    /// The mark of the next message: the message's number, and the flag of the unexpected queue.
    pub(super) mark: u64,
    /// The first mark after the marks of the last block.
    end: u64,
    /// Number of queued messages.
    pub(super) len: u64,
    /// The block of the next message, while the log [has room](Self::has_room).
    open: *mut Block,
    /// A bit mask for each block. The bits of queued messages, and of lanes that no message has used yet, are
    /// set.
    waiting: Vec<u64>,
    /// One vector for each block, with the block as only element, or empty if the block's memory was freed.
    blocks: Vec<Vec<Block>>,
    /// The blocks that are not in the list. The first `freed` blocks of `unused` have no memory.
    unused: Vec<u32>,
    freed: usize,
    first: u32,
    last: u32,
    /// The age of the first message in the next block.
    age: u64,
    pub(super) kernel: Kernel,
}

// SAFETY: `open` points into `blocks`, which the log owns.
unsafe impl Send for Log {}

impl Log {
    pub(super) fn new(kernel: Kernel) -> Self {
        Log {
            waiting: Vec::new(),
            blocks: Vec::new(),
            unused: Vec::new(),
            freed: 0,
            first: NONE,
            last: NONE,
            mark: UNEXPECTED,
            end: 0,
            len: 0,
            open: std::ptr::null_mut(),
            age: 0,
            kernel,
        }
    }

    /// Number of queued messages.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// The number of the next message.
    pub(super) fn next(&self) -> u64 {
        self.mark >> NUMBER
    }

    /// The sequence number ("age") of the next message to arrive.
    pub(super) fn next_age(&self) -> u64 {
        if self.has_room() { self.age - LANE + self.next() % LANE } else { self.age }
    }

    fn block(&self, block: u64) -> Option<&Block> {
        self.blocks.get(block as usize)?.first()
    }

    fn block_mut(&mut self, block: u64) -> Option<&mut Block> {
        self.blocks.get_mut(block as usize)?.first_mut()
    }

    /// The block and the lane of a queued message.
    fn place(&self, number: u64) -> (&Block, u64) {
        (&self.blocks[(number / LANE) as usize][0], number % LANE)
    }

    /// True if a block of the list has a free lane for the next message.
    pub(super) fn has_room(&self) -> bool {
        self.mark < self.end
    }

    /// Appends a message to a log that [has room](Self::has_room). Returns whether the log has room for
    /// another message.
    #[inline(always)]
    pub(super) fn push(&mut self, key: Key) -> bool {
        let lane = (self.next() % LANE) as usize;
        (self.mark, self.len) = (self.mark + NEXT, self.len + 1);
        let has_room = self.has_room();
        // SAFETY: `make_room` set the pointer. No call frees a block with lanes that no message has used.
        unsafe { (*self.open).set(lane, key) };
        has_room
    }

    /// Appends a block to the list, for the next messages.
    pub(super) fn make_room(&mut self) -> Result<(), Refused> {
        if self.has_room() {
            return Ok(());
        }
        self.reserve(1)?;
        let block = self.unused.pop().expect("a block is reserved");
        let before = std::mem::replace(&mut self.last, block);
        match self.block_mut(before.into()) {
            Some(before) => before.next = block,
            None => self.first = block,
        }
        self.open = self.blocks[block as usize].as_mut_ptr();
        let added = &mut self.blocks[block as usize][0];
        (added.age, added.before, added.next) = (self.age, before, NONE);
        self.waiting[block as usize] = u64::MAX;
        self.age += LANE;
        self.mark = (u64::from(block) * LANE) << NUMBER | UNEXPECTED;
        self.end = self.mark + LANE * NEXT;
        Ok(())
    }

    /// Reserves memory for `messages` messages, in blocks that are not in the list.
    pub(super) fn reserve(&mut self, messages: usize) -> Result<(), Refused> {
        while self.unused.len() - self.freed < messages.div_ceil(LANES) {
            self.add_unused().map_err(|_| Refused::Memory)?;
        }
        Ok(())
    }

    /// Allocates a block and adds the block to `unused`.
    fn add_unused(&mut self) -> Result<(), TryReserveError> {
        if self.freed == 0 {
            self.blocks.try_reserve(1)?;
            self.waiting.try_reserve(1)?;
            // With this reservation, every block can leave the list without an allocation.
            self.unused.try_reserve(self.blocks.len() + 1)?;
            self.unused.insert(0, self.blocks.len() as u32);
            self.blocks.push(Vec::new());
            self.waiting.push(0);
            self.freed = 1;
        }
        let memory = &mut self.blocks[self.unused[self.freed - 1] as usize];
        memory.try_reserve_exact(1)?;
        memory.push(Block::EMPTY);
        self.freed -= 1;
        Ok(())
    }

    /// Removes the message with this number from the log, and unlinks an emptied block.
    pub(super) fn remove(&mut self, number: u64) {
        if self.clear(number) {
            self.unlink(number);
        }
    }

    /// Removes the message with this number. Returns true if the caller must [unlink](Self::unlink) the
    /// emptied block.
    #[inline(always)]
    #[must_use]
    pub(super) fn clear(&mut self, number: u64) -> bool {
        self.len -= 1;
        // SAFETY: the number is that of a queued message, so `waiting` has the mask of the message's block.
        let waiting = unsafe { self.waiting.get_unchecked_mut((number / LANE) as usize) };
        *waiting &= !(1 << (number % LANE));
        *waiting == 0
    }

    /// Removes the block of a message from the list.
    #[cold]
    pub(super) fn unlink(&mut self, number: u64) {
        let Block { before, next, .. } = *self.place(number).0;
        match self.block_mut(before.into()) {
            Some(before) => before.next = next,
            None => self.first = next,
        }
        match self.block_mut(next.into()) {
            Some(next) => next.before = before,
            None => self.last = before,
        }
        self.unused.push((number / LANE) as u32);
    }

    /// Frees blocks that `messages` messages do not need, at most [`STEP`].
    pub(super) fn shrink(&mut self, messages: usize) {
        let spare = self.unused.len() - self.freed;
        let count = spare.saturating_sub(messages.div_ceil(LANES) + 1).min(STEP);
        for &block in &self.unused[self.freed..][..count] {
            self.blocks[block as usize] = Vec::new();
        }
        self.freed += count;
        if messages == 0 && count < STEP && self.blocks.len() > STEP {
            self.release();
        }
    }

    /// Frees all memory of a log without messages. Numbers restart at 0, and ages continue.
    pub(super) fn release(&mut self) {
        if self.len == 0 {
            *self = Log { age: self.age, ..Log::new(self.kernel) };
        }
    }

    /// True if the message with this number and this age is still queued.
    pub(super) fn is_queued(&self, number: u64, age: u64) -> bool {
        let (place, lane) = ((number / LANE) as usize, number % LANE);
        let block = self.block(number / LANE);
        block.is_some_and(|block| block.age + lane == age) && self.waiting[place] >> lane & 1 != 0
    }

    /// The key of a queued message.
    pub(super) fn key(&self, number: u64) -> Key {
        let (block, lane) = self.place(number);
        block.key(lane as usize)
    }

    /// The age of a queued message.
    pub(super) fn age(&self, number: u64) -> u64 {
        let (block, lane) = self.place(number);
        block.age + lane
    }

    /// Changes the key of a queued message.
    pub(super) fn set_key(&mut self, number: u64, key: Key) {
        if let Some(block) = self.block_mut(number / LANE) {
            block.set((number % LANE) as usize, key);
        }
    }

    /// The blocks with messages of an age or a higher age, and for each block the bits of the queued
    /// messages.
    #[inline(always)]
    pub(super) fn blocks_from(&self, age: u64) -> impl Iterator<Item = (u32, &Block, u64)> {
        let mut next = self.block_of(age);
        // In the last block, no message has used some lanes yet.
        let (open, arrived) =
            if self.has_room() { (self.next() / LANE, self.next() % LANE) } else { (u64::MAX, 0) };
        std::iter::from_fn(move || {
            let number = next;
            let block = self.block(number.into())?;
            next = block.next;
            let after = if u64::from(number) == open { u64::MAX << arrived } else { 0 };
            let since = u64::MAX.checked_shl(age.saturating_sub(block.age).min(LANE) as u32).unwrap_or(0);
            Some((number, block, self.waiting[number as usize] & since & !after))
        })
    }

    /// The first block with messages that arrived at sequence number `age` or later. O(1) for age 0, else O(blocks from the found
    /// block on).
    fn block_of(&self, age: u64) -> u32 {
        let mut number = if age == 0 { NONE } else { self.last };
        while let Some(block) = self.block(number.into()) {
            if block.age <= age {
                return number;
            }
            number = block.before;
        }
        self.first
    }

    /// The keys, numbers and ages of the queued messages, from an age on.
    pub(super) fn messages_from(&self, age: u64) -> impl Iterator<Item = (Key, u64, u64)> {
        self.blocks_from(age).flat_map(|(number, block, waiting)| {
            let lanes = set_bits(waiting).map(u64::from);
            lanes.map(move |lane| {
                (block.key(lane as usize), u64::from(number) * LANE + lane, block.age + lane)
            })
        })
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        (self.blocks.capacity() * size_of::<Vec<Block>>()
            + self.waiting.capacity() * size_of::<u64>()
            + self.unused.capacity() * size_of::<u32>()
            + (self.blocks.len() - self.freed) * size_of::<Block>()) as u64
    }
}
