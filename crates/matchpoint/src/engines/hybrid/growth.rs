//! How tables grow and shrink: while they do, their keys are in two rows of slots.
//!
//! Each call that adds a key moves some slots of the old row, from its end on, or frees their memory. So no call takes long, and
//! none needs memory but for the new row.

use super::duplicates::Duplicates;
use super::key::{Entry, Hashing, Key};
use super::row::{DISPLACED, NEXT, PASSED, Row, Slot};
use super::table::Table;
use crate::engine::Refused;

/// Slots of the smallest row.
const LEAST: usize = 64;
/// A row grows when one key in so many slots is displaced: the smaller the row, the more room it has. Large rows have up to 0.8 keys
/// a slot. A row of more than `SMALL` slots with fewer than one entry in `FULL` does not grow, so that chance decides little.
const FULL: usize = 5;
const SMALL: usize = 128;
const ROOM: [(usize, usize); 3] = [(1 << 13, 64), (1 << 16, 16), (usize::MAX, 3)];
/// The slots of a row for fewer keys are chosen with more room.
const SMALL_KEYS: usize = 1 << 14;
/// Slots that a call moves to a larger row; to a smaller one, eight times as many.
const STEP: usize = 12;
/// A row of at most this many slots moves in one call.
const SHORT: usize = 1 << 10;
/// Slots that are freed together, by a call that moves none.
const TRIM: usize = 1 << 9;
/// A row with fewer than one key in `EMPTY` slots shrinks by the factor `SHRINK`. While its slots move, at most as many keys are
/// added, so that the new row is at most half full.
const EMPTY: usize = 64;
const SHRINK: usize = 16;

impl Table {
    /// An empty table with room for `keys` keys, if there is memory.
    pub(super) fn with_room(hashing: Hashing, keys: usize) -> Self {
        let mut table = Table::new(hashing);
        _ = table.begin(keys);
        table
    }

    /// Number of slots.
    pub(super) fn slots_len(&self) -> usize {
        self.row.len()
    }

