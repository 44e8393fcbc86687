//! Growth and shrinking of tables. During both, the keys of a table are in two rows of slots.
//!
//! Each call that adds a key moves some slots of the old row, from the end of the row on, or frees memory of
//! the row. So no call takes long, and only the new row needs an allocation.

use super::key::{Entry, Key};
use super::row::{DISPLACED, NEXT, PASSED, Row};
use super::table::Table;
use crate::engine::Refused;

/// Number of slots of the smallest row (`LEAST`) and of the largest row (`MOST`).
const LEAST: usize = 64;
const MOST: usize = 1 << 30;
/// A row grows when one key in `room` slots is displaced, see `ROOM`; small rows have more free slots. Large
/// rows have up to 0.8 keys a slot. A row of more than `SMALL` slots with less than one entry in `FULL` slots
/// does not grow, so that a few chance collisions do not cause growth.
const FULL: usize = 5;
const SMALL: usize = 128;
const ROOM: [(usize, usize); 3] = [(1 << 13, 64), (1 << 16, 16), (usize::MAX, 3)];
/// Slots that a call moves to a larger row. A call moves eight times as many slots to a smaller row.
const STEP: usize = 12;
/// A row of at most this many slots moves in one call.
const SHORT: usize = 1 << 10;
/// Slots that are freed together, by a call that moves no slot.
const TRIM: usize = 1 << 9;
/// `FREED`: slots of a retired row that are freed together. `RETIRED`: maximum number of retired rows.
const FREED: usize = 1 << 13;
const RETIRED: usize = 16;
/// Slots in a page of memory.
const PAGE: usize = 128;
/// A row with less than one key in `EMPTY` slots shrinks by the factor `SHRINK`. While slots move, calls add
/// at most as many keys as the row had, so the new row is at most half full.
const EMPTY: usize = 64;
const SHRINK: usize = 16;

impl Table {
    /// Allocates the first row of an empty table.
    pub(super) fn begin(&mut self) -> Result<(), Refused> {
        if self.row.is_none() { self.resize(LEAST) } else { Ok(()) }
    }

    /// Reserves slots for `keys` keys: no call that adds these keys needs memory.
    pub(super) fn reserve(&mut self, keys: usize) -> Result<(), Refused> {
        let slots = (2 * keys).next_power_of_two().max(LEAST);
        if self.row.len() < slots {
            self.resize(slots)?;
        }
        self.finish_move(usize::MAX);
        Ok(())
    }

    /// Writes to each page of `count` slots from `first` on. The operating system provides a page at its first use.
    pub(super) fn touch(&mut self, first: usize, count: usize) {
        for nth in (first..self.row.len().min(first + count)).step_by(PAGE) {
            let slot = self.row.slot_mut(self.row.nth(nth));
            slot.mark = std::hint::black_box(slot.mark);
        }
    }

    /// Moves all slots to the new row, if at most `most` slots are left to move.
    fn finish_move(&mut self, most: usize) {
        while !self.old.is_none() && self.left <= most {
            self.move_slots();
        }
    }

    /// Adds a new key with one entry to a table with `len` entries. The caller has already called
    /// [`move_some`](Self::move_some).
    pub(super) fn insert(&mut self, key: Key, queue: u64, entry: Entry, len: usize) -> Result<(), Refused> {
        self.begin()?;
        let (hash, mark) = (self.hashing.hash(key), (entry.number * NEXT) | queue);
        if !self.row.insert(key, hash, entry.id, mark) {
            // The row is full: an attacker can choose keys that fill a row without displacement. During a
            // move the row always has free slots.
            debug_assert!(self.old.is_none());
            self.resize(self.row.len() * 2)?;
            self.row.insert(key, hash, entry.id, mark);
        } else if self.old.is_none()
            && self.row.displaced > self.most_displaced
            && (self.row.len() <= SMALL || len * FULL >= self.row.len())
        {
            // After a failed allocation the row keeps its size.
            _ = self.resize(self.row.len() * 2);
        }
        Ok(())
    }

    /// True if the table has many more slots than `keys` keys need.
    pub(super) fn is_sparse(&self, keys: usize) -> bool {
        self.row.len() > LEAST && keys * EMPTY < self.row.len()
    }

    /// Begins to shrink a table with many more slots than `keys` keys need.
    pub(super) fn shrink(&mut self, keys: usize) {
        self.move_some();
        if self.old.is_none() && self.is_sparse(keys) {
            // After a failed allocation the row keeps its size.
            _ = self.resize((self.row.len() / SHRINK).max(LEAST));
        }
    }

    #[cold]
    fn resize(&mut self, slots: usize) -> Result<(), Refused> {
        self.finish_move(usize::MAX);
        let row = if slots <= MOST { Row::zeroed(slots) } else { None };
        self.old = std::mem::replace(&mut self.row, row.ok_or(Refused::Memory)?);
        self.left = self.old.len();
        self.most_displaced =
            slots / ROOM.iter().find(|(most, _)| slots <= *most).map_or(1, |(_, room)| *room);
        self.finish_move(SHORT);
        Ok(())
    }

    /// Moves some slots from the old row to the new row, if an old row exists.
    pub(super) fn move_some(&mut self) {
        if !self.old.is_none() {
            self.move_slots();
        }
    }

    #[cold]
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
                let hash = self.hashing.hash(slot.key());
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

/// Rows that are no longer used. Each call of [`free_some`](Self::free_some) frees a part of their memory.
#[derive(Default)]
pub(super) struct Retired(Vec<Row>);

impl Retired {
    pub(super) fn add(&mut self, table: Table) {
        // With many retired rows, or after a failed allocation, the rows are freed immediately.
        if self.0.len() < RETIRED && self.0.try_reserve(2).is_ok() {
            self.0.extend([table.row, table.old]);
        }
    }

    /// Frees the memory of up to `FREED` slots.
    pub(super) fn free_some(&mut self) {
        match self.0.last_mut() {
            Some(row) if row.len() > FREED => row.truncate(row.len() - FREED),
            _ => _ = self.0.pop(),
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(Row::bytes).sum::<u64>() + (self.0.capacity() * size_of::<Row>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::Hashing;
    use super::super::row::POSTED;
    use super::*;

    /// Each key is in its home slot, so no displaced key makes the row grow before the row is full.
    #[test]
    fn full_row_grows_for_next_key() {
        let mut table = Table::new(Hashing::of_seed(1));
        table.begin().unwrap();
        let mut keys: Vec<Key> = Vec::new();
        let mut tag = 0;
        while keys.len() < LEAST + 1 {
            let key = Key { pair: 1, tag };
            let is_free = table.row.slot(table.row.home(table.hashing.hash(key))).mark == 0;
            if keys.len() == LEAST || is_free {
                table.insert(key, POSTED, Entry { id: tag, number: tag }, keys.len()).unwrap();
                keys.push(key);
            }
            tag += 1;
        }
        assert!(table.row.len() > LEAST);
        assert!(keys.iter().all(|&key| table.find(key).0.is_some()));
    }
}
