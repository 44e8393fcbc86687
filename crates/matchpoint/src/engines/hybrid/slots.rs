//! The buckets of a table, in chunks of 2 KiB: a table grows at its end, chunk by chunk, and no bucket ever moves. So no
//! call allocates or clears more than a chunk, and nothing is held twice. (In one piece, giving back the smaller
//! table of a million entries took 1.6 ms, and half as much memory again was held until then.)

use super::entry::Slot;
use crate::engine::Refused;

/// Slots in a chunk: the smallest table.
pub(super) const CHUNK: usize = 64;

type Chunk = Box<[Slot; CHUNK]>;

/// See the [module's documentation](self).
#[derive(Default)]
pub(super) struct Slots {
    chunks: Vec<Chunk>,
    len: usize,
}

fn chunk() -> Result<Chunk, Refused> {
    let mut slots = Vec::new();
    slots.try_reserve_exact(CHUNK).map_err(|_| Refused::Memory)?;
    slots.resize(CHUNK, Slot::default());
    slots.into_boxed_slice().try_into().map_err(|_| Refused::Memory)
}

impl Slots {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        (self.chunks.len() * size_of::<[Slot; CHUNK]>() + self.chunks.capacity() * size_of::<Chunk>()) as u64
    }

    /// Gives a chunk back, of slots that nobody uses any more. False: there is none.
    pub(super) fn give_back(&mut self) -> bool {
        self.chunks.pop().is_some()
    }

    /// A slot below [`len`](Self::len), or nothing or an empty one beyond.
    #[inline]
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Slot> {
        Some(&mut self.chunks.get_mut(index / CHUNK)?[index % CHUNK])
    }

    /// The chunk that a slot is in, at its number modulo [`CHUNK`].
    #[inline]
    pub(super) fn chunk_mut(&mut self, index: usize) -> Option<&mut [Slot; CHUNK]> {
        self.chunks.get_mut(index / CHUNK).map(|chunk| &mut **chunk)
    }

    /// The first of those from `from` on, or a few before, of which `is_it` says so.
    pub(super) fn find_from(&self, from: usize, is_it: impl Fn(&Slot) -> bool) -> Option<&Slot> {
        let chunks = self.chunks.get(from / CHUNK..).unwrap_or_default();
        chunks.iter().find_map(|chunk| chunk.iter().find(|&slot| is_it(slot)))
    }

    /// Those from `from` on.
    pub(super) fn since(&self, from: usize) -> impl Iterator<Item = &Slot> {
        let chunks = self.chunks.get(from / CHUNK..).unwrap_or_default();
        let before = from / CHUNK * CHUNK;
        let slots = chunks.iter().flat_map(|chunk| chunk.iter()).take(self.len.saturating_sub(before));
        slots.skip(from - before)
    }

    /// All of them, and empty ones behind those: quickest by `for_each` and what is made of that.
    pub(super) fn all(&self) -> impl Iterator<Item = &Slot> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// Calls `each` with all of which `is_it` says so. Which of a chunk these are is seen first, without a branch: half of the
    /// slots are empty, and the processor would guess wrong at every other.
    #[inline(always)]
    pub(super) fn for_each_that(&self, is_it: impl Fn(&Slot) -> bool, mut each: impl FnMut(&Slot)) {
        for chunk in &self.chunks {
            let all = chunk.iter().enumerate();
            let mut left = all.fold(0_u64, |left, (at, slot)| left | u64::from(is_it(slot)) << at);
            while left != 0 {
                each(&chunk[left.trailing_zeros() as usize % CHUNK]);
                left &= left - 1;
            }
        }
    }

    /// So many empty ones: whole chunks.
    pub(super) fn of(slots: usize) -> Result<Self, Refused> {
        let mut made = Slots::default();
        while made.chunks.len() * CHUNK < slots {
            made.grow()?;
        }
        made.extend(slots);
        Ok(made)
    }

    /// Whether slots can be appended without allocating.
    pub(super) fn has_room(&self) -> bool {
        self.len < self.chunks.len() * CHUNK
    }

    /// Makes room for more.
    pub(super) fn grow(&mut self) -> Result<(), Refused> {
        self.chunks.try_reserve(1).map_err(|_| Refused::Memory)?;
        self.chunks.push(chunk()?);
        Ok(())
    }

    /// Appends empty slots, for which there must be [room](Self::has_room): so many that a chunk is filled by some of such
    /// calls.
    pub(super) fn extend(&mut self, slots: usize) {
        self.len += slots;
    }
}

impl std::ops::Index<usize> for Slots {
    type Output = Slot;

    #[inline]
    fn index(&self, index: usize) -> &Slot {
        &self.chunks[index / CHUNK][index % CHUNK]
    }
}

impl std::ops::IndexMut<usize> for Slots {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut Slot {
        &mut self.chunks[index / CHUNK][index % CHUNK]
    }
}
