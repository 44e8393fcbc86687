//! The rule: when does a message match a receive? (MPI-4.1 §3.2.3, §3.2.4, §3.5)

use std::convert::Infallible;
use std::fmt::{self, Debug, Display};

/// What keeps the messages of one communicator apart from those of another (MPI-4.1 §3.2.3).
///
/// An id is local to one process, and may be reused once [`Engine::close`](crate::Engine::close) has been called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ContextId(pub u32);

/// Who sent a message: a rank in the communicator, or a libfabric address (hence 64 bits).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Rank(pub u64);

impl Rank {
    /// The source of a message whose sender will be learned later (libfabric's `FI_ADDR_UNSPEC`): until
    /// [`Engine::readdress`](crate::Engine::readdress) names it, only receives from any source match.
    pub const UNKNOWN: Rank = Rank(u64::MAX);
}

/// What a message carries beside its source. MPI's tags are non-negative `int`s; libfabric's and Portals' are 64 bits.
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    /// The communicator's context.
    pub context: ContextId,
    /// Who sent it.
    pub source: Rank,
    /// Its tag.
    pub tag: Tag,
}

impl Envelope {
    /// An envelope of its three fields.
    pub fn new(context: ContextId, source: Rank, tag: Tag) -> Self {
        Envelope { context, source, tag }
    }
}

/// What a receive (or a probe) asks for.
///
/// Kept in a form that makes the rule three comparisons, whatever is left open; [`Selector::source`] and
/// [`Selector::tag`] give the fields back as [`Wild`]s.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Selector {
    tag: u64,
    ignore: u64,
    source: u64,
    context: ContextId,
    any_source: bool,
}

impl Selector {
    /// A selector of its three fields. `Is(Rank::UNKNOWN)` is any source, as `FI_ADDR_UNSPEC` is in a receive.
    #[inline]
    pub fn new(context: ContextId, source: Wild<Rank>, tag: Wild<Tag>) -> Self {
        let (any_source, source) = match source {
            Wild::Any | Wild::Is(Rank::UNKNOWN) => (true, 0),
            Wild::Is(rank) => (false, rank.0),
        };
        let (tag, ignore) = match tag {
            Wild::Any => (0, u64::MAX),
            Wild::Is(tag) => (tag.0, 0),
            Wild::Masked(mask) => (mask.value.0 & !mask.ignore, mask.ignore),
        };
        Selector { tag, ignore, source, context, any_source }
    }

    /// The selector that only `envelope`'s like matches.
    #[inline]
    pub fn exactly(envelope: &Envelope) -> Self {
        Selector::new(envelope.context, Wild::Is(envelope.source), Wild::Is(envelope.tag))
    }

    /// The context it is confined to: contexts cannot be left open.
    #[inline]
    pub fn context(&self) -> ContextId {
        self.context
    }

    /// What it asks of the source.
    #[inline]
    pub fn source(&self) -> Wild<Rank> {
        if self.any_source { Wild::Any } else { Wild::Is(Rank(self.source)) }
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

    /// What it asks for, with zeros for what it leaves open; whether that is the source; and which bits of the tag.
    #[inline]
    pub(crate) fn parts(&self) -> (Envelope, bool, u64) {
        let asked = Envelope { context: self.context, source: Rank(self.source), tag: Tag(self.tag) };
        (asked, self.any_source, self.ignore)
    }

    /// The one envelope it accepts, if it leaves nothing open.
    #[inline]
    pub fn exact(&self) -> Option<Envelope> {
        (!self.any_source && self.ignore == 0).then_some(Envelope {
            context: self.context,
            source: Rank(self.source),
            tag: Tag(self.tag),
        })
    }

    /// **The rule**: contexts are equal, and source and tag are each equal or left open.
    #[inline]
    pub fn matches(&self, envelope: &Envelope) -> bool {
        (self.tag ^ envelope.tag.0) & !self.ignore == 0
            && (self.any_source || self.source == envelope.source.0)
            && self.context == envelope.context
    }

    /// The rule, of a selector that leaves nothing open, and a message of its context.
    #[inline]
    pub(crate) fn names(&self, envelope: &Envelope) -> bool {
        debug_assert!(self.exact().is_some_and(|exact| exact.context == envelope.context));
        self.tag == envelope.tag.0 && self.source == envelope.source.0
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
        write!(f, "{}/", self.context.0)?;
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
