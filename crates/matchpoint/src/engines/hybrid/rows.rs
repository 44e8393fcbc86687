//! The keys of a table, in one row of slots, or in two while the table grows or shrinks.
//!
//! Each call that adds a key moves some slots of the old row, from its end on, and frees their memory. So no call takes long, and
//! none needs memory but for the new row.

use super::key::{Entry, Hashing, Key};
use super::row::{DISPLACED, NEXT, PASSED, Row, Slot};
use crate::engine::Refused;

/// Slots of the smallest row.
const LEAST: usize = 64;
/// A row grows when one key in so many slots is displaced: the smaller the row, the more room it has. Large rows have up to 0.8 keys
/// a slot. A row of more than `SMALL` slots with fewer than one key in `FULL` does not grow, so that chance decides little.
const FULL: usize = 5;
const SMALL: usize = 128;
const ROOM: [(usize, usize); 3] = [(1 << 13, 64), (1 << 16, 16), (usize::MAX, 3)];
/// The slots of a row for fewer keys are chosen with more room.
const SMALL_KEYS: usize = 1 << 14;
/// Slots that a call moves to a larger row; to a smaller one, eight times as many.
const STEP: usize = 16;
/// A row of at most this many slots moves in one call.
const SHORT: usize = 1 << 10;
/// Slots that are freed together, by a call that moves none.
const TRIM: usize = 1 << 9;
/// A row with fewer than one key in `EMPTY` slots shrinks by the factor `SHRINK`. While its slots move, at most as many keys are
/// added, so that the new row is at most half full.
const EMPTY: usize = 64;
const SHRINK: usize = 16;

/// A slot: its number in the new row, or in the old one with the bit [`OLD`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct At(u32);

const OLD: u32 = 1 << 31;

impl At {
    /// A slot of the new row.
    #[inline(always)]
    pub(super) fn new(number: usize) -> Self {
        At(number as u32)
    }
}

/// See the [module's documentation](self).
pub(super) struct Rows {
    pub(super) row: Row,
    pub(super) hashing: Hashing,
    old: Row,
    /// Slots of the old row that have not moved.
    left: usize,
    /// With more displaced keys the row grows.
    most_displaced: usize,
}

impl Rows {
    pub(super) fn new(hashing: Hashing) -> Self {
        Rows { row: Row::none(), hashing, old: Row::none(), left: 0, most_displaced: 0 }
    }

    /// Whether there are slots, and in one row only.
    #[inline(always)]
    pub(super) fn is_single(&self) -> bool {
        self.row.len() > 0 && self.old.len() == 0
    }

    /// Where a key is, and how many keys were compared.
    #[inline(always)]
    pub(super) fn find(&self, key: Key) -> (Option<At>, u64) {
        if self.is_single() {
            let slot = self.row.home_slot(self.row.home_of(self.hashing.hash(key)));
            if slot.mark == 0 {
                return (None, 0);
            }
            if slot.has(key) {
                return (Some(At::new(self.row.number(slot))), 1);
            }
        }
        self.find_slowly(key)
    }

    #[inline(never)]
    fn find_slowly(&self, key: Key) -> (Option<At>, u64) {
        let (found, compared) = self.row.find(&self.hashing, key);
        if found.is_some() || self.old.len() == 0 {
            return (found.map(At::new), compared);
        }
        let (found, more) = self.old.find(&self.hashing, key);
        (found.map(|at| At(at as u32 | OLD)), compared + more)
    }

    #[inline]
    pub(super) fn slot(&self, At(at): At) -> &Slot {
        if at & OLD == 0 { self.row.slot(at as usize) } else { self.old.slot((at & !OLD) as usize) }
    }

    #[inline]
    pub(super) fn slot_mut(&mut self, At(at): At) -> &mut Slot {
        if at & OLD == 0 { self.row.slot_mut(at as usize) } else { self.old.slot_mut((at & !OLD) as usize) }
    }

