//! A hash table from keys to queues of entries, first come first served, that grows without a pause.
//!
//! ```text
//! slots   [ pair tag id mark ]  [ – ]  [ … ▪ ]  [ pair tag id mark ]      32 bytes each, two in a cache line
//!           one entry, plain    empty     │ crowded
//!                                         ▼
//! cells                        key A, its first entry ──▶ key B, its first entry        one per key
//!                                │ first … last
//!                                ▼
//! twins                        second ⇄ third ⇄ fourth of key A                         one per entry
//! ```
//!
//! Mostly a slot holds the only entry of the only key that belongs there, and nothing else is looked at. Keys that
//! share a slot, keys with several entries, and those of sources beyond 2^32 are kept in cells instead. A key's equals
//! are in a chain of their own, so that a thousand of them do not slow a stranger down.
//!
//! **Growth.** A bucket is the upper bits of a hash, so that bucket *b* of the old table becomes buckets 2*b* and
//! 2*b* + 1 of the new one: those are appended in order, some with every call, and the length of the new table says
//! which buckets have moved. A search that looks beyond it turns to the old table.

use super::entry::{At, Cell, Head, Kind, Ref, Slot, Twin};
use super::growth::SMALLEST;
use super::key::{Key, Spot};
use super::pool::{NIL, Place, Pool};
use super::slots::{Left, Slots};
use crate::engine::Refused;

/// See the [module's documentation](self).
pub(super) struct Table {
    /// While it grows: those buckets that have moved.
    pub(super) slots: Slots,
    /// A hash is shifted so far to give a bucket.
    pub(super) shift: u32,
    /// Entries posted in the lower half, unexpected in the upper.
    pub(super) counts: u64,
    /// While it grows: the smaller table, of which only the buckets that have not moved count.
    pub(super) old: Left,
    pub(super) cells: Pool<Cell>,
    pub(super) twins: Pool<Twin>,
    /// Whether memory decides how full it gets, even while it is small.
    pub(super) is_dense: bool,
}

impl Default for Table {
    fn default() -> Self {
        Table {
            slots: Slots::default(),
            shift: u64::BITS - SMALLEST.ilog2(),
            counts: 0,
            old: Left::default(),
            cells: Pool::default(),
            twins: Pool::default(),
            is_dense: false,
        }
    }
}

/// A bucket of the table, or, with the upper bit set, of the old one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bucket(u32);

const OLD: u32 = 1 << 31;

impl Table {
    /// One beside the table that calls look at first.
    pub(super) fn dense() -> Self {
        Table { is_dense: true, ..Table::default() }
    }

    /// Entries of a kind.
    #[inline]
    pub(super) fn count(&self, kind: Kind) -> usize {
        (self.counts >> kind.shift()) as u32 as usize
    }

