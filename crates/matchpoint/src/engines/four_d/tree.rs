//! Tree over the four digits of a rank in base D. Three digits select branches, the last a leaf.
//!
//! ```text
//! rank 0x2A3F, D = 16     root [2] → node [A] → node [3] → leaves [F]
//! ```

use crate::engine::Refused;
use crate::envelope::Rank;
use crate::peers::Peers;

/// Digits of a rank. Four are optimal according to the paper.
const DIMENSIONS: u32 = 4;

/// No branch leads to the root, which is node 0. Arrays of leaves are numbered from 1.
const NONE: u32 = 0;

#[derive(Clone, Copy)]
pub(super) struct Dimension {
    length: u32,
    /// ⌈2⁶⁴ / D⌉, replaces three dependent divisions per lookup. The upper half of reciprocal · n is ⌊n / D⌋
    /// for all n below D⁴ ≤ 2³²: the error, n times less than D, is below 2⁶⁴ (Granlund & Montgomery 1994).
    reciprocal: u64,
}

impl Dimension {
    /// D = ⌈P^(1/4)⌉, at least 2. `ranks` is at most 2³².
    pub(super) fn for_ranks(ranks: u64) -> Self {
        let length = (2..=256u32).find(|&length| u64::from(length).pow(DIMENSIONS) >= ranks).unwrap_or(256);
        Dimension { length, reciprocal: u64::MAX / u64::from(length) + 1 }
    }

    pub(super) fn length(self) -> usize {
        self.length as usize
    }

    #[inline]
    fn split_last_digit(self, number: u64) -> (u64, usize) {
        let quotient = ((u128::from(number) * u128::from(self.reciprocal)) >> u64::BITS) as u64;
        (quotient, (number - quotient * u64::from(self.length)) as usize)
    }

    /// Digits of a source, most significant first; `None` for a source with more than four digits.
    #[inline]
    fn digits(self, source: Rank) -> Option<[usize; DIMENSIONS as usize]> {
        let source = u64::from(source.0);
        if source >= u64::from(self.length).pow(DIMENSIONS) {
            return None;
        }
        let (rest, fourth) = self.split_last_digit(source);
        let (rest, third) = self.split_last_digit(rest);
        let (first, second) = self.split_last_digit(rest);
        Some([first as usize, second, third, fourth])
    }
}

pub(super) struct Tree<P> {
    dimension: Dimension,
    /// Branches of the three upper levels, in nodes of D.
    branches: Vec<u32>,
    /// Leaves of the lowest level, in arrays of D.
    leaves: Vec<P>,
    large_sources: Peers<P>,
}

impl<P: Default> Tree<P> {
    pub(super) fn new(dimension: Dimension) -> Self {
        Tree { dimension, branches: Vec::new(), leaves: Vec::new(), large_sources: Peers::default() }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, source: Rank) -> Option<&mut P> {
        match self.dimension.digits(source) {
            Some(digits) => self.leaf_index(digits).map(|at| &mut self.leaves[at]),
            None => self.large_sources.get_mut(source),
        }
    }

    #[inline]
    fn leaf_index(&self, [first, second, third, fourth]: [usize; DIMENSIONS as usize]) -> Option<usize> {
        let leaves = self.branch(self.branch(self.branch(0, first)?, second)?, third)?;
        Some((leaves as usize - 1) * self.dimension.length() + fourth)
    }

    #[inline]
    fn branch(&self, node: u32, digit: usize) -> Option<u32> {
        let end = self.branches.get(node as usize * self.dimension.length() + digit);
        end.copied().filter(|&end| end != NONE)
    }

    #[inline]
    pub(super) fn get_or_insert(&mut self, source: Rank) -> Result<&mut P, Refused> {
        match self.dimension.digits(source) {
            Some(digits) => self.get_or_add_leaf(digits),
            None => self.large_sources.get_or_insert(source, 0),
        }
    }

    #[inline]
    fn get_or_add_leaf(&mut self, digits: [usize; DIMENSIONS as usize]) -> Result<&mut P, Refused> {
        let length = self.dimension.length();
        if self.branches.is_empty() {
            extend(&mut self.branches, length)?;
        }
        let mut node = 0;
        for digit in &digits[..2] {
            node = match self.branch(node, *digit) {
                Some(end) => end,
                None => self.add_array(node, *digit, false)?,
            };
        }
        let leaves = match self.branch(node, digits[2]) {
            Some(end) => end,
            None => self.add_array(node, digits[2], true)?,
        };
        Ok(&mut self.leaves[(leaves as usize - 1) * length + digits[3]])
    }

    /// If a later allocation fails, the empty array stays in the tree.
    #[cold]
    fn add_array(&mut self, node: u32, digit: usize, is_leaf_array: bool) -> Result<u32, Refused> {
        let length = self.dimension.length();
        let end = if is_leaf_array {
            extend(&mut self.leaves, length)? + 1
        } else {
            extend(&mut self.branches, length)?
        };
        self.branches[node as usize * length + digit] = end;
        Ok(end)
    }

    pub(super) fn bytes(&self) -> u64 {
        let arrays = self.branches.capacity() * size_of::<u32>() + self.leaves.capacity() * size_of::<P>();
        arrays as u64 + self.large_sources.bytes()
    }
}

fn extend<T: Default>(arrays: &mut Vec<T>, length: usize) -> Result<u32, Refused> {
    arrays.try_reserve(length).map_err(|_| Refused::Memory)?;
    let number = arrays.len() / length;
    arrays.resize_with(arrays.len() + length, T::default);
    Ok(number as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimension_is_fourth_root_rounded_up() {
        for (ranks, length) in [(1, 2), (16, 2), (17, 3), (4096, 8), (4097, 9), (65536, 16), (1 << 32, 256)] {
            assert_eq!(Dimension::for_ranks(ranks).length(), length, "{ranks} ranks");
        }
    }

    #[test]
    fn digits_equal_division_by_base() {
        // With base 256, every source has four digits.
        for length in (2..256u64).step_by(if cfg!(miri) { 50 } else { 1 }) {
            let dimension = Dimension::for_ranks(length.pow(4));
            let samples =
                (0..if cfg!(miri) { 50 } else { 5000 }).map(|at| at * 858_993).chain([length.pow(4) - 1]);
            for source in samples.filter(|&source| source < length.pow(4)) {
                let expected = [3, 2, 1, 0].map(|power| (source / length.pow(power) % length) as usize);
                assert_eq!(
                    dimension.digits(Rank(source as u32)),
                    Some(expected),
                    "{source} in base {length}"
                );
            }
            assert_eq!(dimension.digits(Rank(length.pow(4) as u32)), None);
        }
    }

    #[test]
    fn each_source_has_separate_leaf() {
        let mut tree = Tree::<u32>::new(Dimension::for_ranks(81));
        assert_eq!(tree.get_mut(Rank(5)), None);
        for source in (0..81).chain([u32::MAX]) {
            *tree.get_or_insert(Rank(source)).unwrap() = source;
        }
        for source in (0..81).chain([u32::MAX]) {
            assert_eq!(tree.get_mut(Rank(source)).copied(), Some(source));
        }
        assert_eq!(tree.get_mut(Rank(81)), None);
    }
}
