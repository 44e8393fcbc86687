//! Entries by the caller's names for them, for cancel, retract and readdress: made when first one of these is called,
//! dropped when none is called for long.

use super::entry::{Head, Kind, Ref};
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

pub(super) struct Ids {
    table: Table,
    unused: usize,
}

fn key(id: u64) -> Key {
    Key { pair: id, tag: 0, high: 0 }
}

impl Ids {
    /// The names of `entries`, of which there are `len`.
    pub(super) fn of(
        len: usize,
        entries: impl Iterator<Item = (u64, Named)>,
        hashing: &Hashing,
    ) -> Result<Self, Refused> {
        let mut ids = Ids { table: Table::for_keys(len)?, unused: 0 };
        for (id, named) in entries {
            ids.insert(id, named, hashing)?;
        }
        Ok(ids)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.table.bytes()
    }

    pub(super) fn insert(&mut self, id: u64, named: Named, hashing: &Hashing) -> Result<(), Refused> {
        self.unused += 1;
        self.table.tend(hashing);
        let value = u64::from(named.class) << 33 | named.entry.0;
        self.table.insert(
            &key(id),
            hashing.spot(&key(id)),
            Head { kind: Kind::Posted, seq: named.seq, id: value },
        )?;
        Ok(())
    }

    /// Whether it is worth keeping up.
    pub(super) fn is_wanted(&self) -> bool {
        self.unused < usize::max(UNUSED, 4 * self.table.len())
    }

    /// Where the entry of that name is.
    pub(super) fn get(&mut self, id: u64, hashing: &Hashing) -> Option<Named> {
        self.unused = 0;
        let at = self.table.find(&key(id), hashing.spot(&key(id)), &mut 0)?;
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
