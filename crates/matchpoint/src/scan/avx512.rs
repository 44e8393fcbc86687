//! AVX-512BW: a comparison yields one bit per lane. A block of bytes needs one load, one comparison and one
//! move.
#![allow(
    unsafe_code,
    reason = "intrinsics, and a function compiled for instructions that not every x86-64 has"
)]
#![allow(clippy::incompatible_msrv, reason = "compiled only where build.rs found them")]

use std::arch::x86_64::*;

use super::{InstructionSet, Kernel, LANES, Lanes, Search};

/// Proof that the processor has AVX-512BW: only [`run`] creates a value.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

#[inline(always)]
pub(super) fn run<S: Search>(kernel: Kernel, search: &mut S) -> S::Found {
    assert!(kernel.set() == InstructionSet::Avx512);
    // SAFETY: a kernel of this instruction set exists only if `is_available` returns true.
    unsafe { compiled(search) }
}

#[target_feature(enable = "avx512bw,bmi1,bmi2,lzcnt,popcnt")]
#[inline(never)]
unsafe fn compiled<S: Search>(search: &mut S) -> S::Found {
    search.run(Avx512(()))
}

#[inline(always)]
fn load<K: Copy>(_: Avx512, keys: &[K; LANES], vector: usize) -> __m512i {
    assert!((vector + 1) * 64 <= size_of_val(keys));
    // SAFETY: the assertion keeps the load in bounds, and any bytes are a valid vector. An `Avx512` value
    // implies the instruction.
    unsafe { _mm512_loadu_si512(keys.as_ptr().cast::<u8>().add(vector * 64).cast()) }
}

#[inline(always)]
fn words([a, b, c, d]: [u16; 4]) -> u64 {
    u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48
}

/// A macro, because the compiler may compile a closure without the target feature: 10 ns per block.
macro_rules! of_words {
    ($vector:ident, $equal:expr) => {{
        let mut equal = [0; 4];
        for ($vector, equal) in equal.iter_mut().enumerate() {
            // SAFETY: an `Avx512` value implies the instructions.
            *equal = unsafe { $equal };
        }
        words(equal)
    }};
}

impl Lanes for Avx512 {
    #[inline(always)]
    fn equal_u8(self, keys: &[u8; LANES], key: u8) -> u64 {
        // SAFETY: an `Avx512` value implies the instructions.
        unsafe { _mm512_cmpeq_epi8_mask(load(self, keys, 0), _mm512_set1_epi8(key as i8)) }
    }

    #[inline(always)]
    fn equal_u16(self, keys: &[u16; LANES], key: u16) -> u64 {
        // SAFETY: an `Avx512` value implies the instructions.
        unsafe {
            let key = _mm512_set1_epi16(key as i16);
            let low = _mm512_cmpeq_epi16_mask(load(self, keys, 0), key);
            let high = _mm512_cmpeq_epi16_mask(load(self, keys, 1), key);
            u64::from(low) | u64::from(high) << 32
        }
    }

    #[inline(always)]
    fn equal_u32(self, keys: &[u32; LANES], key: u32) -> u64 {
        of_words!(vector, _mm512_cmpeq_epi32_mask(load(self, keys, vector), _mm512_set1_epi32(key as i32)))
    }

    #[inline(always)]
    fn equal_u32_under(self, keys: &[u32; LANES], mask: u32, key: u32) -> u64 {
        of_words!(vector, {
            let differs = _mm512_xor_si512(load(self, keys, vector), _mm512_set1_epi32(key as i32));
            _mm512_testn_epi32_mask(differs, _mm512_set1_epi32(mask as i32))
        })
    }

    #[inline(always)]
    fn equal_u32_under_each(self, keys: &[u32; LANES], masks: &[u32; LANES], key: u32) -> u64 {
        of_words!(vector, {
            let differs = _mm512_xor_si512(load(self, keys, vector), _mm512_set1_epi32(key as i32));
            _mm512_testn_epi32_mask(differs, load(self, masks, vector))
        })
    }
}