    /// Entries, all together.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count(Kind::Posted) + self.count(Kind::Waiting)
    }

    /// Whether buckets wait to be moved.
    #[inline]
    pub(super) fn is_growing(&self) -> bool {
        !self.old.is_empty()
    }

    /// Buckets, with those that have not moved yet.
    pub(super) fn buckets(&self) -> usize {
        1 << (u64::BITS - self.shift)
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        self.slots.bytes() + self.old.bytes() + self.cells.bytes() + self.twins.bytes()
    }

    #[inline]
    pub(super) fn bucket(&self, spot: Spot) -> Bucket {
        let index = spot.bucket(self.shift);
        if index < self.slots.len() || self.old.is_empty() {
            return Bucket(index as u32);
        }
        Bucket(spot.bucket(self.shift + 1) as u32 | OLD)
    }

    /// The slot of a bucket: an empty one if nothing was ever kept.
    #[inline]
    pub(super) fn slot(&self, bucket: Bucket) -> Slot {
        let index = (bucket.0 & !OLD) as usize;
        let slot = if bucket.0 & OLD != 0 { self.old.get(index) } else { self.slots.get(index) };
        slot.copied().unwrap_or_default()
    }

    #[inline]
    pub(super) fn slot_mut(&mut self, bucket: Bucket) -> &mut Slot {
        let index = (bucket.0 & !OLD) as usize;
        let slot = if bucket.0 & OLD != 0 { self.old.get_mut(index) } else { self.slots.get_mut(index) };
        slot.expect("a bucket that was found is there")
    }

    /// Where the queue of a key is, if it has one. Adds the keys looked at to `examined`.
    #[inline]
    pub(super) fn find(&self, key: &Key, spot: Spot, examined: &mut u64) -> Option<At> {
        let bucket = self.bucket(spot);
        let slot = self.slot(bucket);
        if slot.is_empty() {
            return None;
        }
        if !slot.is_crowded() {
            *examined += 1;
            return (slot.key() == *key).then_some(At { bucket, cell: NIL });
        }
        self.find_cell(bucket, slot.first_cell(), key, examined)
    }

    #[inline(never)]
    fn find_cell(&self, bucket: Bucket, mut at: Place, key: &Key, examined: &mut u64) -> Option<At> {
        while at != NIL {
            *examined += 1;
            let cell = self.cells.get(at);
            if cell.key == *key {
                return Some(At { bucket, cell: at });
            }
            at = cell.next;
        }
        None
    }

    /// The first entry of a queue.
    #[inline]
    pub(super) fn head(&self, at: At) -> Head {
        if at.cell == NIL { self.slot(at.bucket).head() } else { self.cells.get(at.cell).head }
    }

    /// The key of a queue.
    #[inline]
    pub(super) fn key(&self, at: At) -> Key {
        if at.cell == NIL { self.slot(at.bucket).key() } else { self.cells.get(at.cell).key }
    }

    /// Queues an entry under a key that has none of the other kind.
    #[inline]
    pub(super) fn put(&mut self, key: &Key, spot: Spot, head: Head) -> Result<Ref, Refused> {
        if self.old.is_empty() && key.high == 0 {
            if let Some(slot) = self.slots.get_mut(spot.bucket(self.shift)).filter(|slot| slot.is_empty()) {
                *slot = Slot::plain(key, head);
                self.counts += head.kind.unit();
                return Ok(Ref::inline(spot));
            }
        }
        match self.find(key, spot, &mut 0) {
            Some(at) => self.append(at, head),
            None => self.insert(key, spot, head),
        }
    }

    /// Begins a queue for a key that has none.
    pub(super) fn insert(&mut self, key: &Key, spot: Spot, head: Head) -> Result<Ref, Refused> {
        self.make_room()?;
        let bucket = self.bucket(spot);
        let slot = self.slot(bucket);
        if slot.is_empty() && key.high == 0 {
            *self.slot_mut(bucket) = Slot::plain(key, head);
        } else {
            self.cells.reserve(2)?;
            self.add_cell(bucket, Cell::new(*key, head));
        }
        self.counts += head.kind.unit();
        Ok(Ref::inline(spot))
    }

    /// Adds a cell to a bucket, and makes one of its plain entry first. Takes room for two.
    pub(super) fn add_cell(&mut self, bucket: Bucket, mut cell: Cell) -> Place {
        self.crowd(bucket);
        let slot = self.slot(bucket);
        cell.next = if slot.is_empty() { NIL } else { slot.first_cell() };
        let place = self.cells.insert(cell);
        *self.slot_mut(bucket) = Slot::crowded(place);
        place
    }

    /// Makes a cell of a plain entry. Takes room for one.
    pub(super) fn crowd(&mut self, bucket: Bucket) {
        let slot = self.slot(bucket);
        if !slot.is_empty() && !slot.is_crowded() {
            let place = self.cells.insert(Cell::new(slot.key(), slot.head()));
            *self.slot_mut(bucket) = Slot::crowded(place);
        }
    }

    /// The cell of a queue, made if it was plain. Takes room for one.
    pub(super) fn cell_of(&mut self, at: At) -> Place {
        if at.cell != NIL {
            return at.cell;
        }
        self.crowd(at.bucket);
        self.slot(at.bucket).first_cell()
    }

    /// Appends an entry to a queue.
    pub(super) fn append(&mut self, at: At, head: Head) -> Result<Ref, Refused> {
        self.twins.reserve_one()?;
        self.cells.reserve_one()?;
        let owner = self.cell_of(at);
        let prev = self.cells.get(owner).last;
        let place = self.twins.insert(Twin { id: head.id, seq: head.seq, owner, prev, next: NIL });
        let cell = self.cells.get_mut(owner);
        cell.last = place;
        if prev == NIL {
            cell.first = place;
        } else {
            self.twins.get_mut(prev).next = place;
        }
        self.counts += head.kind.unit();
        Ok(Ref::twin(place))
    }

    /// Takes the first entry of a queue.
    #[inline]
    pub(super) fn pop(&mut self, at: At) -> Head {
        let head = self.head(at);
        self.counts -= head.kind.unit();
        if at.cell == NIL {
            self.slot_mut(at.bucket).mark = 0;
        } else {
            self.pop_cell(at.bucket, at.cell);
        }
        head
    }

    fn pop_cell(&mut self, bucket: Bucket, place: Place) {
        let cell = self.cells.get_mut(place);
        if cell.own != NIL {
            self.twins.remove(cell.own);
        }
        if cell.first == NIL {
            return self.remove_cell(bucket, place);
        }
        cell.promote(&self.twins);
    }

    fn remove_cell(&mut self, bucket: Bucket, place: Place) {
        let next = self.cells.get(place).next;
        let first = self.slot(bucket).first_cell();
        if first == place {
            *self.slot_mut(bucket) = if next == NIL { Slot::default() } else { Slot::crowded(next) };
        } else {
            let mut before = first;
            while self.cells.get(before).next != place {
                before = self.cells.get(before).next;
            }
            self.cells.get_mut(before).next = next;
        }
        self.cells.remove(place);
    }

    /// Rules 2 and 3 for a key whose bucket holds something already: takes the first entry of the other kind, or
    /// queues one of this. The table is not growing.
    #[inline(always)]
    pub(super) fn meet(
        &mut self,
        index: usize,
        key: &Key,
        spot: Spot,
        head: Head,
        examined: &mut u64,
    ) -> Result<Met, Refused> {
        let bucket = Bucket(index as u32);
        let mut slot = self.slots[index];
        if !slot.is_crowded() {
            self.cells.reserve(2)?;
            self.crowd(bucket);
            slot = self.slots[index];
        }
        let mut at = slot.first_cell();
        let mut before = NIL;
        loop {
            *examined += 1;
            let cell = self.cells.get(at);
            if cell.key == *key {
                break;
            }
            (before, at) = (at, cell.next);
            if at == NIL {
                self.cells.reserve_one()?;
                let next = slot.first_cell();
                let place = self.cells.insert(Cell { next, ..Cell::new(*key, head) });
                self.slots[index] = Slot::crowded(place);
                self.counts += head.kind.unit();
                self.grow_if_full();
                return Ok(Met::Queued(Ref::inline(spot)));
            }
        }
        let cell = self.cells.get_mut(at);
        if cell.head.kind == head.kind {
            self.twins.reserve_one()?;
            let twin = Twin { id: head.id, seq: head.seq, owner: at, prev: cell.last, next: NIL };
            let place = self.twins.insert(twin);
            let last = std::mem::replace(&mut cell.last, place);
            if last == NIL {
                cell.first = place;
            } else {
                self.twins.get_mut(last).next = place;
            }
            self.counts += head.kind.unit();
            return Ok(Met::Queued(Ref::twin(place)));
        }
        let taken = cell.head.id;
        self.counts -= cell.head.kind.unit();
        if cell.own != NIL {
            self.twins.remove(cell.own);
        }
        if cell.first != NIL {
            cell.promote(&self.twins);
        } else {
            let next = cell.next;
            if before != NIL {
                self.cells.get_mut(before).next = next;
            } else if next != NIL {
                self.slots[index] = Slot::crowded(next);
            } else {
                self.slots[index].mark = 0;
            }
            self.cells.remove(at);
        }
        Ok(Met::Took(taken))
    }
}

/// What became of an entry that met a table.
pub(super) enum Met {
    /// It took the entry of this name.
    Took(u64),
    /// It waits, and this is what it is remembered by.
    Queued(Ref),
}
