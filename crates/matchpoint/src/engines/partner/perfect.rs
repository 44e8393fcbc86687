//! Perfect hashes over the keys of the partners: the static approach knows them before anything is queued.
//!
//! Both give, for any key, the one partner that can have it; who asks compares that partner with the key.

use phf_generator::generate_hash;

use crate::chains::NIL;

/// A perfect hash of keys, which are numbered in the order they are given.
pub(super) enum Perfect {
    Phf(Phf),
    Displacement(Displacement),
}

impl Perfect {
    /// The number of the only key that `key` can be equal to.
    #[inline]
    pub fn find(&self, key: u64) -> Option<u32> {
        match self {
            Perfect::Phf(phf) => phf.find(key),
            Perfect::Displacement(displacement) => displacement.find(key),
        }
    }

    pub fn bytes(&self) -> u64 {
        match self {
            Perfect::Phf(phf) => (size_of_val(&*phf.displacements) + size_of_val(&*phf.slots)) as u64,
            Perfect::Displacement(of) => (size_of_val(&*of.shifts) + size_of_val(&*of.slots)) as u64,
        }
    }
}

/// Compress, hash and displace (Belazzougui, Botelho & Dietzfelbinger 2009), by the `phf` crates: minimal, so its size
/// is that of the keys, however far apart they are. Its hash is SipHash-1-3.
pub(super) struct Phf {
    seed: u64,
    displacements: Box<[(u32, u32)]>,
    slots: Box<[u32]>,
}

impl Phf {
    /// Of distinct keys.
    pub fn new(keys: &[u64]) -> Self {
        if keys.is_empty() {
            return Phf { seed: 0, displacements: Box::default(), slots: Box::default() };
        }
        let state = generate_hash(keys);
        let slots = state.map.into_iter().map(|key| key as u32).collect();
        Phf { seed: state.key, displacements: state.disps.into(), slots }
    }

    #[inline]
    fn find(&self, key: u64) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let hashes = phf_shared::hash(&key, &self.seed);
        let slot = phf_shared::get_index(&hashes, &self.displacements, self.slots.len());
        Some(self.slots[slot as usize])
    }
}

/// The paper's own (§4.2, after Gettys): keys lie in a matrix of m × m, m² > the largest key, whose rows are slid to the
/// right until no column holds two, and then collapsed into one array.
///
/// A division and two loads find a key; but m shifts and at least the columns in use take up to 8·√(largest key) bytes,
/// however few the keys are: four keys up to 2⁴⁸ would have 170 MiB. So there is none beyond [`BYTES`] that takes more than
/// the partners themselves, of [`BYTES_PER_KEY`].
pub(super) struct Displacement {
    m: u64,
    shifts: Box<[u32]>,
    slots: Box<[u32]>,
}

/// What a [`Displacement`] may take in any case: a million processes with ten contexts need 25 KB.
const BYTES: usize = 1 << 16;

/// Beyond that, what it may take for each key.
const BYTES_PER_KEY: usize = 32;

impl Displacement {
    /// Of distinct keys, or `None` if it would take too much.
    pub fn new(keys: &[u64]) -> Option<Self> {
        let entries_most = BYTES.max(BYTES_PER_KEY * keys.len()) / size_of::<u32>();
        let m = keys.iter().max().map_or(1, |&largest| largest.isqrt() + 1);
        if m > entries_most as u64 {
            return None;
        }
        let mut rows: Vec<(u64, u64, u32)> = (0..).zip(keys).map(|(n, &key)| (key / m, key % m, n)).collect();
        rows.sort_unstable();
        let mut rows: Vec<&[(u64, u64, u32)]> = rows.chunk_by(|one, next| one.0 == next.0).collect();
        // The fullest first, while there is most room ("first fit decreasing"; the paper says "some amount").
        rows.sort_by_key(|row| std::cmp::Reverse(row.len()));
        let mut shifts = vec![0; m as usize];
        let mut slots: Vec<u32> = Vec::new();
        for row in rows {
            let is_free = |at: u64| slots.get(at as usize).is_none_or(|&slot| slot == NIL);
            let shift = (0..).find(|shift| row.iter().all(|&(_, column, _)| is_free(column + shift)))?;
            shifts[row[0].0 as usize] = shift as u32;
            for &(_, column, key) in row {
                let at = (column + shift) as usize;
                slots.resize(slots.len().max(at + 1), NIL);
                slots[at] = key;
            }
        }
        let fits = shifts.len() + slots.len() <= entries_most;
        fits.then(|| Displacement { m, shifts: shifts.into(), slots: slots.into() })
    }

    #[inline]
    fn find(&self, key: u64) -> Option<u32> {
        let (row, column) = (key / self.m, key % self.m);
        let shift = *self.shifts.get(usize::try_from(row).ok()?)?;
        self.slots.get(column as usize + shift as usize).copied().filter(|&key| key != NIL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(keys: &[u64]) -> [Perfect; 2] {
        let displacement = Displacement::new(keys).expect("keys of these tests are small");
        [Perfect::Phf(Phf::new(keys)), Perfect::Displacement(displacement)]
    }

    #[test]
    fn every_key_is_found_and_no_other() {
        let dense: Vec<u64> = (0..1000).collect();
        let sparse: Vec<u64> = (0..300).map(|at: u64| at * at * 7 + 5).collect();
        for keys in [&dense[..], &sparse, &[0], &[99], &[]] {
            for perfect in both(keys) {
                for (number, &key) in (0..).zip(keys) {
                    assert_eq!(perfect.find(key), Some(number));
                }
                for key in (0..70_000).step_by(if cfg!(miri) { 997 } else { 1 }).chain([u64::MAX, 1 << 33]) {
                    let is_claimed = perfect.find(key).is_some_and(|number| keys[number as usize] == key);
                    assert_eq!(is_claimed, keys.contains(&key), "{key}");
                }
            }
        }
    }

    #[test]
    fn sizes_follow_the_number_of_keys_or_their_range() {
        let far_apart: Vec<u64> = (0..10).map(|at| at * 1_000_000).collect();
        let [phf, displacement] = both(&far_apart).map(|perfect| perfect.bytes());
        assert!(phf < 100, "{phf}");
        assert!((12_000..25_000).contains(&displacement), "{displacement}");
        let rows = (BYTES / size_of::<u32>()) as u64;
        for (key, is_there) in [(u64::MAX, false), (rows * rows, false), (rows * rows / 4, true)] {
            let made = Displacement::new(&[0, key]).map(|of| Perfect::Displacement(of).bytes());
            assert_eq!(made.is_some(), is_there, "{key}: {made:?}");
            assert!(made.is_none_or(|bytes| bytes <= BYTES as u64), "{key}: {made:?}");
        }
    }
}
