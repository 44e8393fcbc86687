//! Source of choices for generated streams: a seed, or the bytes of a fuzzer.

/// A sequence of choices: unlimited from a seed, limited from a fuzzer's bytes.
#[derive(Clone, Debug)]
pub enum Choices<'a> {
    /// SplitMix64 (Steele, Lea & Flood 2014). Any seed is valid.
    Seed(u64),
    /// The unused bytes. Without bytes, every choice is 0.
    Bytes(&'a [u8]),
}

impl Choices<'_> {
    /// A number below `bound`. Consumes one byte for bounds up to 256, two bytes for larger bounds.
    pub fn below(&mut self, bound: u64) -> u64 {
        let number = match self {
            Choices::Seed(state) => split_mix(state),
            Choices::Bytes(bytes) => take(bytes, if bound <= 256 { 1 } else { 2 }),
        };
        number % bound.max(1)
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        percent > 0 && self.below(100) >= 100 - percent.min(100)
    }

    /// True if all bytes are used.
    pub fn is_exhausted(&self) -> bool {
        matches!(self, Choices::Bytes([]))
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

fn take(bytes: &mut &[u8], count: usize) -> u64 {
    let (taken, rest) = bytes.split_at(count.min(bytes.len()));
    *bytes = rest;
    taken.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
