//! Entries by the caller's names for them, for cancel, retract and readdress: begun when first one of these is called,
//! dropped when none is called for long.
//!
//! Entries that were there before are named a few with each call, in the order of the tables. Until all are, a name that
//! is not found is looked for among the rest, one entry after the other, and a part of these is then named at once:
//! fewer and fewer are left, so that all that is looked at so is a multiple of what is queued, however many are
//! cancelled.

use super::class::Classes;
use super::entry::{Head, Kind, Ref};
use super::grave::Dropped;
use super::growth::GROUP;
use super::key::{Hashing, Key};
use super::table::Table;
use crate::engine::Refused;

/// Entries that came and went since the last call that asked for one, before the map is dropped.
const UNUSED: usize = 4096;

/// Where a named entry is: in the table of a class (or, at `MAIN`, of those that leave nothing open), and there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    pub(super) class: u32,
    pub(super) entry: Ref,
    pub(super) seq: u64,
}

/// The class of what belongs to none.
pub(super) const MAIN: u32 = u32::MAX >> 2;

/// Of so many buckets that are looked at for a name, the entries of one are named. Naming an entry takes some fifty times
/// as long as looking at it: with fewer the longest call would take longer, with more all of them together.
const SHARE: usize = 16;

/// Buckets whose entries are named with each call: a part of a group.
pub(super) const STEP: usize = GROUP / 4;

pub(super) struct Ids {
    table: Table,
    unused: usize,
    kind: Kind,
    /// How far the entries that were there before have been named: a class, `0` for those that leave nothing open,
    /// and a bucket of its table.
    until: (usize, usize),
}

fn key(id: u64) -> Key {
    Key { pair: id, tag: 0, high: 0 }
}

/// The table of receives of a class, or that of all that leaves nothing open, by its number here.
fn table_at<'a>(number: usize, main: &'a Table, classes: &'a Classes) -> Option<(u32, &'a Table)> {
    match number.checked_sub(1) {
        None => Some((MAIN, main)),
        Some(class) => Some((class as u32, &classes.get(class)?.posted)),
    }
}

impl Ids {
    /// Names for entries of a kind, none of which is named yet.
    pub(super) fn of(kind: Kind) -> Self {
        Ids { table: Table::sparse_until(0), unused: 0, kind, until: (0, 0) }
    }

    /// Whether entries that were there before have names to get.
    pub(super) fn is_behind(&self, classes: &Classes) -> bool {
        self.until.0 < self.tables(classes)
    }

    /// Whether the entries of a group are being named, which must not be divided before all are.
    pub(super) fn is_within_group(&self) -> bool {
        self.until.1 % GROUP != 0
    }

    fn tables(&self, classes: &Classes) -> usize {
        if self.kind == Kind::Posted { 1 + classes.len() } else { 1 }
    }

    /// Names the entries in so many buckets, from one table to the next. Without memory they stay nameless for now.
    pub(super) fn catch_up(
        &mut self,
        mut buckets: usize,
        main: &Table,
        classes: &Classes,
        hashing: &Hashing,
    ) {
        while buckets > 0 && self.is_behind(classes) {
            let (number, from) = self.until;
            let Some((class, table)) = table_at(number, main, classes) else { return };
            for (of, head, entry) in table.entries_near(from, buckets) {
                let entry = if entry == Ref::UNPLACED { Ref::inline(hashing.spot(&of)) } else { entry };
                let named = Named { class, entry, seq: head.seq };
                if head.kind == self.kind && self.note(classes.id(class, head), named, hashing).is_err() {
                    return;
                }
            }
            let left = table.slots.len().saturating_sub(from);
            self.until = if buckets >= left { (number + 1, 0) } else { (number, from + buckets) };
            // A table that is empty is a step, too.
            buckets = buckets.saturating_sub(left.max(1));
        }
    }

    /// Where the entry of that name is, if it is among those that have none here yet.
    fn search(&mut self, id: u64, main: &Table, classes: &Classes, hashing: &Hashing) -> Option<Named> {
        let (first, mut from) = self.until;
        // Whole groups: a key may change its slot in one.
        let tables = (first..self.tables(classes)).filter_map(|number| table_at(number, main, classes));
        let left = tables.map(|(_, table)| table.slots.len().max(1)).sum::<usize>().saturating_sub(from);
        let share = (left / SHARE).next_multiple_of(GROUP).max(GROUP);
        let mut found = None;
        for number in first..self.tables(classes) {
            let (class, table) = table_at(number, main, classes)?;
            let entry = if classes.is_shared(class) {
                let is_it = |&(_, head, _): &(Key, Head, Ref)| classes.id(class, head) == id;
                table.entries_from(from).find(is_it)
            } else {
                table.entry_called(id, self.kind, from)
            };
            if let Some((of, Head { seq, .. }, entry)) = entry {
                let entry = if entry == Ref::UNPLACED { Ref::inline(hashing.spot(&of)) } else { entry };
                found = Some(Named { class, entry, seq });
                break;
            }
            from = 0;
        }
        self.catch_up(share, main, classes, hashing);
        found
    }

    pub(super) fn into_table(self) -> Table {
        self.table
    }

    pub(super) fn bytes(&self) -> u64 {
        self.table.bytes()
    }

    pub(super) fn insert(&mut self, id: u64, named: Named, hashing: &Hashing) -> Result<(), Refused> {
        self.unused += 1;
        self.add(id, named, hashing)
    }

    /// Names an entry that was there before, if it has no name yet.
    pub(super) fn note(&mut self, id: u64, named: Named, hashing: &Hashing) -> Result<(), Refused> {
        let is_noted = self.table.find(&key(id), hashing.spot(&key(id)), &mut 0).is_some();
        if is_noted { Ok(()) } else { self.add(id, named, hashing) }
    }

    fn add(&mut self, id: u64, named: Named, hashing: &Hashing) -> Result<(), Refused> {
        self.table.tend(hashing);
        let value = u64::from(named.class) << 33 | named.entry.0;
        let head = Head { kind: Kind::Posted, seq: named.seq, id: value };
        self.table.insert(&key(id), hashing.spot(&key(id)), head)?;
        Ok(())
    }

    /// Whether it is worth keeping up: begun anew, it has to go through all `slots`.
    pub(super) fn is_wanted(&self, slots: usize) -> bool {
        self.unused < usize::max(UNUSED, 4 * slots)
    }

    /// Where the entry of that name is.
    pub(super) fn get(
        &mut self,
        id: u64,
        main: &Table,
        classes: &Classes,
        hashing: &Hashing,
    ) -> Option<Named> {
        self.unused = 0;
        let Some(at) = self.table.find(&key(id), hashing.spot(&key(id)), &mut 0) else {
            return self.search(id, main, classes, hashing);
        };
        let Head { seq, id: value, .. } = self.table.head(at);
        Some(Named { class: (value >> 33) as u32, entry: Ref(value & ((1 << 33) - 1)), seq })
    }

    pub(super) fn remove(&mut self, id: u64, hashing: &Hashing) {
        self.table.tend(hashing);
        if let Some(at) = self.table.find(&key(id), hashing.spot(&key(id)), &mut 0) {
            self.table.pop(at);
        }
    }
}
