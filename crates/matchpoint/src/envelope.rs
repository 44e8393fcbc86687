//! The rule: when does a message match a receive? (MPI-4.1 §3.2.3, §3.2.4, §3.5)

use std::convert::Infallible;
use std::fmt::{self, Debug, Display};

/// What keeps the messages of one communicator apart from those of another (MPI-4.1 §3.2.3).
///
/// An id is local to one process, and may be reused once [`Engine::close`](crate::Engine::close) has been called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ContextId(pub u32);

/// The sender of a message: a rank in the communicator. A caller with addresses of 64 bits gives each a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Rank(pub u32);

impl Rank {
    /// The source of a message whose sender will be learned later (libfabric's `FI_ADDR_UNSPEC`): until
    /// [`Engine::readdress`](crate::Engine::readdress) names it, only receives from any source match.
    pub const UNKNOWN: Rank = Rank(u32::MAX);
}

/// Context and source of a message, or of a receive from one source, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Pair(pub u64);

/// The bits of a [`Pair`] that hold the source.
const SOURCE: u64 = 0xFFFF_FFFF;

impl Pair {
    /// The context in the upper half, the source in the lower half.
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

/// The tag of a message. MPI's tags are non-negative `int`s; libfabric's and Portals' are 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Tag(pub u64);

/// A 64-bit tag of which the bits set in `ignore` do not count (libfabric's and Portals' ignore mask).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TagMask {
    /// The value that the bits which count must have.
    pub value: Tag,
    /// One in every bit that does not count.
    pub ignore: u64,
}

/// A field that a receive may leave open.
pub trait Field: Copy {
    /// What [`Wild::Masked`] holds: [`Infallible`] for a field that knows no mask.
    type Mask: Copy + Debug + PartialEq;
}

impl Field for Rank {
    type Mask = Infallible;
}

impl Field for Tag {
    type Mask = TagMask;
}

/// What a receive asks of one field of the envelope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wild<T: Field> {
    /// Left open: `MPI_ANY_SOURCE`, `MPI_ANY_TAG`.
    Any,
    /// Just this value.
    Is(T),
    /// This value, in the bits that count.
    Masked(T::Mask),
}

/// What a message says of itself. Always fully specified, but for [`Rank::UNKNOWN`].
///
/// The tag separates context and source: next to each other the compiler would load both at once after it stored each, and the
/// processor would wait.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(C)]
pub struct Envelope {
    /// The communicator's context.
    pub context: ContextId,
    /// Its tag.
    pub tag: Tag,
    /// Who sent it.
    pub source: Rank,
}

impl Envelope {
    /// An envelope of its three fields.
    pub fn new(context: ContextId, source: Rank, tag: Tag) -> Self {
        Envelope { context, source, tag }
    }

    /// An envelope of the two words that an engine gets.
    #[inline(always)]
    pub fn of(pair: Pair, tag: Tag) -> Self {
        Envelope { context: pair.context(), source: pair.source(), tag }
    }

    /// Its context and source.
    #[inline(always)]
    pub fn pair(&self) -> Pair {
        Pair::new(self.context, self.source)
    }
}

/// What a receive (or a probe) asks for.
///
/// Its form makes the rule two comparisons, with any wildcard; [`Selector::source`] and [`Selector::tag`] return the
/// fields as [`Wild`]s.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Selector {
    /// Zero in the bits of `ignore`.
    tag: u64,
    ignore: u64,
    /// Ones in the bits of `any`.
    pair: u64,
    /// [`SOURCE`] if it accepts any source, else 0.
    any: u64,
}

impl Selector {
    /// A selector of its three fields. `Is(Rank::UNKNOWN)` is any source, as `FI_ADDR_UNSPEC` is in a receive.
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

    /// A selector of three words. A source of [`Rank::UNKNOWN`] is any source. Bits of `ignore` do not count in the tag.
    #[inline(always)]
    pub fn of(pair: Pair, tag: u64, ignore: u64) -> Self {
        let any = if pair.source() == Rank::UNKNOWN { SOURCE } else { 0 };
        Selector { tag: tag & !ignore, ignore, pair: pair.0, any }
    }

    /// The selector that accepts only messages with this envelope.
    #[inline]
    pub fn exactly(envelope: &Envelope) -> Self {
        Selector::of(envelope.pair(), envelope.tag.0, 0)
    }

    /// The context: it cannot be left open.
    #[inline]
    pub fn context(&self) -> ContextId {
        self.pair().context()
    }

