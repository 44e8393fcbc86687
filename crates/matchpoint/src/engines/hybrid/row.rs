//! Slots, and rows of slots with linear probing (Knuth, TAOCP 3, 6.4, algorithm L).
//!
//! ```text
//!   home of a, b      home of c
//!        │                │
//!        ▼                ▼
//!   [ a, passed 1 ][ b, passed 1 ][ c ]…      b is displaced by one slot: it passes the slot of a.
//!                                             A search ends at a slot that no displaced key passes.
//! ```
//!
//! The counts of passing keys make removal a write of one word in the common case, without tombstones.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use super::duplicates::Link;
use super::key::{Entry, Key};

/// Flags of a mark: the queue that the key's entries are in.
pub(super) const POSTED: u64 = 1;
pub(super) const UNEXPECTED: u64 = 2;
pub(super) const QUEUES: u64 = POSTED | UNEXPECTED;
/// The key has [duplicates](super::duplicates).
pub(super) const MANY: u64 = 4;
/// The key is displaced: its home is an earlier slot.
pub(super) const DISPLACED: u64 = 8;
/// Bits of a mark that count the displaced keys that pass the slot. Such a key has its home in this slot or
/// an earlier slot, and is stored in a later slot. The largest count also means "more".
pub(super) const PASSED: u64 = 0xFF << 4;
const PASSED_ONCE: u64 = 1 << 4;
/// Lowest bit of a mark that belongs to the number of the [entry](Entry). The 52 bits of the number are
/// enough for a year of posts at one post per 9 ns.
pub(super) const NUMBER: u32 = 12;
/// The difference between the marks of two consecutive entries.
pub(super) const NEXT: u64 = 1 << NUMBER;

/// A slot of a row. A mark of 0 means that the slot is free and that no displaced key passes the slot.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Slot {
    pub(super) tag: u64,
    /// The id of the key's only entry, or the block of the oldest duplicates.
    pub(super) id: u64,
    pub(super) pair: u64,
    /// Number of the only entry, [`PASSED`] count, and flags.
    pub(super) mark: u64,
}

impl Slot {
    pub(super) fn key(&self) -> Key {
        Key { pair: self.pair, tag: self.tag }
    }

    /// Writes an entry into a free slot. `mark` includes the count of keys that pass the slot.
    pub(super) fn fill(&mut self, key: Key, id: u64, mark: u64) {
        self.tag = key.tag;
        self.id = id;
        self.pair = key.pair;
        self.mark = mark;
    }

    /// Takes the only entry of the key.
    pub(super) fn take(&mut self) -> Entry {
        let entry = self.entry();
        self.clear();
        entry
    }

    /// Removes the key from the slot.
    pub(super) fn clear(&mut self) {
        self.mark &= PASSED;
    }

    pub(super) fn is_used(&self) -> bool {
        self.mark & QUEUES != 0
    }

    /// The flag of the queue that the key's entries are in.
    pub(super) fn queue(&self) -> u64 {
        self.mark & QUEUES
    }

    /// True if the slot has the key, with one entry in this queue.
    pub(super) fn has_one(&self, key: Key, queue: u64) -> bool {
        self.mark & (QUEUES | MANY) == queue && self.tag == key.tag && self.pair == key.pair
    }

    pub(super) fn has_many(&self) -> bool {
        self.mark & MANY != 0
    }

    /// The only entry of the key.
    pub(super) fn entry(&self) -> Entry {
        Entry { id: self.id, number: self.mark >> NUMBER }
    }

    /// The block of the oldest duplicates.
    pub(super) fn head(&self) -> Link {
        Link::of_word(self.id)
    }

    /// Makes the ring of block `head` the entries of the key.
    pub(super) fn set_head(&mut self, head: Link) {
        self.id = head.word();
        self.mark = self.mark & (NEXT - 1) | MANY;
    }
}

/// The address of a slot in a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct At(NonNull<Slot>);

/// See the [module's documentation](self).
#[repr(C)]
pub(super) struct Row {
    start: *mut Slot,
    /// Byte offset of the last slot of the full row. The offset serves as a mask, because the number of slots
    /// is a power of two.
    mask: u64,
    /// The address after the last slot that is not freed.
    end: *mut Slot,
    /// The memory of the slots. The first slot begins a cache line, up to 56 bytes after the start of
    /// `words`.
    words: Vec<u64>,
    /// Number of displaced keys.
    pub(super) displaced: usize,
}

// SAFETY: `start` and `end` point into `words`, which the row owns.
unsafe impl Send for Row {}

/// Allocates `len` zero words. The operating system provides the pages of a large vector at their first use.
fn zeroed_words(len: usize) -> Option<Vec<u64>> {
    let layout = std::alloc::Layout::array::<u64>(len).ok()?;
    // SAFETY: the layout is the layout of the vector and is not empty; zero is a valid word.
    unsafe {
        let words = std::alloc::alloc_zeroed(layout).cast::<u64>();
        (!words.is_null()).then(|| Vec::from_raw_parts(words, len, len))
    }
}

impl Row {
    /// A row without slots.
    pub(super) const fn none() -> Self {
        let start = NonNull::dangling().as_ptr();
        Row { words: Vec::new(), start, end: start, mask: 0, displaced: 0 }
    }

