//! Whom to tell that messages have arrived. Not one by one: a core delivers several at once, and one answer does for all of a
//! sender.

use std::ops::Deref;

use crate::abi::Addr;

/// Operations that an answer names: with more it would be longer than what every core injects.
const MOST: usize = 8;

/// Senders, and their operations that have come to their end.
#[derive(Default)]
pub struct Acknowledgements(Vec<(Addr, u64)>);

/// An answer to one sender: the names of operations.
pub struct Names {
    bytes: [u8; MOST * size_of::<u64>()],
    length: usize,
}

impl Names {
    /// There is room for one more; then it is there.
    fn push(&mut self, name: u64) -> bool {
        let Some((place, _)) = self.bytes[self.length..].split_first_chunk_mut() else { return false };
        *place = name.to_ne_bytes();
        self.length += size_of::<u64>();
        true
    }
}

impl Deref for Names {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Acknowledgements {
    /// Nobody is to be told.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// This operation of this sender has come to its end.
    pub fn add(&mut self, sender: Addr, operation: u64) {
        self.0.push((sender, operation));
    }

    /// The next answer, and whom it is for.
    pub fn take(&mut self) -> Option<(Addr, Names)> {
        let &(sender, _) = self.0.first()?;
        let mut names = Names { bytes: [0; MOST * size_of::<u64>()], length: 0 };
        self.0.retain(|&(of, name)| of != sender || !names.push(name));
        Some((sender, names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sender_is_told_of_its_own_in_their_order() {
        let mut all = Acknowledgements::default();
        for name in 0..20 {
            all.add(name % 2 * 7, name);
        }
        let mut told = [Vec::new(), Vec::new()];
        let mut answers = 0;
        while let Some((sender, names)) = all.take() {
            let names = names.chunks_exact(8).map(|name| u64::from_ne_bytes(name.try_into().expect("eight")));
            told[sender as usize / 7].extend(names);
            answers += 1;
        }
        assert!(all.is_empty());
        let of = |first: u64| (first..20).step_by(2).collect::<Vec<_>>();
        assert_eq!((told, answers), ([of(0), of(1)], 4), "ten of each, of which eight go at once");
    }
}
