//! Duplicates: entries with the same key, in blocks that are linked in order of age.
#![allow(unsafe_code)]

use std::ops::{Index, IndexMut};

use super::row::Entry;
use crate::engine::Refused;

/// Entries in a block. The size of a block is a power of two.
const RUN: usize = 15;
/// Blocks that are allocated at a time.
const PIECE: usize = 8;
/// No block.
pub(super) const NONE: u32 = u32::MAX;

/// Consecutive duplicates. A block in a list has at least one entry.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Block {
    /// The block with the next younger entries; of a free block the next free one.
    pub(super) next: u32,
    /// The block with the next older entries.
    pub(super) before: u32,
    /// The entries are those from `first` up to `end`.
    pub(super) first: u32,
    pub(super) end: u32,
    pub(super) entries: [Entry; RUN],
}

impl Block {
    const FREE: Block =
        Block { next: NONE, before: NONE, first: 0, end: 0, entries: [Entry { id: 0, number: 0 }; RUN] };

    #[inline(always)]
    pub(super) fn used(&self) -> &[Entry] {
        &self.entries[self.first as usize..self.end as usize]
    }

    /// Appends an entry, if there is room.
    #[inline(always)]
    pub(super) fn push(&mut self, entry: Entry) -> bool {
        let end = self.end as usize;
        let Some(place) = self.entries.get_mut(end) else { return false };
        *place = entry;
        self.end += 1;
        true
    }

    /// Takes the oldest entry, unless it is the only one.
    #[inline(always)]
    pub(super) fn take_unless_last(&mut self) -> Option<Entry> {
        let first = self.first as usize;
        if first + 1 >= self.end as usize {
            return None;
        }
        self.first += 1;
        self.entries.get(first).copied()
    }
}

/// All blocks of a table.
#[derive(Default)]
pub(super) struct Duplicates {
    pieces: Vec<Box<[Block]>>,
    /// The first free block, if `used` is not the number of all.
    free: u32,
    used: usize,
    /// Whether a block was in use since the last call of [`give_back`](Self::give_back).
    was_used: bool,
}

impl Index<u32> for Duplicates {
    type Output = Block;

    #[inline(always)]
    fn index(&self, block: u32) -> &Block {
        debug_assert!((block as usize) < self.pieces.len() * PIECE);
        // SAFETY: blocks in lists and in the list of free blocks are within the pieces, which have `PIECE` blocks each.
        unsafe { self.pieces.get_unchecked(block as usize / PIECE).get_unchecked(block as usize % PIECE) }
    }
}

impl IndexMut<u32> for Duplicates {
    #[inline(always)]
    fn index_mut(&mut self, block: u32) -> &mut Block {
        debug_assert!((block as usize) < self.pieces.len() * PIECE);
        // SAFETY: as above.
        unsafe {
            self.pieces.get_unchecked_mut(block as usize / PIECE).get_unchecked_mut(block as usize % PIECE)
        }
    }
}

impl Duplicates {
    /// A block for `entries`, at most two, without links.
    pub(super) fn allocate(&mut self, entries: &[Entry]) -> Result<u32, Refused> {
        if self.used == self.pieces.len() * PIECE {
            self.grow()?;
        }
        let number = self.free;
        let block = &mut self[number];
        let next = std::mem::replace(&mut block.next, NONE);
        (block.before, block.first, block.end) = (NONE, 0, entries.len() as u32);
        block.entries[..entries.len()].copy_from_slice(entries);
        self.free = next;
        self.used += 1;
        self.was_used = true;
        Ok(number)
    }

    #[cold]
    fn grow(&mut self) -> Result<(), Refused> {
        let first = self.pieces.len() * PIECE;
        if first + PIECE >= NONE as usize {
            return Err(Refused::Full);
        }
        self.pieces.try_reserve(1).map_err(|_| Refused::Memory)?;
        let mut piece = Vec::new();
        piece.try_reserve_exact(PIECE).map_err(|_| Refused::Memory)?;
        piece.extend((first + 1..=first + PIECE).map(|next| Block { next: next as u32, ..Block::FREE }));
        self.pieces.push(piece.into_boxed_slice());
        self.free = first as u32;
        Ok(())
    }

    /// Frees a block for the next list.
    pub(super) fn free(&mut self, block: u32) {
        self[block].next = self.free;
        self.free = block;
        self.used -= 1;
    }

    /// Frees all memory, if no block was in use since the last call. While a program has `entries`, the first piece remains.
    pub(super) fn give_back(&mut self, entries: usize) {
        if self.used == 0 && !self.was_used && (entries == 0 || self.pieces.len() > 1) {
            *self = Duplicates::default();
        }
        self.was_used = self.used > 0;
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.pieces.capacity() * size_of::<Box<[Block]>>() + self.pieces.len() * PIECE * size_of::<Block>())
            as u64
    }
}
