//! Duplicates: entries with the same key. Their memory blocks are linked in a ring, in order of age.
#![allow(unsafe_code)]

use std::ops::{Index, IndexMut};
use std::ptr::{null_mut, with_exposed_provenance_mut};

use super::key::Entry;
use crate::engine::Refused;

/// Duplicates in a block. With 14 entries, the size of a block in bytes is a power of two.
const RUN: usize = 14;
/// Number of blocks that one allocation (a piece) provides.
const PIECE: usize = 8;

/// The address of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Link(*mut Block);

impl Link {
    /// The link to no block.
    pub(super) const NONE: Link = Link(null_mut());

    /// The link that [`word`](Self::word) returned.
    pub(super) fn of_word(word: u64) -> Self {
        Link(with_exposed_provenance_mut(word as usize))
    }

    pub(super) fn word(self) -> u64 {
        self.0.expose_provenance() as u64
    }
}

impl Default for Link {
    fn default() -> Self {
        Link::NONE
    }
}

/// A block of consecutive duplicates. A block in a ring has at least one entry.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Block {
    /// The block with the next younger entries; for the youngest block, the oldest block; for a free block,
    /// the next free block.
    pub(super) next: Link,
    /// The block with the next older entries; for the oldest block, the youngest block.
    pub(super) before: Link,
    /// The block's entries have the indexes from `first` up to `end`.
    pub(super) first: u64,
    pub(super) end: u64,
    pub(super) entries: [Entry; RUN],
}

impl Block {
    pub(super) fn used(&self) -> &[Entry] {
        &self.entries[self.first as usize..self.end as usize]
    }

    /// Appends an entry, and returns false if the block is full.
    pub(super) fn push(&mut self, entry: Entry) -> bool {
        let end = self.end as usize;
        let Some(place) = self.entries.get_mut(end) else { return false };
        *place = entry;
        self.end += 1;
        true
    }

    /// Takes the oldest entry of the block, unless the block has only one entry.
    pub(super) fn take_unless_last(&mut self) -> Option<Entry> {
        let first = self.first as usize;
        (self.first + 1 < self.end).then(|| {
            self.first += 1;
            // SAFETY: `first` is less than `end`, and `push` ends at the length of `entries`.
            unsafe { *self.entries.get_unchecked(first) }
        })
    }
}

/// The blocks of all keys of a table.
#[derive(Default)]
pub(super) struct Duplicates {
    /// The first block of each piece.
    pieces: Vec<*mut Block>,
    free: Link,
    used: usize,
}

// SAFETY: the links lead to blocks in `pieces`, which this value owns.
unsafe impl Send for Duplicates {}

impl Drop for Duplicates {
    fn drop(&mut self) {
        for &first in &self.pieces {
            // SAFETY: `grow` made this pointer from a box of `PIECE` blocks, and no other code frees the box.
            drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(first, PIECE)) });
        }
    }
}

impl Index<Link> for Duplicates {
    type Output = Block;

    fn index(&self, Link(block): Link) -> &Block {
        debug_assert!(!block.is_null());
        // SAFETY: links in slots and in blocks lead to blocks in `pieces`, and `self` borrows all pieces.
        unsafe { &*block }
    }
}

impl IndexMut<Link> for Duplicates {
    fn index_mut(&mut self, Link(block): Link) -> &mut Block {
        debug_assert!(!block.is_null());
        // SAFETY: links lead to blocks in `pieces`, and `self` borrows all pieces mutably.
        unsafe { &mut *block }
    }
}

