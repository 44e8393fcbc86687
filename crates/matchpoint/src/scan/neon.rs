//! NEON (Advanced SIMD) kernel: a comparison yields a mask per lane.
//!
//! NEON has no instruction for one bit per lane. Masks are narrowed to bytes, each byte keeps the bit of its
//! lane, and pairwise additions gather eight bytes into one.
#![allow(unsafe_code, reason = "intrinsics")]

use std::arch::aarch64::*;

use super::{LANES, Lanes, Search};

#[derive(Clone, Copy)]
pub(super) struct Neon;

#[inline(never)]
pub(super) fn run<S: Search>(search: &mut S) -> S::Found {
    search.run(Neon)
}

/// In each half, byte *n* has bit *n*.
const LANE_BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

/// 8-bit masks to 64 bits, one per lane.
#[inline(always)]
fn bytes(mask_of: impl Fn(usize) -> uint8x16_t) -> u64 {
    // SAFETY: Rust's 64-bit Arm targets have NEON; the load reads a 16-byte array.
    unsafe {
        let lane_bits = vld1q_u8(LANE_BITS.as_ptr());
        let lane_bit = |vector| vandq_u8(mask_of(vector), lane_bits);
        let sums = vpaddq_u8(vpaddq_u8(lane_bit(0), lane_bit(1)), vpaddq_u8(lane_bit(2), lane_bit(3)));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
    }
}

/// 16-bit masks to 64 bits.
#[inline(always)]
fn halfwords(mask_of: impl Fn(usize) -> uint16x8_t) -> u64 {
    #[allow(unused_unsafe, reason = "needed before Rust 1.87")]
    // SAFETY: 64-bit Arm has NEON.
    bytes(|vector| unsafe { vcombine_u8(vmovn_u16(mask_of(2 * vector)), vmovn_u16(mask_of(2 * vector + 1))) })
}

/// 32-bit masks to 64 bits.
#[inline(always)]
fn words(mask_of: impl Fn(usize) -> uint32x4_t) -> u64 {
    #[allow(unused_unsafe, reason = "needed before Rust 1.87")]
    // SAFETY: 64-bit Arm has NEON.
    halfwords(|vector| unsafe {
        vcombine_u16(vmovn_u32(mask_of(2 * vector)), vmovn_u32(mask_of(2 * vector + 1)))
    })
}

#[inline(always)]
fn load_words(keys: &[u32; LANES], vector: usize) -> uint32x4_t {
    let keys = &keys[4 * vector..4 * vector + 4];
    // SAFETY: the slice has four words.
    unsafe { vld1q_u32(keys.as_ptr()) }
}

#[allow(unused_unsafe, reason = "needed before Rust 1.87")]
impl Lanes for Neon {
    #[inline(always)]
    fn equal_u8(self, keys: &[u8; LANES], key: u8) -> u64 {
        bytes(|vector| {
            let keys = &keys[16 * vector..16 * vector + 16];
            // SAFETY: the slice has 16 bytes; 64-bit Arm has NEON.
            unsafe { vceqq_u8(vld1q_u8(keys.as_ptr()), vdupq_n_u8(key)) }
        })
    }

    #[inline(always)]
    fn equal_u16(self, keys: &[u16; LANES], key: u16) -> u64 {
        halfwords(|vector| {
            let keys = &keys[8 * vector..8 * vector + 8];
            // SAFETY: the slice has eight halfwords; 64-bit Arm has NEON.
            unsafe { vceqq_u16(vld1q_u16(keys.as_ptr()), vdupq_n_u16(key)) }
        })
    }

    #[inline(always)]
    fn equal_u32(self, keys: &[u32; LANES], key: u32) -> u64 {
        // SAFETY: 64-bit Arm has NEON.
        words(|vector| unsafe { vceqq_u32(load_words(keys, vector), vdupq_n_u32(key)) })
    }

    #[inline(always)]
    fn equal_u32_under(self, keys: &[u32; LANES], mask: u32, key: u32) -> u64 {
        // SAFETY: 64-bit Arm has NEON.
        words(|vector| unsafe {
            let masked = vandq_u32(load_words(keys, vector), vdupq_n_u32(mask));
            vceqq_u32(masked, vdupq_n_u32(key & mask))
        })
    }

    #[inline(always)]
    fn equal_u32_under_each(self, keys: &[u32; LANES], masks: &[u32; LANES], key: u32) -> u64 {
        // SAFETY: 64-bit Arm has NEON.
        words(|vector| unsafe {
            let differs = veorq_u32(load_words(keys, vector), vdupq_n_u32(key));
            vceqzq_u32(vandq_u32(differs, load_words(masks, vector)))
        })
    }
}
