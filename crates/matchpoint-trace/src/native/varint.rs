//! Variable-length integers: seven bits per byte, lowest first (LEB128).

pub(crate) const MOST_BYTES: usize = 10;

pub(crate) fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Maps 0, −1, 1, −2 to 0, 1, 2, 3.
#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

#[inline]
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// The number and its length; `None` if the number does not end, or is too large.
///
/// 1. Most numbers have one byte. A test for two numbers at once was not faster.
/// 2. With eight bytes available, three steps join the groups of seven bits: a loop would mispredict its end.
#[inline]
pub(crate) fn get(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    if let Some(eight) = bytes.get(at..at + 8) {
        let word = u64::from_le_bytes([
            eight[0], eight[1], eight[2], eight[3], eight[4], eight[5], eight[6], eight[7],
        ]);
        if word & 0x80 == 0 {
            return Some((word & 0x7f, 1));
        }
        let ends = !word & 0x8080_8080_8080_8080;
        if ends != 0 {
            let length = ends.trailing_zeros() / 8 + 1;
            let kept = word & (u64::MAX >> (64 - 8 * length));
            let pairs = kept & 0x007f_007f_007f_007f | (kept & 0x7f00_7f00_7f00_7f00) >> 1;
            let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
            let all = fours & 0x0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4;
            return Some((all, length as usize));
        }
    }
    slowly(bytes.get(at..)?)
}

#[cold]
fn slowly(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (place, &byte) in bytes.iter().take(MOST_BYTES).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if place == MOST_BYTES - 1 && bits > 1 {
            return None;
        }
        value |= bits << (7 * place);
        if byte < 0x80 {
            return Some((value, place + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> impl Iterator<Item = u64> {
        let edges =
            (0..64).flat_map(|bit| [1u64 << bit, (1u64 << bit) - 1, (1u64 << bit) + 1, u64::MAX >> bit]);
        edges.chain([0xdead_beef_cafe_babe, 0x1234_5678_9abc])
    }

    #[test]
    fn values_are_read_at_any_distance() {
        for value in numbers() {
            for after in 0..10 {
                let mut bytes = vec![0xff];
                put(&mut bytes, value);
                let length = bytes.len() - 1;
                bytes.extend(std::iter::repeat_n(0xff, after));
                assert_eq!(get(&bytes, 1), Some((value, length)), "{value:#x}, {after} bytes behind");
                assert_eq!(get(&bytes[..length], 1), None);
            }
        }
    }

    #[test]
    fn unterminated_number_is_none() {
        for length in 0..20 {
            assert_eq!(get(&vec![0x80; length], 0), None);
        }
        assert_eq!(get(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], 0), None);
        assert_eq!(get(&[], 7), None);
    }

    #[test]
    fn zigzag_has_inverse() {
        for value in numbers().map(|value| value as i64) {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!([0, -1, 1, -2].map(zigzag), [0, 1, 2, 3]);
    }
}