    /// All slots.
    pub(super) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.row.slots().iter().chain(self.old.slots())
    }

    /// Has slots, so many that `keys` keys fit without growth, or nearly so.
    pub(super) fn begin(&mut self, keys: usize) -> Result<(), Refused> {
        if self.row.is_none() {
            let slots = (keys * if keys < SMALL_KEYS { 4 } else { 2 }).next_power_of_two().max(LEAST);
            self.row = Row::zeroed(slots).ok_or(Refused::Memory)?;
            self.most_displaced = most_displaced(slots);
        }
        Ok(())
    }

    /// Makes room for so many keys: no call that adds one of them needs memory.
    pub(super) fn reserve(&mut self, keys: usize) -> Result<(), Refused> {
        self.begin(keys)?;
        self.move_all();
        if self.row.len() < 2 * keys {
            self.resize((2 * keys).next_power_of_two()).ok_or(Refused::Memory)?;
        }
        self.move_all();
        Ok(())
    }

    fn move_all(&mut self) {
        while !self.old.is_none() {
            self.move_slots();
        }
    }

    /// Adds a key, which the table does not have, with one entry. The caller has [moved some slots](Self::move_some).
    pub(super) fn insert(&mut self, key: Key, queue: u64, entry: Entry) -> Result<(), Refused> {
        self.begin(0)?;
        let (hash, mark) = (self.hash(key), (entry.number * NEXT) | queue);
        if !self.row.insert(key, hash, entry.id, mark) {
            // Keys with chosen hashes fill a row without displacement.
            self.grow()?;
            self.row.insert(key, hash, entry.id, mark);
        } else if self.old.is_none()
            && self.row.displaced > self.most_displaced
            && (self.row.len() <= SMALL || self.len * FULL >= self.row.len())
        {
            // Without memory it stays as it is.
            _ = self.grow();
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Result<(), Refused> {
        if !self.old.is_none() || self.row.len() >= 1 << 30 {
            return Err(Refused::Memory);
        }
        self.resize(self.row.len() * 2).ok_or(Refused::Memory)
    }

    /// Whether there are far more slots than `keys`.
    pub(super) fn is_sparse(&self, keys: usize) -> bool {
        self.row.len() > LEAST && keys * EMPTY < self.row.len()
    }

    /// Frees memory that was not needed since the last call, and begins to shrink if there are far more slots than `keys`.
    pub(super) fn shrink(&mut self, keys: usize) {
        self.duplicates.give_back(keys);
        self.move_some();
        if self.old.is_none() && self.is_sparse(keys) {
            // Without memory it stays as it is.
            _ = self.resize((self.row.len() / SHRINK).max(LEAST));
        }
        if keys == 0 && self.old.is_none() && self.row.len() <= LEAST {
            self.row = Row::none();
        }
    }

    /// Frees some memory of a table that is not used any more. Returns whether all is free.
    fn free_some(&mut self) -> bool {
        let row = if self.old.is_none() { &mut self.row } else { &mut self.old };
        match row.len().saturating_sub(4 * TRIM) {
            0 => *row = Row::none(),
            left => row.truncate(left),
        }
        self.row.is_none()
    }

    fn resize(&mut self, slots: usize) -> Option<()> {
        self.old = std::mem::replace(&mut self.row, Row::zeroed(slots)?);
        (self.left, self.most_displaced) = (self.old.len(), most_displaced(slots));
        while !self.old.is_none() && self.left <= SHORT {
            self.move_slots();
        }
        Some(())
    }

    /// Moves some slots to the new row, if there are two.
    #[inline]
    pub(super) fn move_some(&mut self) {
        if !self.old.is_none() {
            self.move_slots();
        }
    }

    #[cold]
    #[inline(never)]
    fn move_slots(&mut self) {
        if self.old.len() - self.left >= TRIM {
            return self.old.truncate(self.left);
        }
        let step = if self.row.len() < self.old.len() { 8 * STEP } else { STEP };
        let end = self.left.saturating_sub(step);
        for nth in (end..self.left).rev() {
            let at = self.old.nth(nth);
            let slot = *self.old.slot(at);
            if slot.is_used() {
                let hash = self.hash(slot.key());
                self.old.remove(at, hash);
                let has_room = self.row.insert(slot.key(), hash, slot.id, slot.mark & !(PASSED | DISPLACED));
                debug_assert!(has_room, "the new row has twice as many slots as keys");
            }
        }
        self.left = end;
        if end == 0 {
            self.old = Row::none();
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.row.bytes() + self.old.bytes() + self.duplicates.bytes()
    }
}

fn most_displaced(slots: usize) -> usize {
    let room = ROOM.iter().find(|(most, _)| slots <= *most).map_or(1, |(_, room)| *room);
    slots / room
}

/// Tables that are not used any more. Their memory is freed in steps.
#[derive(Default)]
pub(super) struct Retired(Vec<Table>);

impl Retired {
    pub(super) fn add(&mut self, mut table: Table) {
        table.duplicates = Duplicates::default();
        if self.0.try_reserve(1).is_ok() {
            self.0.push(table);
        }
    }

    /// Frees some memory.
    #[inline]
    pub(super) fn free_some(&mut self) {
        if self.0.last_mut().is_some_and(Table::free_some) {
            self.0.pop();
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(Table::bytes).sum::<u64>() + (self.0.capacity() * size_of::<Table>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::POSTED;
    use super::*;

    /// Each key is in the slot where it belongs, so no displaced key makes the row grow before it is full.
    #[test]
    fn full_row_grows_for_next_key() {
        let mut table = Table::new(Hashing::of_seed(1));
        table.begin(0).unwrap();
        let mut keys: Vec<Key> = Vec::new();
        let mut tag = 0;
        while keys.len() < LEAST + 1 {
            let key = Key { pair: 1, tag };
            let is_free = table.slot(table.home(table.hash(key))).mark == 0;
            if keys.len() == LEAST || is_free {
                table.insert(key, POSTED, Entry { id: tag, number: tag }).unwrap();
                keys.push(key);
            }
            tag += 1;
        }
        assert!(table.slots_len() > LEAST);
        assert!(keys.iter().all(|&key| table.find(key).0.is_some()));
    }
}
