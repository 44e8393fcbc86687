//! Perfect hash over the keys of partners from a profile.

use crate::linked::NIL;

/// Hash of the partner paper (§4.2, after Gettys). Keys are in an m × m matrix, m² > the largest key. Each
/// row is shifted right until no column has two keys. Then all rows are merged into one array.
///
/// A lookup needs one division and two loads. Shifts and columns take up to 8·√(largest key) bytes for any
/// number of keys. Therefore a hash larger than [`BYTES`] is limited to [`BYTES_PER_KEY`] per key.
pub(super) struct Displacement {
    m: u64,
    shifts: Box<[u32]>,
    slots: Box<[u32]>,
}

/// Allowed for any number of keys. A million processes with ten contexts need 25 KB.
const BYTES: usize = 1 << 16;

const BYTES_PER_KEY: usize = 32;

impl Displacement {
    /// `None` if the hash is too large. Keys are distinct.
    pub fn new(keys: &[u64]) -> Option<Self> {
        let entries_most = BYTES.max(BYTES_PER_KEY * keys.len()) / size_of::<u32>();
        let m = keys.iter().max().map_or(1, |&largest| largest.isqrt() + 1);
        if m > entries_most as u64 {
            return None;
        }
        let mut rows: Vec<(u64, u64, u32)> = (0..).zip(keys).map(|(n, &key)| (key / m, key % m, n)).collect();
        rows.sort_unstable();
        let mut rows: Vec<&[(u64, u64, u32)]> = rows.chunk_by(|one, next| one.0 == next.0).collect();
        // "First fit decreasing". The paper does not define the shift.
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

    /// The only stored key that may equal `key`.
    #[inline]
    pub fn find(&self, key: u64) -> Option<u32> {
        let (row, column) = (key / self.m, key % self.m);
        let shift = *self.shifts.get(usize::try_from(row).ok()?)?;
        self.slots.get(column as usize + shift as usize).copied().filter(|&key| key != NIL)
    }

    pub fn bytes(&self) -> u64 {
        (size_of_val(&*self.shifts) + size_of_val(&*self.slots)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perfect_hash_finds_its_keys_only() {
        let dense: Vec<u64> = (0..1000).collect();
        let sparse: Vec<u64> = (0..300).map(|at: u64| at * at * 7 + 5).collect();
        for keys in [&dense[..], &sparse, &[0], &[99], &[]] {
            let perfect = Displacement::new(keys).expect("keys of these tests are small");
            for (number, &key) in (0..).zip(keys) {
                assert_eq!(perfect.find(key), Some(number));
            }
            for key in (0..70_000).step_by(if cfg!(miri) { 997 } else { 1 }).chain([u64::MAX, 1 << 33]) {
                let is_claimed = perfect.find(key).is_some_and(|number| keys[number as usize] == key);
                assert_eq!(is_claimed, keys.contains(&key), "{key}");
            }
        }
    }

    #[test]
    fn hash_size_depends_on_key_range() {
        let far_apart: Vec<u64> = (0..10).map(|at| at * 1_000_000).collect();
        let bytes = Displacement::new(&far_apart).expect("keys of these tests are small").bytes();
        assert!((12_000..25_000).contains(&bytes), "{bytes}");
        let rows = (BYTES / size_of::<u32>()) as u64;
        for (key, is_there) in [(u64::MAX, false), (rows * rows, false), (rows * rows / 4, true)] {
            let made = Displacement::new(&[0, key]).map(|hash| hash.bytes());
            assert_eq!(made.is_some(), is_there, "{key}: {made:?}");
            assert!(made.is_none_or(|bytes| bytes <= BYTES as u64), "{key}: {made:?}");
        }
    }
}
