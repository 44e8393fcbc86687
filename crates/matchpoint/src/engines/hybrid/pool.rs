//! Records that stay where they are, in chunks: a pool that grows never moves what it holds, so that growing costs the
//! same at a million entries as at a hundred.

use crate::engine::Refused;

/// Where a record lies in its [`Pool`].
pub(super) type Place = u32;

/// No record.
pub(super) const NIL: Place = u32::MAX;

/// Records in a chunk. The first chunk begins smaller.
const CHUNK: usize = 256;
const FIRST: usize = 32;

/// A record that can be linked to another when it is vacant.
pub(super) trait Record: Copy {
    /// Marks it vacant, and links it.
    fn vacate(&mut self, next: Place);
    /// The link of a vacant record.
    fn next_vacant(&self) -> Place;
}

pub(super) struct Pool<T> {
    chunks: Vec<Vec<T>>,
    vacant: Place,
    /// Records that could be kept without allocating.
    room: u32,
    len: u32,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { chunks: Vec::new(), vacant: NIL, room: 0, len: 0 }
    }
}

impl<T: Record> Pool<T> {
    /// Records kept.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let records: usize = match self.chunks.len() {
            0 => 0,
            chunks => self.chunks[0].capacity() + (chunks - 1) * CHUNK,
        };
        (records * size_of::<T>() + self.chunks.capacity() * size_of::<Vec<T>>()) as u64
    }

    /// Makes sure that `records` more can be kept.
    #[inline]
    pub(super) fn reserve(&mut self, records: u32) -> Result<(), Refused> {
        if self.room >= records { Ok(()) } else { self.grow(records) }
    }

    #[cold]
    fn grow(&mut self, records: u32) -> Result<(), Refused> {
        while self.room < records {
            if self.len + self.room >= NIL - CHUNK as u32 {
                return Err(Refused::Full);
            }
            self.room += self.add_room().map_err(|_| Refused::Memory)?;
        }
        Ok(())
    }

    fn add_room(&mut self) -> Result<u32, std::collections::TryReserveError> {
        if let [first] = &mut self.chunks[..] {
            let before = first.capacity();
            if before < CHUNK {
                // Everything allocated is in use or reserved: what is to be added is added to the capacity.
                let after = (2 * before).min(CHUNK);
                first.try_reserve_exact(after - first.len())?;
                return Ok((first.capacity().min(CHUNK) - before) as u32);
            }
        }
        self.chunks.try_reserve(1)?;
        let mut chunk = Vec::new();
        let records = if self.chunks.is_empty() { FIRST } else { CHUNK };
        chunk.try_reserve_exact(records)?;
        self.chunks.push(chunk);
        Ok(records as u32)
    }

    /// Keeps a record, for which there must be [room](Self::reserve).
    #[inline]
    pub(super) fn insert(&mut self, record: T) -> Place {
        self.room -= 1;
        self.len += 1;
        let at = self.vacant;
        if at != NIL {
            let kept = self.get_mut(at);
            let next = kept.next_vacant();
            *kept = record;
            self.vacant = next;
            return at;
        }
        self.append(record)
    }

    fn append(&mut self, record: T) -> Place {
        // Chunks are filled one after the other: the first that is not full has the room.
        let mut number = self.chunks.len();
        while number > 1 && self.chunks[number - 1].is_empty() && self.chunks[number - 2].len() < CHUNK {
            number -= 1;
        }
        let chunk = &mut self.chunks[number - 1];
        chunk.push(record);
        ((number - 1) * CHUNK + chunk.len() - 1) as Place
    }

    /// Gives a record back.
    #[inline]
    pub(super) fn remove(&mut self, at: Place) {
        let vacant = self.vacant;
        self.get_mut(at).vacate(vacant);
        self.vacant = at;
        self.room += 1;
        self.len -= 1;
    }

    #[inline]
    pub(super) fn get(&self, at: Place) -> &T {
        &self.chunks[at as usize / CHUNK][at as usize % CHUNK]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, at: Place) -> &mut T {
        &mut self.chunks[at as usize / CHUNK][at as usize % CHUNK]
    }
}
