//! Envelopes, selectors and the matching rule (MPI-4.1 §3.2.3, §3.2.4, §3.5).

use std::convert::Infallible;
use std::fmt::{self, Debug, Display};

/// Number of a communicator's context (MPI-4.1 §3.2.3) in a process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ContextId(pub u32);

/// Sender of a message: a rank in the communicator, or a number for a 64-bit address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Rank(pub u32);

impl Rank {
    /// Unknown source (libfabric's `FI_ADDR_UNSPEC`). Such a message matches only any-source receives, until
    /// [`Engine::readdress`](crate::Engine::readdress) sets the source.
    pub const UNKNOWN: Rank = Rank(u32::MAX);
}

/// Context and source in one word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Pair(pub u64);

const SOURCE: u64 = 0xFFFF_FFFF;

impl Pair {
    /// The context is in the upper half, the source in the lower.
    #[inline(always)]
    pub fn new(context: ContextId, source: Rank) -> Self {
        Pair(u64::from(context.0) << 32 | u64::from(source.0))
    }

    /// The context.
    #[inline(always)]
    pub fn context(self) -> ContextId {
        ContextId((self.0 >> 32) as u32)
    }

    /// The source.
    #[inline(always)]
    pub fn source(self) -> Rank {
        Rank(self.0 as u32)
    }
}

/// Tag: a non-negative `int` in MPI, 64 bits in libfabric and Portals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Tag(pub u64);

/// A 64-bit tag with an ignore mask (libfabric, Portals).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TagMask {
    /// The compared bits.
    pub value: Tag,
    /// The bits that are not compared.
    pub ignore: u64,
}

/// A field that may have a wildcard.
pub trait Field: Copy {
    /// Content of [`Wild::Masked`]; [`Infallible`] for a field without masks.
    type Mask: Copy + Debug + PartialEq;
}

impl Field for Rank {
    type Mask = Infallible;
}

impl Field for Tag {
    type Mask = TagMask;
}

/// Selection of one field of the envelope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wild<T: Field> {
    /// `MPI_ANY_SOURCE`, `MPI_ANY_TAG`.
    Any,
    /// This value.
    Is(T),
    /// A value of which the ignored bits are not compared.
    Masked(T::Mask),
}

/// Context, source and tag of a message.
///
/// The tag is between context and source, so that the compiler cannot read both with one load after two
/// stores.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(C)]
pub struct Envelope {
    /// The context.
    pub context: ContextId,
    /// The tag.
    pub tag: Tag,
    /// The source, or [`Rank::UNKNOWN`].
    pub source: Rank,
}

impl Envelope {
    /// An envelope of three fields.
    pub fn new(context: ContextId, source: Rank, tag: Tag) -> Self {
        Envelope { context, source, tag }
    }

    /// An envelope of a pair and a tag.
    #[inline(always)]
    pub fn of(pair: Pair, tag: Tag) -> Self {
        Envelope { context: pair.context(), source: pair.source(), tag }
    }

    /// Context and source.
    #[inline(always)]
    pub fn pair(&self) -> Pair {
        Pair::new(self.context, self.source)
    }
}

/// Context, source and tag of a receive or probe, with wildcards.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Selector {
    /// Zeros in the bits of `ignore`.
    tag: u64,
    ignore: u64,
    /// Ones in the bits of `any`.
    pair: u64,
    any: u64,
}

impl Selector {
    /// A selector of three fields. `Is(Rank::UNKNOWN)` is any source, like `FI_ADDR_UNSPEC` in a receive.
    #[inline]
    pub fn new(context: ContextId, source: Wild<Rank>, tag: Wild<Tag>) -> Self {
        let source = match source {
            Wild::Any => Rank::UNKNOWN,
            Wild::Is(rank) => rank,
        };
        let (tag, ignore) = match tag {
            Wild::Any => (0, u64::MAX),
            Wild::Is(tag) => (tag.0, 0),
            Wild::Masked(mask) => (mask.value.0, mask.ignore),
        };
        Selector::of(Pair::new(context, source), tag, ignore)
    }

    /// A selector of three words. [`Rank::UNKNOWN`] is any source. `ignore`: tag bits that are not compared.
    #[inline(always)]
    pub fn of(pair: Pair, tag: u64, ignore: u64) -> Self {
        let any = if pair.source() == Rank::UNKNOWN { SOURCE } else { 0 };
        Selector { tag: tag & !ignore, ignore, pair: pair.0, any }
    }

    /// Accepts only messages with this envelope.
    #[inline]
    pub fn exactly(envelope: &Envelope) -> Self {
        Selector::of(envelope.pair(), envelope.tag.0, 0)
    }

    /// The context of the receive, which is never wild.
    #[inline]
    pub fn context(&self) -> ContextId {
        self.pair().context()
    }

    /// Context and source; [`Rank::UNKNOWN`] for any source.
    #[inline(always)]
    pub fn pair(&self) -> Pair {
        Pair(self.pair)
    }

