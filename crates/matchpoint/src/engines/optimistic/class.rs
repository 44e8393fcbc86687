//! Wildcard classes of receives, each with a separate index and key (paper §III-B).

use crate::envelope::{ContextId, Envelope, Rank, Selector, Tag, Wild};
use crate::hashes::Hashes;
use crate::hints::Hints;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engines) enum Class {
    /// The key is (source, tag).
    NoWildcard,
    /// The key is the tag.
    AnySource,
    /// Any tag, or an ignore mask, which the paper does not have; the key is the source.
    AnyTag,
    /// Any source, and any tag or a mask; a single list.
    AnySourceAnyTag,
}

/// Classes in search order. A match limits later searches to older receives.
pub(super) const CLASSES: [Class; 4] =
    [Class::NoWildcard, Class::AnySource, Class::AnyTag, Class::AnySourceAnyTag];

impl Class {
    #[inline]
    pub(super) fn of(selector: &Selector) -> Self {
        match (selector.source(), selector.tag()) {
            (Wild::Is(_), Wild::Is(_)) => Class::NoWildcard,
            (_, Wild::Is(_)) => Class::AnySource,
            (Wild::Is(_), _) => Class::AnyTag,
            _ => Class::AnySourceAnyTag,
        }
    }

    #[inline]
    pub(super) fn key(self, hashes: Hashes) -> u32 {
        match self {
            Class::NoWildcard => hashes.source_and_tag(),
            Class::AnySource => hashes.tag(),
            Class::AnyTag => hashes.source(),
            Class::AnySourceAnyTag => 0,
        }
    }

    #[inline]
    pub(super) fn key_of(self, selector: &Selector) -> u32 {
        let source = if let Wild::Is(source) = selector.source() { source } else { Rank(0) };
        let tag = if let Wild::Is(tag) = selector.tag() { tag } else { Tag(0) };
        self.key(Hashes::of(&Envelope::new(ContextId(0), source, tag)))
    }

    /// True if the assertions allow this class (paper §IV-E, §VII).
    pub(super) fn is_admitted(self, hints: Hints) -> bool {
        let any_source = matches!(self, Class::AnySource | Class::AnySourceAnyTag);
        let any_tag = matches!(self, Class::AnyTag | Class::AnySourceAnyTag);
        !(any_source && hints.no_any_source || any_tag && hints.no_any_tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::TagMask;

    const ENVELOPE: Envelope = Envelope { context: ContextId(1), source: Rank(2), tag: Tag(0x37) };

    #[test]
    fn receive_and_matching_message_share_key() {
        let masked = Wild::Masked(TagMask { value: Tag(0x30), ignore: 0xF });
        for (source, tag, class) in [
            (Wild::Is(Rank(2)), Wild::Is(Tag(0x37)), Class::NoWildcard),
            (Wild::Any, Wild::Is(Tag(0x37)), Class::AnySource),
            (Wild::Is(Rank(2)), Wild::Any, Class::AnyTag),
            (Wild::Is(Rank(2)), masked, Class::AnyTag),
            (Wild::Any, Wild::Any, Class::AnySourceAnyTag),
            (Wild::Any, masked, Class::AnySourceAnyTag),
        ] {
            let selector = Selector::new(ContextId(1), source, tag);
            assert!(selector.matches(&ENVELOPE));
            assert_eq!(Class::of(&selector), class, "{selector}");
            assert_eq!(class.key_of(&selector), class.key(Hashes::of(&ENVELOPE)), "{selector}");
        }
    }

    #[test]
    fn assertions_exclude_wildcard_classes() {
        let admitted = |no_any_source, no_any_tag| {
            let hints = Hints { no_any_source, no_any_tag, ..Hints::default() };
            CLASSES.map(|class| class.is_admitted(hints))
        };
        assert_eq!(admitted(false, false), [true; 4]);
        assert_eq!(admitted(true, false), [true, false, true, false]);
        assert_eq!(admitted(false, true), [true, true, false, false]);
        assert_eq!(admitted(true, true), [true, false, false, false]);
    }
}
