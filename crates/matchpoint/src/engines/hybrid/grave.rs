//! Tables that are of no use any more, given back a few chunks with each call: all 32,000 of a million entries at once
//! took 2 to 7 ms.

use super::table::Table;

/// Chunks given back with each call.
const CHUNKS: usize = 8;

/// Bytes that are given back at once.
const SMALL: u64 = 64 << 10;

/// See the [module's documentation](self).
#[derive(Default)]
pub(super) struct Grave(Vec<Table>);

impl Grave {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let places = self.0.capacity() * size_of::<Table>();
        places as u64 + self.0.iter().map(Table::bytes).sum::<u64>()
    }

    /// Takes a table that nobody needs.
    pub(super) fn bury(&mut self, table: Table) {
        // Without memory to remember it by, it is given back at once, too.
        if table.bytes() > SMALL && self.0.try_reserve(1).is_ok() {
            self.0.push(table);
        }
    }

    /// Gives some chunks back.
    pub(super) fn tend(&mut self) {
        let Some(table) = self.0.last_mut() else { return };
        if !table.give_back(CHUNKS) {
            self.0.pop();
        }
    }
}
