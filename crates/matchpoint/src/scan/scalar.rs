//! Portable kernel, one lane at a time. Tests compare the other kernels with this kernel.

use super::{LANES, Lanes, Search};

#[derive(Clone, Copy)]
pub(super) struct Scalar;

#[inline(never)]
pub(super) fn run<S: Search>(search: &mut S) -> S::Found {
    search.run(Scalar)
}

/// Groups of eight lanes: one dependency chain through all 64 lanes took three times as long.
#[inline(always)]
fn lanes<K>(keys: &[K; LANES], equal: impl Fn(usize, &K) -> bool) -> u64 {
    (0..LANES).step_by(8).fold(0, |bits, first| {
        let eight = (first..first + 8).map(|lane| u64::from(equal(lane, &keys[lane])) << lane);
        bits | eight.fold(0, |bits, lane| bits | lane)
    })
}

impl Lanes for Scalar {
    #[inline(always)]
    fn equal_u8(self, keys: &[u8; LANES], key: u8) -> u64 {
        lanes(keys, |_, &other| other == key)
    }

    #[inline(always)]
    fn equal_u16(self, keys: &[u16; LANES], key: u16) -> u64 {
        lanes(keys, |_, &other| other == key)
    }

    #[inline(always)]
    fn equal_u32(self, keys: &[u32; LANES], key: u32) -> u64 {
        lanes(keys, |_, &other| other == key)
    }

    #[inline(always)]
    fn equal_u32_under(self, keys: &[u32; LANES], mask: u32, key: u32) -> u64 {
        lanes(keys, |_, &other| (other ^ key) & mask == 0)
    }

    #[inline(always)]
    fn equal_u32_under_each(self, keys: &[u32; LANES], masks: &[u32; LANES], key: u32) -> u64 {
        lanes(keys, |lane, &other| (other ^ key) & masks[lane] == 0)
    }
}
