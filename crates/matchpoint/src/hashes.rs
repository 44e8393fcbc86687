//! Hash values of an envelope, computed by its sender (optimistic paper §IV-D, *inline hash values*).

use std::num::NonZeroU64;

use crate::envelope::Envelope;

/// The three hash values that an index of receives may need: of (source, tag), of the source, of the tag.
///
/// They are part of what processes send each other, so they are the same everywhere and for ever: an engine whose
/// hashing is keyed cannot use them. The context is left out, since its id is local to a process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Hashes(NonZeroU64);

/// Bits of each hash value.
pub(crate) const BITS: u32 = 21;

/// Says that there are hash values: the one bit that three of them leave.
const PRESENT: NonZeroU64 = NonZeroU64::MIN;

impl Hashes {
    /// The hash values of `envelope`, of whatever context. Two or three multiplications.
    #[inline]
    pub fn of(envelope: &Envelope) -> Self {
        // Multiply-shift (Dietzfelbinger et al. 1997): the upper bits of a sum of products by odd constants.
        let source = envelope.source.0.wrapping_mul(0xE703_7ED1_A0B4_28DB);
        let tag = envelope.tag.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let value = |product: u64, place: u32| product >> (u64::BITS - BITS) << (1 + place * BITS);
        Hashes(PRESENT | value(source.wrapping_add(tag), 0) | value(source, 1) | value(tag, 2))
    }

    /// As one number, never 0, for those who send it.
    #[inline]
    pub fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// From what [`to_bits`](Hashes::to_bits) gave; `None` if the number cannot be such.
    #[inline]
    pub fn from_bits(bits: u64) -> Option<Self> {
        NonZeroU64::new(bits).filter(|bits| bits.get() & PRESENT.get() != 0).map(Hashes)
    }

    #[inline]
    fn value(self, place: u32) -> u32 {
        (self.0.get() >> (1 + place * BITS)) as u32 & ((1 << BITS) - 1)
    }

    /// Of (source, tag), 21 bits.
    #[inline]
    pub fn source_and_tag(self) -> u32 {
        self.value(0)
    }

    /// Of the source, 21 bits.
    #[inline]
    pub fn source(self) -> u32 {
        self.value(1)
    }

    /// Of the tag, 21 bits.
    #[inline]
    pub fn tag(self) -> u32 {
        self.value(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::{ContextId, Rank, Tag};

    #[test]
    fn the_values_are_those_that_other_versions_computed() {
        let hashes = Hashes::of(&Envelope::new(ContextId(5), Rank(3), Tag(7)));
        assert_eq!(hashes, Hashes::of(&Envelope::new(ContextId(6), Rank(3), Tag(7))));
        assert_eq!([hashes.source_and_tag(), hashes.source(), hashes.tag()], VALUES);
        let other = Hashes::of(&Envelope::new(ContextId(5), Rank(4), Tag(7)));
        assert_eq!(other.tag(), hashes.tag());
        assert_ne!(other.source(), hashes.source());
    }

    #[test]
    fn a_number_that_nobody_computed_is_told() {
        let hashes = Hashes::of(&Envelope::new(ContextId(5), Rank(3), Tag(7)));
        assert_eq!(Hashes::from_bits(hashes.to_bits()), Some(hashes));
        assert_eq!((Hashes::from_bits(0), Hashes::from_bits(2)), (None, None));
    }

    const VALUES: [u32; 3] = [70106, 1483087, 684170];
}