    /// The context and the source. [`Rank::UNKNOWN`]: any source.
    #[inline(always)]
    pub fn pair(&self) -> Pair {
        Pair(self.pair)
    }

    /// The tag, with zeros in the bits that do not count, and these bits.
    #[inline(always)]
    pub fn tag_and_ignored(&self) -> (u64, u64) {
        (self.tag, self.ignore)
    }

    /// True if the receive names its source and the whole tag.
    #[inline(always)]
    pub fn is_exact(&self) -> bool {
        self.any | self.ignore == 0
    }

    /// What it asks of the source.
    #[inline]
    pub fn source(&self) -> Wild<Rank> {
        if self.any != 0 { Wild::Any } else { Wild::Is(self.pair().source()) }
    }

    /// What it asks of the tag: a mask that ignores nothing reads back as `Is`, one that ignores all as `Any`.
    #[inline]
    pub fn tag(&self) -> Wild<Tag> {
        match self.ignore {
            0 => Wild::Is(Tag(self.tag)),
            u64::MAX => Wild::Any,
            ignore => Wild::Masked(TagMask { value: Tag(self.tag), ignore }),
        }
    }

    /// The one envelope it accepts, if it has no wildcard.
    #[inline]
    pub fn exact(&self) -> Option<Envelope> {
        self.is_exact().then_some(Envelope::of(self.pair(), Tag(self.tag)))
    }

    /// **The rule**: contexts are equal, and source and tag are each equal or left open.
    #[inline]
    pub fn matches(&self, envelope: &Envelope) -> bool {
        (self.tag ^ envelope.tag.0) & !self.ignore == 0 && self.pair == envelope.pair().0 | self.any
    }

    /// The rule, for a selector without wildcards and a message of its context.
    #[inline]
    pub(crate) fn names(&self, envelope: &Envelope) -> bool {
        debug_assert!(self.exact().is_some_and(|exact| exact.context == envelope.context));
        self.tag == envelope.tag.0 && self.pair as u32 == envelope.source.0
    }
}

impl Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// `context/source/tag`, `*` for what is left open, `value~ignore` for a masked tag (both hexadecimal).
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

/// `context/source/tag`, `?` for a source not known yet.
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

    fn asks(context: u32, source: Wild<Rank>, tag: Wild<Tag>) -> Selector {
        Selector::new(ContextId(context), source, tag)
    }

    #[test]
    fn each_field_is_equal_or_left_open() {
        for (selector, expected) in [
            (asks(1, Wild::Is(Rank(2)), Wild::Is(Tag(3))), true),
            (asks(1, Wild::Any, Wild::Is(Tag(3))), true),
            (asks(1, Wild::Is(Rank(2)), Wild::Any), true),
            (asks(1, Wild::Any, Wild::Any), true),
            (asks(0, Wild::Any, Wild::Any), false),
            (asks(1, Wild::Is(Rank(0)), Wild::Any), false),
            (asks(1, Wild::Any, Wild::Is(Tag(2))), false),
            (asks(1, Wild::Any, Wild::Masked(TagMask { value: Tag(0xF3), ignore: 0xF0 })), true),
            (asks(1, Wild::Any, Wild::Masked(TagMask { value: Tag(0xF3), ignore: 0xE0 })), false),
        ] {
            assert_eq!(selector.matches(&ENVELOPE), expected, "{selector}");
        }
    }

    #[test]
    fn only_any_source_matches_an_unknown_source() {
        let unknown = Envelope { source: Rank::UNKNOWN, ..ENVELOPE };
        assert!(asks(1, Wild::Any, Wild::Any).matches(&unknown));
        assert!(!asks(1, Wild::Is(Rank(2)), Wild::Any).matches(&unknown));
        assert_eq!(asks(1, Wild::Is(Rank::UNKNOWN), Wild::Any).source(), Wild::Any);
    }

    #[test]
    fn masks_read_back_as_the_plainest_form() {
        let mask = |ignore| Wild::Masked(TagMask { value: Tag(7), ignore });
        assert_eq!(asks(1, Wild::Any, mask(0)).tag(), Wild::Is(Tag(7)));
        assert_eq!(asks(1, Wild::Any, mask(u64::MAX)).tag(), Wild::Any);
        assert_eq!(
            asks(1, Wild::Any, mask(3)),
            asks(1, Wild::Any, Wild::Masked(TagMask { value: Tag(4), ignore: 3 }))
        );
    }
}
