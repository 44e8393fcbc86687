//! Who needs what of whom, when rows of sparse matrices are spread over processes (§5).
//!
//! In a matrix-vector product the owner of a row needs the vector's elements at the row's columns; in a matrix-matrix
//! product, the second matrix's rows of these numbers. What other processes own comes in one message from each.

use crate::exchange::{Exchange, Sent};
use crate::partition::Partition;

/// Bytes of what is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// A number.
    pub value_bytes: u64,
    /// The number of a column, and the length of a row.
    pub index_bytes: u64,
}

impl Default for Sizes {
    /// Double precision, 32-bit indexes.
    fn default() -> Self {
        Sizes { value_bytes: 8, index_bytes: 4 }
    }
}

impl Sizes {
    /// An element of a vector.
    pub fn element(&self) -> u64 {
        self.value_bytes
    }

    /// A row of so many entries: its length, then columns and values.
    pub fn row(&self, entries: u32) -> u64 {
        self.index_bytes + u64::from(entries) * (self.index_bytes + self.value_bytes)
    }
}

/// Columns that processes need and do not own, gathered entry by entry. Memory is 8 bytes per such column and process,
/// times two at most.
#[derive(Clone, Debug)]
pub struct Needs {
    /// Owners of the rows of the first matrix.
    rows: Partition,
    /// Owners of what columns name.
    columns: Partition,
    /// Process and column; sorted and without repetition up to `distinct`.
    pairs: Vec<u64>,
    distinct: usize,
}

/// Pairs are looked through for repetitions at least after so many.
const LOOK_AFTER: usize = 1 << 16;

impl Needs {
    /// Of a matrix whose rows and columns are owned so.
    pub fn new(rows: Partition, columns: Partition) -> Self {
        Needs { rows, columns, pairs: Vec::new(), distinct: 0 }
    }

    /// An entry of the matrix.
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
        if self.pairs.len() >= 2 * self.distinct.max(LOOK_AFTER) {
            self.forget_repetitions();
        }
    }

    fn forget_repetitions(&mut self) {
        self.pairs.sort_unstable();
        self.pairs.dedup();
        self.distinct = self.pairs.len();
    }

    /// The messages, given how many bytes what a column names has.
    pub fn exchange(mut self, bytes_of: impl Fn(u32) -> u64) -> Exchange {
        self.forget_repetitions();
        let mut messages: Vec<Sent> = Vec::new();
        for &pair in &self.pairs {
            let (to, column) = ((pair >> 32) as u32, pair as u32);
            let (from, bytes) = (self.columns.owner(column), bytes_of(column));
            match messages.last_mut() {
                Some(last) if (last.from, last.to) == (from, to) => last.bytes += bytes,
                _ => messages.push(Sent::one(from, to, bytes)),
            }
        }
        // Owners that are listed come in any order.
        messages.sort_unstable_by_key(|message| (message.from, message.to));
        messages.dedup_by(|later, first| {
            let is_same = (first.from, first.to) == (later.from, later.to);
            first.bytes += if is_same { later.bytes } else { 0 };
            is_same
        });
        Exchange { messages }
    }
}

/// Entries of every row.
#[derive(Clone, Debug)]
pub struct RowSizes(Vec<u32>);

impl RowSizes {
    /// None yet, of so many rows.
    pub fn new(rows: u32) -> Self {
        RowSizes(vec![0; rows as usize])
    }

    /// An entry.
    pub fn entry(&mut self, row: u32) {
        self.0[row as usize] = self.0[row as usize].saturating_add(1);
    }

    /// Entries of a row.
    pub fn of(&self, row: u32) -> u32 {
        self.0[row as usize]
    }

    /// Entries of all rows.
    pub fn sum(&self) -> u64 {
        self.0.iter().map(|&entries| u64::from(entries)).sum()
    }

    /// The first row without entries, counted from 0.
    pub fn first_empty(&self) -> Option<u32> {
        self.0.iter().position(|&entries| entries == 0).map(|row| row as u32)
    }
}
