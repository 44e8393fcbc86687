//! Labels: compact envelopes and selectors of traces, with 16 bytes. The engines' types have up to 32 bytes,
//! for 64-bit tags and masks.

use matchpoint::{ContextId, Envelope, Rank, Selector, Tag, Wild};
use matchpoint_trace::call::{Peer, ReceiveArgs, TagArg};

use crate::communicators::communicator::Membership;
use crate::status_envelope::StatusEnvelope;

const SOURCE: u8 = 1;
const TAG: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label {
    context: u32,
    source: u32,
    tag: u32,
    /// An invented message with unknown fields has the wildcards of its receive, and only receives with these
    /// wildcards accept the message.
    wildcards: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WildcardClass(u8);

impl WildcardClass {
    pub const COUNT: usize = 4;

    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    #[inline]
    pub fn supersets(self) -> impl Iterator<Item = WildcardClass> {
        (0..WildcardClass::COUNT as u8).filter(move |way| way & self.0 == self.0).map(WildcardClass)
    }
}

impl Label {
    #[inline]
    pub fn exact(context: u32, source: u32, tag: u32) -> Self {
        Label { context, source, tag, wildcards: 0 }
    }

    #[inline]
    pub fn from_receive(membership: Membership, args: &ReceiveArgs) -> Self {
        let (source, open_source) = match args.source {
            Peer::Rank(rank) => (rank, 0),
            _ => (0, SOURCE),
        };
        let (tag, open_tag) = match args.tag {
            TagArg::Is(tag) => (tag as u32, 0),
            TagArg::Any => (0, TAG),
        };
        Label { context: membership.context, source, tag, wildcards: open_source | open_tag }
    }

    pub fn invent_envelope(self, expected: Option<StatusEnvelope>) -> Self {
        let mut label = self;
        if let (true, Some(source)) = (self.is_any_source(), expected.and_then(StatusEnvelope::source)) {
            label = Label { source, wildcards: label.wildcards & !SOURCE, ..label };
        }
        if let (true, Some(tag)) = (self.is_any_tag(), expected.and_then(StatusEnvelope::tag)) {
            label = Label { tag: tag as u32, wildcards: label.wildcards & !TAG, ..label };
        }
        label
    }

    #[inline]
    pub fn with_class(self, wildcards: WildcardClass) -> Self {
        let source = if wildcards.0 & SOURCE != 0 { 0 } else { self.source };
        let tag = if wildcards.0 & TAG != 0 { 0 } else { self.tag };
        Label { source, tag, wildcards: wildcards.0, ..self }
    }

    #[inline]
    pub fn wildcards(self) -> WildcardClass {
        WildcardClass(self.wildcards)
    }

    #[inline]
    pub fn is_exact(self) -> bool {
        self.wildcards == 0
    }

    #[inline]
    pub fn is_any_source(self) -> bool {
        self.wildcards & SOURCE != 0
    }

    #[inline]
    pub fn is_any_tag(self) -> bool {
        self.wildcards & TAG != 0
    }

    #[inline]
    pub fn context(self) -> u32 {
        self.context
    }

    #[inline]
    pub fn source(self) -> Option<u32> {
        (!self.is_any_source()).then_some(self.source)
    }

    #[inline]
    pub fn source_and_tag(self) -> (u32, i32) {
        (self.source, self.tag as i32)
    }

    #[inline]
    pub fn accepts(self, message: Label) -> bool {
        let (wildcards, same_source, same_tag) =
            (self.wildcards, self.source == message.source, self.tag == message.tag);
        self.context == message.context
            && (wildcards & SOURCE != 0 || (same_source && message.wildcards & SOURCE == 0))
            && (wildcards & TAG != 0 || (same_tag && message.wildcards & TAG == 0))
    }

    /// Multiply-shift hashing (Dietzfelbinger et al. 1997): the upper bits of the product are mixed best. The
    /// factor's halves are 2³² ÷ the golden ratio for the tag, and 2³² × the fractional part of √2 for the
    /// source. With the factor 2⁶⁴ ÷ the golden ratio, sixteen consecutive sources share four of sixteen
    /// bins.
    #[inline]
    pub fn hash(self) -> u64 {
        let key = u64::from(self.source) << 32 | u64::from(self.tag);
        let context = u64::from(self.context).wrapping_mul(0xA076_1D64_78BD_642F);
        key.wrapping_mul(0x9E37_79B9_6A09_E667).wrapping_add(context)
    }

    pub fn to_envelope(self) -> Envelope {
        let source = self.source().map_or(Rank::UNKNOWN, Rank);
        let tag = if self.is_any_tag() { Tag(u64::MAX) } else { Tag(self.tag.into()) };
        Envelope::new(ContextId(self.context), source, tag)
    }

    pub fn to_selector(self) -> Selector {
        let source = self.source().map_or(Wild::Any, |source| Wild::Is(Rank(source)));
        let tag = if self.is_any_tag() { Wild::Any } else { Wild::Is(Tag(self.tag.into())) };
        Selector::new(ContextId(self.context), source, tag)
    }

    pub fn from_envelope(envelope: &Envelope) -> Self {
        let Envelope { context, source, tag } = *envelope;
        let open_source = if source == Rank::UNKNOWN { SOURCE } else { 0 };
        let open_tag = if tag == Tag(u64::MAX) { TAG } else { 0 };
        Label { context: context.0, source: source.0, tag: tag.0 as u32, wildcards: 0 }
            .with_class(WildcardClass(open_source | open_tag))
    }

    pub fn from_selector(selector: &Selector) -> Self {
        let (source, open_source) = match selector.source() {
            Wild::Is(source) => (source.0, 0),
            _ => (0, SOURCE),
        };
        let (tag, open_tag) = match selector.tag() {
            Wild::Is(tag) => (tag.0 as u32, 0),
            _ => (0, TAG),
        };
        Label { context: selector.context().0, source, tag, wildcards: open_source | open_tag }
    }
}

#[cfg(test)]
impl Label {
    pub fn any(context: u32) -> Self {
        Label { context, source: 0, tag: 0, wildcards: SOURCE | TAG }
    }

    pub fn with_any_source(self) -> Self {
        Label { source: 0, wildcards: self.wildcards | SOURCE, ..self }
    }

    pub fn with_any_tag(self) -> Self {
        Label { tag: 0, wildcards: self.wildcards | TAG, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_fill_bins_evenly() {
        let sources: Vec<_> = (0..16).map(|source| Label::exact(0, source, 5)).collect();
        let tags: Vec<_> = (0..16).map(|tag| Label::exact(0, 5, tag)).collect();
        let both: Vec<_> = (0..16).map(|at| Label::exact(0, at % 4, at / 4)).collect();
        for (name, labels) in [("sources", sources), ("tags", tags), ("both", both)] {
            let mut bins = [0; 16];
            labels.iter().for_each(|label| bins[(label.hash() >> 60) as usize] += 1);
            assert!(bins.iter().all(|&count| count <= 3), "{name}: {bins:?}");
        }
    }

    #[test]
    fn labels_match_as_engine_selectors() {
        let some =
            [Label::exact(0, 1, 2), Label::exact(0, 1, 3), Label::exact(0, 2, 2), Label::exact(1, 1, 2)];
        let all: Vec<Label> = some
            .iter()
            .flat_map(|l| [*l, l.with_any_source(), l.with_any_tag(), Label::any(l.context)])
            .collect();
        for selector in &all {
            for message in &all {
                let expected = selector.to_selector().matches(&message.to_envelope());
                let (engine_selector, envelope) = (selector.to_selector(), message.to_envelope());
                let again = Label::from_selector(&engine_selector).accepts(Label::from_envelope(&envelope));
                assert_eq!(again, expected, "{selector:?} {message:?}");
                assert_eq!(selector.accepts(*message), expected, "{selector:?} {message:?}");
                if selector.is_exact() {
                    assert_eq!(selector == message, expected, "{selector:?} {message:?}");
                }
            }
        }
    }
}
