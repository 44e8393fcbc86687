//! Records that stay where they are, in chunks: a pool that grows never moves what it holds, so that growing costs the
//! same at a million entries as at a hundred.

use crate::engine::Refused;

/// Where a record lies in its [`Pool`].
pub(super) type Place = u32;

/// No record.
pub(super) const NIL: Place = u32::MAX;

/// Records in a chunk, unless there are fewer: a number that the compiler knows, so that only the chunk is checked, not the
/// place in it. Of so many, the largest record makes 2 KiB, so that the call which adds a chunk touches one page that was never
/// touched before (1.2 µs each on a virtual machine), not two.
const RECORDS: usize = 32;

/// Records that there can be: the log keeps places in 31 bits.
pub(super) const MOST: usize = (1 << 31) - RECORDS;

/// A record that can be linked to another when it is vacant.
pub(super) trait Record: Copy {
    /// Records that there can be.
    const MOST: usize = MOST;
    /// A vacant one, linked to the next.
    fn vacant(next: Place) -> Self;
    /// Makes it vacant, linked to the next.
    #[inline]
    fn vacate(&mut self, next: Place) {
        *self = Self::vacant(next);
    }
    /// The link of a vacant record.
    fn next_vacant(&self) -> Place;
}

/// Vacant places are used again last first; but when all are vacant, in the order of memory: what many took out in
/// another order than it came in would leave a chain through memory that each insertion has to follow, at a cache miss
/// each (`gather_one_tag`: 170 ns instead of 30).
pub(super) struct Pool<T, const CHUNK: usize = RECORDS> {
    chunks: Vec<Box<[T; CHUNK]>>,
    vacant: Place,
    /// Places from here on were never used since all were vacant.
    fresh: Place,
    len: u32,
}

impl<T, const CHUNK: usize> Default for Pool<T, CHUNK> {
    fn default() -> Self {
        Pool { chunks: Vec::new(), vacant: NIL, fresh: 0, len: 0 }
    }
}

impl<T: Record, const CHUNK: usize> Pool<T, CHUNK> {
    /// Records kept.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let chunks = self.chunks.len() * size_of::<[T; CHUNK]>();
        (chunks + self.chunks.capacity() * size_of::<Box<[T; CHUNK]>>()) as u64
    }

    /// Gives a chunk back, of records that nobody uses any more. False: there is none.
    pub(super) fn give_back(&mut self) -> bool {
        self.chunks.pop().is_some()
    }

    /// Whether one more record can be kept without allocating.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.vacant != NIL || self.fresh as usize / CHUNK < self.chunks.len()
    }

    /// Makes sure that one more record can be kept.
    #[inline]
    pub(super) fn reserve_one(&mut self) -> Result<(), Refused> {
        if self.has_room() { Ok(()) } else { self.grow() }
    }

    /// Makes sure that so many more records can be kept.
    #[inline]
    pub(super) fn reserve(&mut self, records: usize) -> Result<(), Refused> {
        while !self.has_room_for(records) {
            self.grow()?;
        }
        Ok(())
    }

    /// Whether so many more records can be kept without allocating.
    #[inline]
    pub(super) fn has_room_for(&self, records: usize) -> bool {
        self.chunks.len() * CHUNK >= self.len() + records
    }

    /// Makes room for a chunk of them.
    #[cold]
    pub(super) fn grow(&mut self) -> Result<(), Refused> {
        if (self.chunks.len() + 1) * CHUNK > T::MOST {
            return Err(Refused::Full);
        }
        self.chunks.try_reserve(1).map_err(|_| Refused::Memory)?;
        let mut chunk = Vec::new();
        chunk.try_reserve_exact(CHUNK).map_err(|_| Refused::Memory)?;
        chunk.resize(CHUNK, T::vacant(NIL));
        if let Ok(chunk) = chunk.into_boxed_slice().try_into() {
            self.chunks.push(chunk);
        }
        Ok(())
    }

    /// Keeps a record, for which there must be [room](Self::reserve).
    #[inline(always)]
    pub(super) fn insert(&mut self, record: T) -> Place {
        self.len += 1;
        let at = self.vacant;
        if at == NIL {
            let at = self.fresh;
            self.fresh += 1;
            *self.get_mut(at) = record;
            return at;
        }
        let kept = self.get_mut(at);
        let next = kept.next_vacant();
        *kept = record;
        self.vacant = next;
        at
    }

    /// A vacant place, for which there must be [room](Self::reserve), and which is no longer vacant: what lies there is as it was
    /// when it was [made vacant](Record::vacate).
    #[inline(always)]
    pub(super) fn take(&mut self) -> Place {
        self.len += 1;
        let at = self.vacant;
        if at == NIL {
            self.fresh += 1;
            return self.fresh - 1;
        }
        self.vacant = self.get(at).next_vacant();
        at
    }

    /// Gives a record back.
    #[inline(always)]
    pub(super) fn remove(&mut self, at: Place) {
        let vacant = self.vacant;
        self.get_mut(at).vacate(vacant);
        self.vacant = at;
        self.len -= 1;
        if self.len == 0 {
            (self.vacant, self.fresh) = (NIL, 0);
        }
    }

    /// Places that there are, vacant ones too.
    pub(super) fn places(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    /// The records from a place on, vacant ones too, in the order of memory.
    pub(super) fn since(&self, from: usize) -> impl Iterator<Item = (Place, &T)> {
        let chunks = self.chunks.get(from / CHUNK..).unwrap_or_default();
        let first = (from / CHUNK * CHUNK) as Place;
        (first..).zip(chunks.iter().flat_map(|chunk| chunk.iter())).skip(from % CHUNK)
    }

    /// The record at a place, vacant or not, if there is that place.
    pub(super) fn find(&self, at: Place) -> Option<&T> {
        self.chunks.get(at as usize / CHUNK).map(|chunk| &chunk[at as usize % CHUNK])
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

#[cfg(test)]
mod tests {
    use super::*;

    impl Record for Place {
        fn vacant(next: Place) -> Self {
            next
        }

        fn next_vacant(&self) -> Place {
            *self
        }
    }

    #[test]
    fn records_stay_where_they_are() {
        let mut pool = Pool::<Place>::default();
        let places: Vec<_> = (0..1000)
            .map(|record| {
                pool.reserve_one().unwrap();
                pool.insert(record + 7)
            })
            .collect();
        for (record, &place) in (0..).zip(&places) {
            assert_eq!(*pool.get(place), record + 7);
        }
        let bytes = pool.bytes();
        places.iter().for_each(|&place| pool.remove(place));
        assert_eq!(pool.len(), 0);
        pool.reserve(1000).unwrap();
        let again: Vec<_> = (0..1000).map(|record| pool.insert(record)).collect();
        assert_eq!(pool.bytes(), bytes, "vacant places are used first");
        assert_eq!(again, places, "in the order of memory, since all were vacant");
    }
}
