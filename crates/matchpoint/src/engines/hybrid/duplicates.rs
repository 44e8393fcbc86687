//! Duplicates: entries with the same key, in blocks that are linked in a ring in order of age.
#![allow(unsafe_code)]

use std::ops::{Index, IndexMut};
use std::ptr::{null_mut, with_exposed_provenance_mut};

use super::key::Entry;
use crate::engine::Refused;

/// Entries in a block. The size of a block is a power of two.
const RUN: usize = 14;
/// Blocks that are allocated at a time.
const PIECE: usize = 8;

/// The address of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Link(*mut Block);

impl Link {
    /// No block.
    pub(super) const NONE: Link = Link(null_mut());

    /// The link that [`word`](Self::word) returned.
    #[inline(always)]
    pub(super) fn of_word(word: u64) -> Self {
        Link(with_exposed_provenance_mut(word as usize))
    }

    #[inline(always)]
    pub(super) fn word(self) -> u64 {
        self.0.expose_provenance() as u64
    }
}

/// Consecutive duplicates. A block in a ring has at least one entry.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Block {
    /// The block with the next younger entries; after the youngest, the oldest. Of a free block the next free one.
    pub(super) next: Link,
    /// The block with the next older entries; before the oldest, the youngest.
    pub(super) before: Link,
    /// The entries are those from `first` up to `end`.
    pub(super) first: u64,
    pub(super) end: u64,
    pub(super) entries: [Entry; RUN],
}

impl Block {
    const FREE: Block = Block {
        next: Link::NONE,
        before: Link::NONE,
        first: 0,
        end: 0,
        entries: [Entry { id: 0, number: 0 }; RUN],
    };

    #[inline(always)]
    pub(super) fn used(&self) -> &[Entry] {
        &self.entries[self.first as usize..self.end as usize]
    }

    /// Appends an entry, if there is room.
    #[inline(always)]
    fn push(&mut self, entry: Entry) -> bool {
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
pub(super) struct Duplicates {
    /// The first block of each piece.
    pieces: Vec<*mut Block>,
    free: Link,
    used: usize,
    /// Pieces that are reserved.
    pub(super) kept: usize,
    /// Whether a block was in use since the last call of [`give_back`](Self::give_back).
    was_used: bool,
}

// SAFETY: the links lead to blocks in `pieces`, which the table owns.
unsafe impl Send for Duplicates {}

impl Default for Duplicates {
    fn default() -> Self {
        Duplicates { pieces: Vec::new(), free: Link::NONE, used: 0, kept: 0, was_used: false }
    }
}

impl Drop for Duplicates {
    fn drop(&mut self) {
        for &first in &self.pieces {
            // SAFETY: `grow` made it of a box of so many blocks, and nothing else frees it.
            drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(first, PIECE)) });
        }
    }
}

impl Index<Link> for Duplicates {
    type Output = Block;

    #[inline(always)]
    fn index(&self, Link(block): Link) -> &Block {
        debug_assert!(!block.is_null());
        // SAFETY: links in slots and in blocks are to blocks in `pieces`, of which this borrows all.
        unsafe { &*block }
    }
}

impl IndexMut<Link> for Duplicates {
    #[inline(always)]
    fn index_mut(&mut self, Link(block): Link) -> &mut Block {
        debug_assert!(!block.is_null());
        // SAFETY: as above.
        unsafe { &mut *block }
    }
}

impl Duplicates {
    /// A ring of one block with these entries, at most two.
    pub(super) fn allocate(&mut self, entries: &[Entry]) -> Result<Link, Refused> {
        if self.free == Link::NONE {
            self.grow()?;
        }
        let link = self.free;
        let block = &mut self[link];
        let next = std::mem::replace(&mut block.next, link);
        (block.before, block.first, block.end) = (link, 0, entries.len() as u64);
        block.entries[..entries.len()].copy_from_slice(entries);
        self.free = next;
        self.used += 1;
        self.was_used = true;
        Ok(link)
    }

    #[cold]
    fn grow(&mut self) -> Result<(), Refused> {
        self.pieces.try_reserve(1).map_err(|_| Refused::Memory)?;
        let mut piece = Vec::new();
        piece.try_reserve_exact(PIECE).map_err(|_| Refused::Memory)?;
        piece.resize(PIECE, Block::FREE);
        // All links come from one pointer, which no later move of a box or of the vector touches.
        let first = Box::into_raw(piece.into_boxed_slice()).cast::<Block>();
        self.pieces.push(first);
        for at in (0..PIECE).rev() {
            // SAFETY: the piece has so many blocks.
            let link = Link(unsafe { first.add(at) });
            self[link].next = std::mem::replace(&mut self.free, link);
        }
        Ok(())
    }

    /// Appends an entry to the youngest block of a ring, if there is room.
    #[inline(always)]
    pub(super) fn push(&mut self, head: Link, entry: Entry) -> bool {
        let tail = self[head].before;
        self[tail].push(entry)
    }

    /// Puts the ring of one block before the block `head` of another ring: after its youngest entries.
    pub(super) fn append(&mut self, head: Link, block: Link) {
        let tail = self[head].before;
        (self[block].next, self[block].before) = (head, tail);
        self[tail].next = block;
        self[head].before = block;
    }

    /// Removes a block from its ring and frees it. Returns the next block, or none if it was the only one.
    pub(super) fn remove(&mut self, block: Link) -> Link {
        let Block { next, before, .. } = self[block];
        self[before].next = next;
        self[next].before = before;
        self[block].next = self.free;
        self.free = block;
        self.used -= 1;
        if next == block { Link::NONE } else { next }
    }

    /// Makes room for so many more blocks.
    pub(super) fn reserve(&mut self, blocks: usize) -> Result<(), Refused> {
        let pieces = (self.used + blocks).div_ceil(PIECE);
        while self.pieces.len() < pieces {
            self.grow()?;
        }
        self.kept = pieces;
        Ok(())
    }

    /// Frees all memory, if no block was in use since the last call and none is reserved. While a program has `entries`, the first
    /// piece remains.
    pub(super) fn give_back(&mut self, entries: usize) {
        let is_idle = self.used == 0 && !self.was_used && self.kept == 0;
        if is_idle && (entries == 0 || self.pieces.len() > 1) {
            *self = Duplicates::default();
        }
        self.was_used = self.used > 0;
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.pieces.capacity() * size_of::<*mut Block>() + self.pieces.len() * PIECE * size_of::<Block>())
            as u64
    }
}
