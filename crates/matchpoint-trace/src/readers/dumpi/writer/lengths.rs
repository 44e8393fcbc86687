//! Message lengths, as counts of elements. A table in the file has the sizes of datatypes.

/// Datatype for a length of unknown size: `MPI_DATATYPE_NULL`, which has size 0.
const NONE: u16 = 1;
const BYTE: u16 = 5;
const FIRST_OWN: usize = 28;
/// Number of datatype sizes tried for a length without a suitable power of two as divisor.
const SIZES_TRIED: u64 = 4096;

pub(super) struct Datatypes(Vec<i32>);

impl Default for Datatypes {
    fn default() -> Self {
        let mut sizes = vec![0; FIRST_OWN];
        sizes[usize::from(BYTE)] = 1;
        Datatypes(sizes)
    }
}

impl Datatypes {
    /// Count and datatype of a length. `Err` has a datatype of unknown size, for a length that is no product
    /// of a count and a size.
    pub fn of(&mut self, bytes: Option<u64>) -> Result<(i32, u16), (i32, u16)> {
        let Some(bytes) = bytes else { return Ok((1, NONE)) };
        match i32::try_from(bytes) {
            Ok(count) => Ok((count, BYTE)),
            Err(_) => self.as_product(bytes).ok_or((1, NONE)),
        }
    }

    pub fn table(&self) -> &[i32] {
        &self.0
    }

    fn as_product(&mut self, bytes: u64) -> Option<(i32, u16)> {
        let least = bytes.div_ceil(i32::MAX as u64);
        let power = 1 << bytes.trailing_zeros().min(30);
        let size = if power >= least {
            least.next_power_of_two()
        } else {
            (least..least + SIZES_TRIED).find(|size| bytes % size == 0)?
        };
        let count = i32::try_from(bytes / size).ok()?;
        Some((count, self.datatype_of_size(i32::try_from(size).ok()?)?))
    }

    fn datatype_of_size(&mut self, size: i32) -> Option<u16> {
        let at = match self.0[FIRST_OWN..].iter().position(|&known| known == size) {
            Some(at) => at + FIRST_OWN,
            None => {
                self.0.push(size);
                self.0.len() - 1
            }
        };
        u16::try_from(at).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::ids::Sizes;
    use super::*;

    #[test]
    fn lengths_survive_round_trip() {
        let mut lengths = Datatypes::default();
        let large = [1 << 31, 3 << 40, 48 * 3_000_000_000, (1 << 50) + (1 << 40), i32::MAX as u64 * 1000];
        let all = [0, 1, 17, i32::MAX as u64].into_iter().chain(large);
        let written: Vec<_> = all.map(|bytes| (bytes, lengths.of(Some(bytes)).unwrap())).collect();
        let unknown = lengths.of(None).unwrap();
        let sizes = Sizes::new(lengths.table().to_vec());
        for (bytes, (count, datatype)) in written {
            assert_eq!(sizes.bytes(count, datatype.into()), Some(bytes));
        }
        assert_eq!(sizes.bytes(unknown.0, unknown.1.into()), None);
    }

    #[test]
    fn large_prime_length_is_unknown() {
        let (count, datatype) = Datatypes::default().of(Some((1 << 61) - 1)).unwrap_err();
        assert_eq!(Sizes::new(Datatypes::default().0).bytes(count, datatype.into()), None);
    }
}
