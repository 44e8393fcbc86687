//! Hash values of an envelope (optimistic paper §IV-D).

use crate::envelope::Envelope;

/// Hash values of (source, tag), of the source and of the tag. Each communicator has separate indexes, so the
/// context is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hashes(u64);

pub(crate) const BITS: u32 = 21;

impl Hashes {
    /// Computes all hash values with two multiplications.
    #[inline]
    pub(crate) fn of(envelope: &Envelope) -> Self {
        // Multiply-shift (Dietzfelbinger et al. 1997).
        let source = u64::from(envelope.source.0).wrapping_mul(0xE703_7ED1_A0B4_28DB);
        let tag = envelope.tag.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let value = |product: u64, which: u32| product >> (u64::BITS - BITS) << (which * BITS);
        Hashes(value(source.wrapping_add(tag), 0) | value(source, 1) | value(tag, 2))
    }

    #[inline]
    fn value(self, which: u32) -> u32 {
        (self.0 >> (which * BITS)) as u32 & ((1 << BITS) - 1)
    }

    #[inline]
    pub(crate) fn source_and_tag(self) -> u32 {
        self.value(0)
    }

    #[inline]
    pub(crate) fn source(self) -> u32 {
        self.value(1)
    }

    #[inline]
    pub(crate) fn tag(self) -> u32 {
        self.value(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::{ContextId, Rank, Tag};

    #[test]
    fn hash_values_are_fixed() {
        let hashes = Hashes::of(&Envelope::new(ContextId(5), Rank(3), Tag(7)));
        assert_eq!(hashes, Hashes::of(&Envelope::new(ContextId(6), Rank(3), Tag(7))));
        assert_eq!([hashes.source_and_tag(), hashes.source(), hashes.tag()], VALUES);
        let other = Hashes::of(&Envelope::new(ContextId(5), Rank(4), Tag(7)));
        assert_eq!(other.tag(), hashes.tag());
        assert_ne!(other.source(), hashes.source());
    }

    const VALUES: [u32; 3] = [70106, 1483087, 684170];
}