    /// Allocates a row of `len` free slots, a power of two. Returns `None` without memory.
    pub(super) fn zeroed(len: usize) -> Option<Self> {
        let mut words = zeroed_words(len.checked_mul(4)?.checked_add(8)?)?;
        let start = words.as_mut_ptr();
        let start = start.wrapping_byte_add(start.align_offset(64) * 8).cast::<Slot>();
        let mask = ((len - 1) * size_of::<Slot>()) as u64;
        Some(Row { words, start, end: start.wrapping_add(len), mask, displaced: 0 })
    }

    /// Number of slots that are not freed.
    pub(super) fn len(&self) -> usize {
        (self.end as usize - self.start as usize) / size_of::<Slot>()
    }

    pub(super) fn is_none(&self) -> bool {
        self.start == self.end
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.words.capacity() * 8) as u64
    }

    /// Frees the slots from `len` on, which must hold no key. Searches for keys with a freed home slot begin
    /// at the first slot.
    pub(super) fn truncate(&mut self, len: usize) {
        let offset = self.start as usize - self.words.as_ptr() as usize;
        self.words.truncate(len * 4 + 8);
        self.words.shrink_to_fit();
        self.start = self.words.as_mut_ptr().wrapping_byte_add(offset).cast();
        self.end = self.start.wrapping_add(len);
    }

    fn at(&self, slot: *mut Slot) -> At {
        debug_assert!(self.start <= slot && slot < self.end);
        // SAFETY: the address is that of a slot.
        At(unsafe { NonNull::new_unchecked(slot) })
    }

    /// The home slot of a key with this hash. The row must have slots, and no slot may have been freed.
    pub(super) fn home(&self, hash: u64) -> At {
        self.at(self.start.wrapping_byte_add((hash & self.mask) as usize))
    }

    /// The slot in which a search for a key with this hash begins.
    fn first(&self, hash: u64) -> At {
        self.wrapped(self.start.wrapping_byte_add((hash & self.mask) as usize))
    }

    /// Returns `slot`, or the first slot of the row if `slot` is at the end.
    fn wrapped(&self, slot: *mut Slot) -> At {
        self.at(if slot < self.end { slot } else { self.start })
    }

    fn next(&self, at: At) -> At {
        self.wrapped(at.0.as_ptr().wrapping_add(1))
    }

    pub(super) fn nth(&self, nth: usize) -> At {
        self.at(self.start.wrapping_add(nth))
    }

    pub(super) fn has(&self, at: At) -> bool {
        (self.start..self.end).contains(&at.0.as_ptr())
    }

    pub(super) fn slots(&self) -> &[Slot] {
        // SAFETY: `start` and `end` are the ends of initialized slots in `words`.
        unsafe { std::slice::from_raw_parts(self.start, self.len()) }
    }

    pub(super) fn slot(&self, at: At) -> &Slot {
        // SAFETY: rows return addresses of slots only, and callers keep no address while slots are freed.
        unsafe { at.0.as_ref() }
    }

    pub(super) fn slot_mut(&mut self, mut at: At) -> &mut Slot {
        // SAFETY: rows return addresses of slots only, and callers keep no address while slots are freed.
        unsafe { at.0.as_mut() }
    }

    /// The slot that holds a key, and the number of keys compared. O(1) expected.
    pub(super) fn find(&self, key: Key, hash: u64) -> (Option<At>, u64) {
        if self.is_none() {
            return (None, 0);
        }
        let first = self.first(hash);
        let (mut at, mut compared) = (first, 0);
        loop {
            let slot = self.slot(at);
            compared += u64::from(slot.is_used());
            if slot.tag == key.tag && slot.pair == key.pair && slot.is_used() {
                return (Some(at), compared);
            }
            at = self.next(at);
            if slot.mark & PASSED == 0 || at == first {
                return (None, compared);
            }
        }
    }

    /// Adds a key that the row does not have. Returns false if the row is full.
    pub(super) fn insert(&mut self, key: Key, hash: u64, id: u64, mark: u64) -> bool {
        let home = self.home(hash);
        let mut at = home;
        while self.slot(at).is_used() {
            at = self.next(at);
            if at == home {
                return false;
            }
        }
        let slot = self.slot_mut(at);
        slot.fill(key, id, mark | slot.mark);
        if at != home {
            slot.mark |= DISPLACED;
            self.displaced += 1;
            self.pass(home, at, PASSED_ONCE);
        }
        true
    }

    /// Removes the key in slot `at`; `hash` is the key's hash.
    pub(super) fn remove(&mut self, at: At, hash: u64) {
        if self.slot(at).mark & DISPLACED != 0 {
            self.displaced -= 1;
            self.pass(self.first(hash), at, PASSED_ONCE.wrapping_neg());
        }
        self.slot_mut(at).clear();
    }

    /// Adds `change` to the pass counts of the slots from `at` up to `to`.
    fn pass(&mut self, mut at: At, to: At, change: u64) {
        while at != to {
            let slot = self.slot_mut(at);
            if slot.mark & PASSED != PASSED {
                slot.mark = slot.mark.wrapping_add(change);
            }
            at = self.next(at);
        }
    }
}
