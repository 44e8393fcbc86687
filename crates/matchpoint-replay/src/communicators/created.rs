//! Communicators that each rank created, in order.
//!
//! In a loop, all members create the same sequence of contexts repeatedly ([`Contexts`](super::contexts)).
//! Equal rows of contexts are stored once for all ranks, and so are equal rows of rows. Memory therefore
//! grows with the logarithm of the loop's length.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Contexts of one kind rotate with a period of `ROW` or `ROW + 1`, so few rows differ.
const ROW: usize = 64;

const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct Created {
    /// For each rank and level, the incomplete row. Level 0 has contexts; a higher level has rows of the
    /// level below.
    ranks: Vec<Vec<Vec<u32>>>,
    rows: Vec<Arc<[u32]>>,
    numbers: FxHashMap<Arc<[u32]>, u32>,
}

impl Created {
    pub fn new(ranks: usize) -> Self {
        Created { ranks: vec![Vec::new(); ranks], rows: Vec::new(), numbers: FxHashMap::default() }
    }

    pub fn push(&mut self, rank: usize, context: Option<u32>) {
        let levels = &mut self.ranks[rank];
        let mut next = context.unwrap_or(NONE);
        for level in 0.. {
            if level == levels.len() {
                levels.reserve_exact(1);
                levels.push(Vec::new());
            }
            let open = &mut levels[level];
            open.push(next);
            if open.len() < ROW {
                return;
            }
            next = intern_row(&mut self.rows, &mut self.numbers, open);
            open.clear();
        }
    }

    pub fn get(&self, rank: usize, creation: usize) -> Option<u32> {
        let mut left = creation;
        for (level, open) in self.ranks.get(rank)?.iter().enumerate().rev() {
            let each = ROW.pow(level as u32);
            if left < open.len() * each {
                return self.look_up(open, level, left);
            }
            left -= open.len() * each;
        }
        None
    }

    fn look_up(&self, row: &[u32], level: usize, at: usize) -> Option<u32> {
        let each = ROW.pow(level as u32);
        let entry = row[at / each];
        match level {
            0 => Some(entry).filter(|&context| context != NONE),
            _ => self.look_up(&self.rows[entry as usize], level - 1, at % each),
        }
    }
}

fn intern_row(rows: &mut Vec<Arc<[u32]>>, numbers: &mut FxHashMap<Arc<[u32]>, u32>, row: &[u32]) -> u32 {
    if let Some(&number) = numbers.get(row) {
        return number;
    }
    let (number, row): (u32, Arc<[u32]>) = (rows.len() as u32, row.into());
    rows.push(row.clone());
    numbers.insert(row, number);
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_rows_return_their_content() {
        const MANY: usize = 2 * ROW * ROW + 3 * ROW + 7;
        let mut created = Created::new(2);
        for creation in 0..MANY as u32 {
            created.push(0, (creation % 3 > 0).then_some(creation % 64));
            created.push(1, Some(creation % 64));
        }
        for creation in 0..MANY {
            let context = creation as u32 % 64;
            assert_eq!(created.get(0, creation), (creation % 3 > 0).then_some(context));
            assert_eq!(created.get(1, creation), Some(context));
        }
        assert_eq!((created.get(0, MANY), created.get(1, MANY + 9000)), (None, None));
        assert_eq!(created.rows.len(), 3 + 1 + 2 + 1);
    }
}
