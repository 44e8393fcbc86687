//! What each rank's creations came to, in their order.
//!
//! Codes that make and free communicators in a loop make millions. Their contexts are used again and again
//! ([`Contexts`](super::contexts)), at all members alike, so rows of them are kept once, whoever has them and how often.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::Context;

/// Creations in a row: a multiple of the number of contexts that take turns.
const ROW: usize = 1024;

/// The rank is not a member.
const NONE: Context = Context::MAX;

/// See the [module's documentation](self).
#[derive(Debug)]
pub(crate) struct Created {
    ranks: Vec<Rank>,
    rows: FxHashSet<Arc<[Context]>>,
}

#[derive(Clone, Default, Debug)]
struct Rank {
    rows: Vec<Arc<[Context]>>,
    /// The last, which is not full.
    open: Vec<Context>,
}

impl Created {
    pub fn new(ranks: usize) -> Self {
        Created { ranks: vec![Rank::default(); ranks], rows: FxHashSet::default() }
    }

    /// The next creation of a rank came to this.
    pub fn push(&mut self, rank: usize, context: Option<Context>) {
        let rank = &mut self.ranks[rank];
        rank.open.push(context.unwrap_or(NONE));
        if rank.open.len() == ROW {
            let row = self.rows.get(&rank.open[..]).cloned().unwrap_or_else(|| {
                let row: Arc<[Context]> = rank.open[..].into();
                self.rows.insert(row.clone());
                row
            });
            rank.rows.push(row);
            rank.open.clear();
        }
    }

    /// What the so-many-th creation of a rank came to; `None` as well if there are not so many.
    pub fn get(&self, rank: usize, creation: usize) -> Option<Context> {
        let rank = self.ranks.get(rank)?;
        let row = rank
            .rows
            .get(creation / ROW)
            .map_or(if creation / ROW == rank.rows.len() { &rank.open[..] } else { &[] }, |row| &row[..]);
        row.get(creation % ROW).copied().filter(|&context| context != NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_shared_and_give_back_what_was_put_in() {
        let mut created = Created::new(2);
        for creation in 0..5000u32 {
            created.push(0, (creation % 3 > 0).then_some(creation % 64));
            created.push(1, Some(creation % 64));
        }
        for creation in 0..5000 {
            let context = creation as u32 % 64;
            assert_eq!(created.get(0, creation), (creation % 3 > 0).then_some(context));
            assert_eq!(created.get(1, creation), Some(context));
        }
        assert_eq!((created.get(0, 5000), created.get(1, 9000)), (None, None));
        assert_eq!(created.rows.len(), 3 + 1);
    }
}
