//! SSE2 kernel: as AVX2, with half the vector length. Every x86-64 has SSE2.
#![allow(unsafe_code, reason = "intrinsics")]

use std::arch::x86_64::*;

use super::{LANES, Lanes, Search};

#[derive(Clone, Copy)]
pub(super) struct Sse2;

#[inline(never)]
pub(super) fn run<S: Search>(search: &mut S) -> S::Found {
    search.run(Sse2)
}

#[inline(always)]
fn load<K: Copy>(keys: &[K; LANES], vector: usize) -> __m128i {
    assert!((vector + 1) * 16 <= size_of_val(keys));
    // SAFETY: the assertion keeps the load in bounds, and any bytes are a valid vector.
    unsafe { _mm_loadu_si128(keys.as_ptr().cast::<u8>().add(vector * 16).cast()) }
}

/// 8-bit masks to 64 bits, one per lane.
#[inline(always)]
fn bytes(mask_of: impl Fn(usize) -> __m128i) -> u64 {
    (0..4).fold(0, |bits, vector| {
        #[allow(unused_unsafe, reason = "needed before Rust 1.87")]
        // SAFETY: every x86-64 has SSE2.
        let lanes = unsafe { _mm_movemask_epi8(mask_of(vector)) };
        bits | u64::from(lanes as u16) << (16 * vector)
    })
}

/// 16-bit masks to 64 bits.
#[inline(always)]
fn halfwords(mask_of: impl Fn(usize) -> __m128i) -> u64 {
    #[allow(unused_unsafe, reason = "needed before Rust 1.87")]
    // SAFETY: every x86-64 has SSE2.
    bytes(|vector| unsafe { _mm_packs_epi16(mask_of(2 * vector), mask_of(2 * vector + 1)) })
}

/// 32-bit masks to 64 bits.
#[inline(always)]
fn words(mask_of: impl Fn(usize) -> __m128i) -> u64 {
    #[allow(unused_unsafe, reason = "needed before Rust 1.87")]
    // SAFETY: every x86-64 has SSE2.
    halfwords(|vector| unsafe { _mm_packs_epi32(mask_of(2 * vector), mask_of(2 * vector + 1)) })
}

#[allow(unused_unsafe, reason = "needed before Rust 1.87")]
impl Lanes for Sse2 {
    #[inline(always)]
    fn equal_u8(self, keys: &[u8; LANES], key: u8) -> u64 {
        // SAFETY: every x86-64 has SSE2.
        bytes(|vector| unsafe { _mm_cmpeq_epi8(load(keys, vector), _mm_set1_epi8(key as i8)) })
    }

    #[inline(always)]
    fn equal_u16(self, keys: &[u16; LANES], key: u16) -> u64 {
        // SAFETY: every x86-64 has SSE2.
        halfwords(|vector| unsafe { _mm_cmpeq_epi16(load(keys, vector), _mm_set1_epi16(key as i16)) })
    }

    #[inline(always)]
    fn equal_u32(self, keys: &[u32; LANES], key: u32) -> u64 {
        // SAFETY: every x86-64 has SSE2.
        words(|vector| unsafe { _mm_cmpeq_epi32(load(keys, vector), _mm_set1_epi32(key as i32)) })
    }

    #[inline(always)]
    fn equal_u32_under(self, keys: &[u32; LANES], mask: u32, key: u32) -> u64 {
        // SAFETY: every x86-64 has SSE2.
        words(|vector| unsafe {
            let masked = _mm_and_si128(load(keys, vector), _mm_set1_epi32(mask as i32));
            _mm_cmpeq_epi32(masked, _mm_set1_epi32((key & mask) as i32))
        })
    }

    #[inline(always)]
    fn equal_u32_under_each(self, keys: &[u32; LANES], masks: &[u32; LANES], key: u32) -> u64 {
        // SAFETY: every x86-64 has SSE2.
        words(|vector| unsafe {
            let differs = _mm_xor_si128(load(keys, vector), _mm_set1_epi32(key as i32));
            _mm_cmpeq_epi32(_mm_and_si128(differs, load(masks, vector)), _mm_setzero_si128())
        })
    }
}
