//! A table with one place for each source: an array for ranks, a sorted list for addresses that no array could hold.

use crate::engine::Refused;
use crate::envelope::Rank;

/// What is kept for each source heard of. Sources below a bound index an array, which is grown to the highest of them;
/// the others are found by bisection.
#[derive(Default)]
pub(crate) struct Peers<P> {
    dense: Vec<P>,
    sparse: Vec<(Rank, P)>,
}

impl<P: Default> Peers<P> {
    /// What is kept for `source`. O(1) below the bound, O(log sources) beyond.
    #[inline]
    pub(crate) fn get(&self, source: Rank) -> Option<&P> {
        match usize::try_from(source.0).ok().and_then(|at| self.dense.get(at)) {
            None => self.find_sparse(source).ok().map(|at| &self.sparse[at].1),
            found => found,
        }
    }

    /// The same, to change.
    #[inline]
    pub(crate) fn get_mut(&mut self, source: Rank) -> Option<&mut P> {
        if usize::try_from(source.0).is_ok_and(|at| at < self.dense.len()) {
            return self.dense.get_mut(source.0 as usize);
        }
        self.find_sparse(source).ok().map(|at| &mut self.sparse[at].1)
    }

    /// What is kept for `source`, from now on if not before. `bound` is the first source kept in the list: the same in
    /// every call.
    #[inline]
    pub(crate) fn get_or_insert(&mut self, source: Rank, bound: u64) -> Result<&mut P, Refused> {
        if source.0 >= bound {
            return self.insert_sparse(source);
        }
        let at = source.0 as usize;
        if at >= self.dense.len() {
            self.grow(at + 1)?;
        }
        Ok(&mut self.dense[at])
    }

    /// All of them, in the order of the sources.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &P> {
        self.dense.iter().chain(self.sparse.iter().map(|(_, peer)| peer))
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        (self.dense.capacity() * size_of::<P>() + self.sparse.capacity() * size_of::<(Rank, P)>()) as u64
    }

    fn find_sparse(&self, source: Rank) -> Result<usize, usize> {
        self.sparse.binary_search_by_key(&source, |&(of, _)| of)
    }

    fn insert_sparse(&mut self, source: Rank) -> Result<&mut P, Refused> {
        let at = match self.find_sparse(source) {
            Ok(at) => at,
            Err(at) => {
                self.sparse.try_reserve(1).map_err(|_| Refused::Memory)?;
                self.sparse.insert(at, (source, P::default()));
                at
            }
        };
        Ok(&mut self.sparse[at].1)
    }

    #[cold]
    fn grow(&mut self, len: usize) -> Result<(), Refused> {
        self.dense.try_reserve(len - self.dense.len()).map_err(|_| Refused::Memory)?;
        self.dense.resize_with(len, P::default);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_source_takes_no_more_than_its_place() {
        let mut peers = Peers::<u8>::default();
        for source in [1 << 60, 3, u64::MAX, 64] {
            *peers.get_or_insert(Rank(source), 64).unwrap() = source as u8 | 1;
        }
        assert_eq!(peers.get(Rank(1 << 60)), Some(&1));
        assert_eq!(peers.get(Rank(2)), Some(&0), "below one that was heard of");
        assert_eq!(peers.get(Rank(63)), None);
        assert!(peers.bytes() < 256, "{} bytes", peers.bytes());
        assert_eq!(peers.iter().copied().collect::<Vec<_>>(), [0, 0, 0, 3, 65, 1, 255]);
    }
}
