//! The buckets of a table, in chunks of 2 KiB: growth takes memory chunk by chunk, and chunks of the smaller table that
//! are done with become chunks of the larger one. So no call allocates, clears or frees more than a chunk, and a
//! table that has grown is all that was ever held. (In one piece, giving back the smaller table of a million entries took
//! 1.6 ms, and half as much memory again was held until then.)

use std::collections::VecDeque;

use super::entry::Slot;
use crate::engine::Refused;

/// Slots in a chunk: the smallest table.
pub(super) const CHUNK: usize = 64;

type Chunk = Box<[Slot; CHUNK]>;

/// The slots of a table. While it grows: those whose buckets have moved.
#[derive(Default)]
pub(super) struct Slots {
    chunks: Vec<Chunk>,
    len: usize,
}

/// The slots of the smaller table, while a table grows.
#[derive(Default)]
pub(super) struct Left {
    chunks: VecDeque<Chunk>,
    /// Chunks taken from the front.
    gone: usize,
    len: usize,
    /// The last of them, until the larger table needs it.
    spare: Option<Chunk>,
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

    /// A slot below [`len`](Self::len), or nothing or an empty one beyond.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&Slot> {
        Some(&self.chunks.get(index / CHUNK)?[index % CHUNK])
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Slot> {
        Some(&mut self.chunks.get_mut(index / CHUNK)?[index % CHUNK])
    }

    /// Those from `from` on.
    pub(super) fn since(&self, from: usize) -> impl Iterator<Item = &Slot> {
        let chunks = self.chunks.get(from / CHUNK..).unwrap_or_default();
        let before = from / CHUNK * CHUNK;
        let slots = chunks.iter().flat_map(|chunk| chunk.iter()).take(self.len.saturating_sub(before));
        slots.skip(from - before)
    }

    /// Appends empty slots, so many that a chunk is filled by some of such calls.
    pub(super) fn extend(&mut self, slots: usize, left: &mut Left) -> Result<(), Refused> {
        if self.len == self.chunks.len() * CHUNK {
            self.chunks.try_reserve(1).map_err(|_| Refused::Memory)?;
            let chunk = match left.spare.take() {
                Some(mut chunk) => {
                    chunk.fill(Slot::default());
                    chunk
                }
                None => chunk()?,
            };
            self.chunks.push(chunk);
        }
        self.len += slots;
        Ok(())
    }

    /// Leaves these for none, with room to remember the chunks of twice as many.
    pub(super) fn leave(&mut self) -> Result<Left, Refused> {
        let mut chunks = Vec::new();
        chunks.try_reserve_exact(2 * self.chunks.len()).map_err(|_| Refused::Memory)?;
        let Slots { chunks, len } = std::mem::replace(self, Slots { chunks, len: 0 });
        Ok(Left { chunks: chunks.into(), gone: 0, len, spare: None })
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

impl Left {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let chunks = self.chunks.len() + usize::from(self.spare.is_some());
        (chunks * size_of::<[Slot; CHUNK]>() + self.chunks.capacity() * size_of::<Chunk>()) as u64
    }

    /// A slot that was not [done with](Self::done).
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&Slot> {
        Some(&self.chunks.get((index / CHUNK).wrapping_sub(self.gone))?[index % CHUNK])
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Slot> {
        Some(&mut self.chunks.get_mut((index / CHUNK).wrapping_sub(self.gone))?[index % CHUNK])
    }

    /// Those from `from` on, none of which is [done with](Self::done).
    pub(super) fn since(&self, from: usize) -> impl Iterator<Item = &Slot> {
        let chunk = (from / CHUNK - self.gone).min(self.chunks.len());
        self.chunks.range(chunk..).flat_map(|chunk| chunk.iter()).skip(from % CHUNK)
    }

    /// The buckets below `until` have moved.
    pub(super) fn done(&mut self, until: usize) {
        if until >= self.len {
            *self = Left::default();
        } else if until % CHUNK == 0 {
            self.spare = self.chunks.pop_front();
            self.gone += 1;
        }
    }
}
