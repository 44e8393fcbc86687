//! AVX2: a comparison yields a mask per lane, which is packed to bytes, then to bits.
#![allow(
    unsafe_code,
    reason = "intrinsics, and a function compiled for instructions that not every x86-64 has"
)]

use std::arch::x86_64::*;

use super::{InstructionSet, Kernel, LANES, Lanes, Search};

/// Proof that the processor has AVX2: only [`run`] creates a value.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

#[inline(always)]
pub(super) fn run<S: Search>(kernel: Kernel, search: &mut S) -> S::Found {
    assert!(kernel.set() == InstructionSet::Avx2);
    // SAFETY: a kernel of this instruction set exists only if `is_available` returns true.
    unsafe { compiled(search) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline(never)]
unsafe fn compiled<S: Search>(search: &mut S) -> S::Found {
    search.run(Avx2(()))
}

#[inline(always)]
fn load<K: Copy>(_: Avx2, keys: &[K; LANES], vector: usize) -> __m256i {
    assert!((vector + 1) * 32 <= size_of_val(keys));
    // SAFETY: the assertion keeps the load in bounds, and any bytes are a valid vector. An `Avx2` value
    // implies the instruction.
    unsafe { _mm256_loadu_si256(keys.as_ptr().cast::<u8>().add(vector * 32).cast()) }
}

/// 16-bit masks to 32 bits, one per lane.
#[inline(always)]
fn halfwords(_: Avx2, low: __m256i, high: __m256i) -> u64 {
    // SAFETY: an `Avx2` value implies the instructions.
    unsafe {
        // Packing works within 128-bit halves.
        let bytes = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(low, high));
        u64::from(_mm256_movemask_epi8(bytes) as u32)
    }
}

/// 32-bit masks to 8 bits, shifted to their lanes.
#[inline(always)]
fn words(_: Avx2, equal: __m256i, vector: usize) -> u64 {
    // SAFETY: an `Avx2` value implies the instruction.
    let lanes = unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(equal)) };
    u64::from(lanes as u8) << (8 * vector)
}

/// A macro, because the compiler may compile a closure without the target feature.
macro_rules! of_words {
    ($lanes:ident, $vector:ident, $equal:expr) => {{
        let mut bits = 0;
        for $vector in 0..8 {
            // SAFETY: an `Avx2` value implies the instructions.
            let equal = unsafe { $equal };
            bits |= words($lanes, equal, $vector);
        }
        bits
    }};
}

impl Lanes for Avx2 {
    #[inline(always)]
    fn equal_u8(self, keys: &[u8; LANES], key: u8) -> u64 {
        // SAFETY: an `Avx2` value implies the instructions.
        unsafe {
            let key = _mm256_set1_epi8(key as i8);
            let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(load(self, keys, 0), key));
            let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(load(self, keys, 1), key));
            u64::from(low as u32) | u64::from(high as u32) << 32
        }
    }

    #[inline(always)]
    fn equal_u16(self, keys: &[u16; LANES], key: u16) -> u64 {
        // SAFETY: an `Avx2` value implies the instructions.
        unsafe {
            let key = _mm256_set1_epi16(key as i16);
            let a = _mm256_cmpeq_epi16(load(self, keys, 0), key);
            let b = _mm256_cmpeq_epi16(load(self, keys, 1), key);
            let c = _mm256_cmpeq_epi16(load(self, keys, 2), key);
            let d = _mm256_cmpeq_epi16(load(self, keys, 3), key);
            halfwords(self, a, b) | halfwords(self, c, d) << 32
        }
    }

    #[inline(always)]
    fn equal_u32(self, keys: &[u32; LANES], key: u32) -> u64 {
        of_words!(self, vector, _mm256_cmpeq_epi32(load(self, keys, vector), _mm256_set1_epi32(key as i32)))
    }

    #[inline(always)]
    fn equal_u32_under(self, keys: &[u32; LANES], mask: u32, key: u32) -> u64 {
        of_words!(self, vector, {
            let masked = _mm256_and_si256(load(self, keys, vector), _mm256_set1_epi32(mask as i32));
            _mm256_cmpeq_epi32(masked, _mm256_set1_epi32((key & mask) as i32))
        })
    }

    #[inline(always)]
    fn equal_u32_under_each(self, keys: &[u32; LANES], masks: &[u32; LANES], key: u32) -> u64 {
        of_words!(self, vector, {
            let differs = _mm256_xor_si256(load(self, keys, vector), _mm256_set1_epi32(key as i32));
            let counts = _mm256_and_si256(differs, load(self, masks, vector));
            _mm256_cmpeq_epi32(counts, _mm256_setzero_si256())
        })
    }
}