    /// The tag, with zeros in the ignored bits; the ignore mask.
    #[inline(always)]
    pub fn tag_and_ignored(&self) -> (u64, u64) {
        (self.tag, self.ignore)
    }

    /// True if the selector has no wildcard.
    #[inline(always)]
    pub fn is_exact(&self) -> bool {
        self.any | self.ignore == 0
    }

    /// The source.
    #[inline]
    pub fn source(&self) -> Wild<Rank> {
        if self.any != 0 { Wild::Any } else { Wild::Is(self.pair().source()) }
    }

    /// The tag. A mask of 0 is returned as `Is`, a mask of all bits as `Any`.
    #[inline]
    pub fn tag(&self) -> Wild<Tag> {
        match self.ignore {
            0 => Wild::Is(Tag(self.tag)),
            u64::MAX => Wild::Any,
            ignore => Wild::Masked(TagMask { value: Tag(self.tag), ignore }),
        }
    }

    /// The only matching envelope of a selector without wildcards.
    #[inline]
    pub fn exact(&self) -> Option<Envelope> {
        self.is_exact().then_some(Envelope::of(self.pair(), Tag(self.tag)))
    }

    /// **The matching rule**: contexts are equal, and source and tag are each equal or a wildcard.
    #[inline]
    pub fn matches(&self, envelope: &Envelope) -> bool {
        (self.tag ^ envelope.tag.0) & !self.ignore == 0 && self.pair == envelope.pair().0 | self.any
    }

    /// The matching rule for a selector without wildcards and a message of its context.
    #[inline]
    pub(crate) fn matches_exact(&self, envelope: &Envelope) -> bool {
        debug_assert!(self.exact().is_some_and(|exact| exact.context == envelope.context));
        self.tag == envelope.tag.0 && self.pair as u32 == envelope.source.0
    }
}

impl Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// Prints `context/source/tag`, `*` for a wildcard, `value~ignore` for a masked tag (both hexadecimal).
impl Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.context().0)?;
        match self.source() {
            Wild::Any => write!(f, "*/")?,
            Wild::Is(rank) => write!(f, "{}/", rank.0)?,
        }
        match self.tag() {
            Wild::Any => write!(f, "*"),
            Wild::Is(tag) => write!(f, "{}", tag.0),
            Wild::Masked(mask) => write!(f, "{:#x}~{:#x}", mask.value.0, mask.ignore),
        }
    }
}

/// Prints `context/source/tag`, `?` for an unknown source.
impl Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Rank::UNKNOWN => write!(f, "{}/?/{}", self.context.0, self.tag.0),
            source => write!(f, "{}/{}/{}", self.context.0, source.0, self.tag.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENVELOPE: Envelope = Envelope { context: ContextId(1), source: Rank(2), tag: Tag(3) };

    fn selector_of(context: u32, source: Wild<Rank>, tag: Wild<Tag>) -> Selector {
        Selector::new(ContextId(context), source, tag)
    }

    #[test]
    fn fields_match_if_equal_or_wildcard() {
        for (selector, expected) in [
            (selector_of(1, Wild::Is(Rank(2)), Wild::Is(Tag(3))), true),
            (selector_of(1, Wild::Any, Wild::Is(Tag(3))), true),
            (selector_of(1, Wild::Is(Rank(2)), Wild::Any), true),
            (selector_of(1, Wild::Any, Wild::Any), true),
            (selector_of(0, Wild::Any, Wild::Any), false),
            (selector_of(1, Wild::Is(Rank(0)), Wild::Any), false),
            (selector_of(1, Wild::Any, Wild::Is(Tag(2))), false),
            (selector_of(1, Wild::Any, Wild::Masked(TagMask { value: Tag(0xF3), ignore: 0xF0 })), true),
            (selector_of(1, Wild::Any, Wild::Masked(TagMask { value: Tag(0xF3), ignore: 0xE0 })), false),
        ] {
            assert_eq!(selector.matches(&ENVELOPE), expected, "{selector}");
        }
    }

    #[test]
    fn unknown_source_matches_any_source_only() {
        let unknown = Envelope { source: Rank::UNKNOWN, ..ENVELOPE };
        assert!(selector_of(1, Wild::Any, Wild::Any).matches(&unknown));
        assert!(!selector_of(1, Wild::Is(Rank(2)), Wild::Any).matches(&unknown));
        assert_eq!(selector_of(1, Wild::Is(Rank::UNKNOWN), Wild::Any).source(), Wild::Any);
    }

    #[test]
    fn trivial_masks_become_exact_or_any() {
        let mask = |ignore| Wild::Masked(TagMask { value: Tag(7), ignore });
        assert_eq!(selector_of(1, Wild::Any, mask(0)).tag(), Wild::Is(Tag(7)));
        assert_eq!(selector_of(1, Wild::Any, mask(u64::MAX)).tag(), Wild::Any);
        assert_eq!(
            selector_of(1, Wild::Any, mask(3)),
            selector_of(1, Wild::Any, Wild::Masked(TagMask { value: Tag(4), ignore: 3 }))
        );
    }
}
