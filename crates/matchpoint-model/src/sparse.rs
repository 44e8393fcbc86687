//! Messages of sparse matrix products with distributed rows (§5).
//!
//! In a matrix-vector product, the owner of a row needs the vector's elements of the row's columns. In a
//! matrix-matrix product, the owner needs the rows of the second matrix for these columns. Each other owner
//! sends its elements or rows in one message.

use crate::exchange::{Exchange, Sent};
use crate::partition::Partition;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    pub value_bytes: u64,
    /// Bytes of a column index, and of a row length.
    pub index_bytes: u64,
}

impl Default for Sizes {
    /// Double precision and 32-bit indexes.
    fn default() -> Self {
        Sizes { value_bytes: 8, index_bytes: 4 }
    }
}

impl Sizes {
    pub fn element(&self) -> u64 {
        self.value_bytes
    }

    pub fn row(&self, entries: u32) -> u64 {
        self.index_bytes + u64::from(entries) * (self.index_bytes + self.value_bytes)
    }
}

/// Columns that processes need and do not own: at most 16 bytes per column and process.
#[derive(Clone, Debug)]
pub struct Needs {
    rows: Partition,
    columns: Partition,
    /// Process and column in one word; sorted and distinct up to `distinct`.
    pairs: Vec<u64>,
    distinct: usize,
}

/// Minimum number of new pairs before duplicates are removed.
const NEW_PAIRS_MIN: usize = 1 << 16;

impl Needs {
    pub fn new(rows: Partition, columns: Partition) -> Self {
        Needs { rows, columns, pairs: Vec::new(), distinct: 0 }
    }

    pub fn entry(&mut self, row: u32, column: u32) {
        let process = self.rows.owner(row);
        if process == self.columns.owner(column) {
            return;
        }
        let pair = (u64::from(process) << 32) | u64::from(column);
        if self.pairs.last() == Some(&pair) {
            return;
        }
        self.pairs.push(pair);
        if self.pairs.len() >= 2 * self.distinct.max(NEW_PAIRS_MIN) {
            self.remove_duplicates();
        }
    }

    fn remove_duplicates(&mut self) {
        self.pairs.sort_unstable();
        self.pairs.dedup();
        self.distinct = self.pairs.len();
    }

    /// Messages for the needed columns. `bytes_of` returns the bytes for a column.
    pub fn exchange(mut self, bytes_of: impl Fn(u32) -> u64) -> Exchange {
        self.remove_duplicates();
        let mut messages: Vec<Sent> = Vec::new();
        for &pair in &self.pairs {
            let (to, column) = ((pair >> 32) as u32, pair as u32);
            let (from, bytes) = (self.columns.owner(column), bytes_of(column));
            match messages.last_mut() {
                Some(last) if (last.from, last.to) == (from, to) => last.bytes += bytes,
                _ => messages.push(Sent::one(from, to, bytes)),
            }
        }
        // With a list of owners, the messages are not yet in order.
        messages.sort_unstable_by_key(|message| (message.from, message.to));
        messages.dedup_by(|later, first| {
            let is_same = (first.from, first.to) == (later.from, later.to);
            first.bytes += if is_same { later.bytes } else { 0 };
            is_same
        });
        Exchange { messages }
    }
}

#[derive(Clone, Debug)]
pub struct RowSizes(Vec<u32>);

impl RowSizes {
    pub fn new(rows: u32) -> Self {
        RowSizes(vec![0; rows as usize])
    }

    pub fn entry(&mut self, row: u32) {
        self.0[row as usize] = self.0[row as usize].saturating_add(1);
    }

    pub fn of(&self, row: u32) -> u32 {
        self.0[row as usize]
    }

    pub fn sum(&self) -> u64 {
        self.0.iter().map(|&entries| u64::from(entries)).sum()
    }

    /// The first row without entries, from 0.
    pub fn first_empty(&self) -> Option<u32> {
        self.0.iter().position(|&entries| entries == 0).map(|row| row as u32)
    }
}