impl Duplicates {
    /// Allocates a ring of one block with these entries, at most two.
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
        Ok(link)
    }

    #[cold]
    fn grow(&mut self) -> Result<(), Refused> {
        self.pieces.try_reserve(1).map_err(|_| Refused::Memory)?;
        let mut piece = Vec::new();
        piece.try_reserve_exact(PIECE).map_err(|_| Refused::Memory)?;
        piece.resize(PIECE, Block::default());
        // All links into this piece derive from this pointer. No later move of the vector touches the piece.
        let first = Box::into_raw(piece.into_boxed_slice()).cast::<Block>();
        self.pieces.push(first);
        for at in (0..PIECE).rev() {
            // SAFETY: the piece has `PIECE` blocks, and `at` is less.
            let link = Link(unsafe { first.add(at) });
            self[link].next = std::mem::replace(&mut self.free, link);
        }
        Ok(())
    }

    /// Appends an entry to a ring, or (`is_added` is false) takes the oldest entry. Returns `None` if the call
    /// would add or remove a block.
    #[inline(always)]
    pub(super) fn exchange(&mut self, head: Link, is_added: bool, entry: Entry) -> Option<Option<Entry>> {
        if is_added {
            let tail = self[head].before;
            return self[tail].push(entry).then_some(None);
        }
        self[head].take_unless_last().map(Some)
    }

    /// Appends an entry to a ring.
    pub(super) fn append(&mut self, head: Link, entry: Entry) -> Result<(), Refused> {
        let tail = self[head].before;
        if !self[tail].push(entry) {
            let block = self.allocate(&[entry])?;
            (self[block].next, self[block].before) = (head, tail);
            self[tail].next = block;
            self[head].before = block;
        }
        Ok(())
    }

    /// Removes a block from its ring and frees it. Returns the next block of the ring, or [`Link::NONE`] if
    /// the ring is empty.
    pub(super) fn remove(&mut self, block: Link) -> Link {
        let Block { next, before, .. } = self[block];
        self[before].next = next;
        self[next].before = before;
        self[block].next = self.free;
        self.free = block;
        self.used -= 1;
        if next == block { Link::NONE } else { next }
    }

    /// The blocks of a ring, from both ends.
    pub(super) fn ring(&self, head: Link) -> impl Iterator<Item = Link> {
        let inner = |&(first, last): &(Link, Link)| {
            let is_last = first == last || self[first].next == last;
            (!is_last).then(|| (self[first].next, self[last].before))
        };
        std::iter::successors(Some((head, self[head].before)), inner)
            .flat_map(|(first, last)| [Some(first), (first != last).then_some(last)])
            .flatten()
    }

    /// The position before the given position in a ring, or `None` at the oldest entry.
    fn older(&self, head: Link, (block, nth): (Link, u64)) -> Option<(Link, u64)> {
        if nth > self[block].first {
            return Some((block, nth - 1));
        }
        let before = self[block].before;
        (block != head).then(|| (before, self[before].end - 1))
    }

    /// Moves the last entry of a ring before the younger entries, for which `is_younger` returns true.
    pub(super) fn sort_last(&mut self, head: Link, is_younger: impl Fn(Entry) -> bool) {
        let mut place = (self[head].before, self[self[head].before].end - 1);
        let entry = self[place.0].entries[place.1 as usize];
        while let Some(older) = self.older(head, place) {
            let other = self[older.0].entries[older.1 as usize];
            if !is_younger(other) {
                return;
            }
            self[place.0].entries[place.1 as usize] = other;
            self[older.0].entries[older.1 as usize] = entry;
            place = older;
        }
    }

    /// Reserves memory for `blocks` more blocks.
    pub(super) fn reserve(&mut self, blocks: usize) -> Result<(), Refused> {
        while self.pieces.len() * PIECE < self.used + blocks {
            self.grow()?;
        }
        Ok(())
    }

    /// Frees all blocks, if no block is in use and `entries` entries need fewer blocks.
    pub(super) fn shrink(&mut self, entries: usize) {
        if self.used == 0 && self.pieces.len() * PIECE > entries + PIECE {
            *self = Duplicates::default();
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.pieces.capacity() * size_of::<*mut Block>() + self.pieces.len() * PIECE * size_of::<Block>())
            as u64
    }
}
