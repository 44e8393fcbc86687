//! Count of messages by sender.
//!
//! A map, for few or sparse senders, takes up to 14 bytes per sender, and 18 KiB for a thousand senders. An
//! array takes four bytes per sender, or at most sixteen if three of four ranks send nothing.

use rustc_hash::FxHashMap;

const MANY: usize = 256;

const RANKS_PER_SENDER: usize = 4;

#[derive(Default)]
pub(crate) struct Peers {
    many: Vec<u32>,
    few: FxHashMap<u32, u32>,
}

impl Peers {
    #[inline]
    pub fn add(&mut self, from: u32) {
        match self.many.get_mut(from as usize) {
            Some(count) => *count += 1,
            None => self.add_to_few(from),
        }
    }

    fn add_to_few(&mut self, from: u32) {
        *self.few.entry(from).or_insert(0) += 1;
        if self.few.len() >= MANY && self.few.len().is_power_of_two() && self.few[&from] == 1 {
            self.count_by_rank();
        }
    }

    #[cold]
    fn count_by_rank(&mut self) {
        let senders = self.few.len() + self.many.iter().filter(|&&count| count > 0).count();
        let ranks = self.few.keys().max().map_or(0, |&highest| highest as usize + 1);
        if ranks <= senders * RANKS_PER_SENDER {
            let room = ranks - self.many.len();
            self.many.reserve_exact(room);
            self.many.resize(ranks, 0);
            for (from, count) in std::mem::take(&mut self.few) {
                self.many[from as usize] = count;
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + Clone {
        let many = (0..).zip(self.many.iter().copied()).filter(|&(_, count)| count > 0);
        many.chain(self.few.iter().map(|(&from, &count)| (from, count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_senders_are_counted() {
        for (stride, is_by_rank) in [(1, true), (2, true), (1000, false)] {
            let mut peers = Peers::default();
            for at in (0..3000u32).chain((0..3000).rev()).chain(0..10) {
                peers.add(at * 7 % 3000 * stride);
            }
            let mut counted: Vec<_> = peers.iter().collect();
            counted.sort_unstable();
            let counted_twice = (0..10).map(|at| at * 7 * stride).collect::<Vec<_>>();
            let expected = (0..3000).map(|at| at * stride);
            let expected: Vec<_> =
                expected.map(|from| (from, 2 + u32::from(counted_twice.contains(&from)))).collect();
            assert_eq!(counted, expected);
            assert_eq!(!peers.many.is_empty(), is_by_rank, "{stride}");
            assert!(peers.many.capacity() <= 3000 * stride as usize);
        }
    }
}