    /// All slots.
    pub(super) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.row.slots().iter().chain(self.old.slots())
    }

    /// Removes the key in a slot.
    pub(super) fn remove(&mut self, At(at): At) {
        let row = if at & OLD == 0 { &mut self.row } else { &mut self.old };
        row.remove(&self.hashing, (at & !OLD) as usize);
    }

    /// Has slots, so many that `keys` keys fit without growth, or nearly so.
    pub(super) fn begin(&mut self, keys: usize) -> Result<(), Refused> {
        if self.row.len() == 0 {
            let slots = (keys * if keys < SMALL_KEYS { 4 } else { 2 }).next_power_of_two().max(LEAST);
            self.row = Row::zeroed(slots).ok_or(Refused::Memory)?;
            self.most_displaced = most_displaced(slots);
        }
        Ok(())
    }

    /// Adds a key, which the rows do not have, with one entry in the queue of the flag. There are at most `keys` other keys. The
    /// caller has [moved some slots](Self::move_some).
    pub(super) fn insert(&mut self, key: Key, queue: u64, entry: Entry, keys: usize) -> Result<(), Refused> {
        self.begin(0)?;
        let mark = (entry.number * NEXT) | queue;
        if !self.row.insert(&self.hashing, key, entry.id, mark) {
            // Keys with chosen hashes fill a row without displacement.
            self.grow()?;
            self.row.insert(&self.hashing, key, entry.id, mark);
        } else if self.old.len() == 0
            && self.row.displaced > self.most_displaced
            && (self.row.len() <= SMALL || (keys + 1) * FULL > self.row.len())
        {
            // Without memory it stays as it is.
            _ = self.grow();
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Result<(), Refused> {
        if self.old.len() > 0 || self.row.len() >= 1 << 30 {
            return Err(Refused::Memory);
        }
        self.resize(self.row.len() * 2).ok_or(Refused::Memory)
    }

    /// Whether there are far more slots than `keys`.
    pub(super) fn is_sparse(&self, keys: usize) -> bool {
        self.row.len() > LEAST && keys * EMPTY < self.row.len()
    }

    /// Begins to shrink, if there are far more slots than `keys`.
    pub(super) fn shrink(&mut self, keys: usize) {
        self.move_some();
        if self.old.len() == 0 && self.is_sparse(keys) {
            // Without memory it stays as it is.
            _ = self.resize((self.row.len() / SHRINK).max(LEAST));
        }
        if keys == 0 && self.old.len() == 0 && self.row.len() <= LEAST {
            self.row = Row::none();
        }
    }

    /// Frees some memory of rows that are not used any more. Returns whether all is free.
    pub(super) fn free_some(&mut self) -> bool {
        let row = if self.old.len() > 0 { &mut self.old } else { &mut self.row };
        match row.len().saturating_sub(4 * TRIM) {
            0 => *row = Row::none(),
            left => row.truncate(left),
        }
        self.row.len() == 0
    }

    fn resize(&mut self, slots: usize) -> Option<()> {
        self.old = std::mem::replace(&mut self.row, Row::zeroed(slots)?);
        (self.left, self.most_displaced) = (self.old.len(), most_displaced(slots));
        while self.old.len() > 0 && self.left <= SHORT {
            self.move_slots();
        }
        Some(())
    }

    /// Moves some slots to the new row, if there are two.
    #[inline]
    pub(super) fn move_some(&mut self) {
        if self.old.len() > 0 {
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
        for at in (end..self.left).rev() {
            let slot = *self.old.slot(at);
            if slot.is_used() {
                self.old.remove(&self.hashing, at);
                let mark = slot.mark & !(PASSED | DISPLACED);
                let has_room = self.row.insert(&self.hashing, slot.key(), slot.id, mark);
                debug_assert!(has_room, "the new row has twice as many slots as keys");
            }
        }
        self.left = end;
        if end == 0 {
            self.old = Row::none();
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.row.bytes() + self.old.bytes()
    }
}

fn most_displaced(slots: usize) -> usize {
    let room = ROOM.iter().find(|(most, _)| slots <= *most).map_or(1, |(_, room)| *room);
    slots / room
}

/// Rows of tables that are not used any more. Their memory is freed in steps.
#[derive(Default)]
pub(super) struct Retired(Vec<Rows>);

impl Retired {
    pub(super) fn add(&mut self, rows: Rows) {
        if self.0.try_reserve(1).is_ok() {
            self.0.push(rows);
        }
    }

    /// Frees some memory.
    #[inline]
    pub(super) fn free_some(&mut self) {
        if self.0.last_mut().is_some_and(Rows::free_some) {
            self.0.pop();
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(Rows::bytes).sum::<u64>() + (self.0.capacity() * size_of::<Rows>()) as u64
    }
}
