//! Compact envelopes and selectors of traces: 16 bytes. The engines' types have up to 32, for 64-bit tags and
//! masks.

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
    /// Wildcards. An invented message with unknown fields has those of its receive, and only such receives
    /// accept it.
    open: u8,
}

/// Wildcards of a label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Open(u8);

impl Open {
    /// Number of wildcard classes, including the exact one.
    pub const WAYS: usize = 4;

    /// Index of the wildcard class; 0 is exact.
    #[inline]
    pub fn way(self) -> usize {
        usize::from(self.0)
    }

    /// Classes that include these wildcards.
    #[inline]
    pub fn and_more(self) -> impl Iterator<Item = Open> {
        (0..Open::WAYS as u8).filter(move |way| way & self.0 == self.0).map(Open)
    }
}

impl Label {
    #[inline]
    pub fn exact(context: u32, source: u32, tag: u32) -> Self {
        Label { context, source, tag, open: 0 }
    }

    /// Selector of a receive.
    #[inline]
    pub fn asked(membership: Membership, args: &ReceiveArgs) -> Self {
        let (source, open_source) = match args.source {
            Peer::Rank(rank) => (rank, 0),
            _ => (0, SOURCE),
        };
        let (tag, open_tag) = match args.tag {
            TagArg::Is(tag) => (tag as u32, 0),
            TagArg::Any => (0, TAG),
        };
        Label { context: membership.context, source, tag, open: open_source | open_tag }
    }

    /// Envelope of an invented message: fields of the selector, else of the recorded status, else wild.
    pub fn made_up(self, expected: Option<StatusEnvelope>) -> Self {
        let mut label = self;
        if let (true, Some(source)) = (self.any_source(), expected.and_then(StatusEnvelope::source)) {
            label = Label { source, open: label.open & !SOURCE, ..label };
        }
        if let (true, Some(tag)) = (self.any_tag(), expected.and_then(StatusEnvelope::tag)) {
            label = Label { tag: tag as u32, open: label.open & !TAG, ..label };
        }
        label
    }

    #[inline]
    pub fn opened(self, open: Open) -> Self {
        let source = if open.0 & SOURCE != 0 { 0 } else { self.source };
        let tag = if open.0 & TAG != 0 { 0 } else { self.tag };
        Label { source, tag, open: open.0, ..self }
    }

    #[inline]
    pub fn open(self) -> Open {
        Open(self.open)
    }

    #[inline]
    pub fn is_exact(self) -> bool {
        self.open == 0
    }

    #[inline]
    pub fn any_source(self) -> bool {
        self.open & SOURCE != 0
    }

    #[inline]
    pub fn any_tag(self) -> bool {
        self.open & TAG != 0
    }

    #[inline]
    pub fn context(self) -> u32 {
        self.context
    }

    #[inline]
    pub fn source(self) -> Option<u32> {
        (!self.any_source()).then_some(self.source)
    }

    /// As in a status. Wild fields are 0.
    #[inline]
    pub fn reported(self) -> (u32, i32) {
        (self.source, self.tag as i32)
    }

    /// MPI's matching rule.
    #[inline]
    pub fn accepts(self, message: Label) -> bool {
        let (open, same_source, same_tag) =
            (self.open, self.source == message.source, self.tag == message.tag);
        self.context == message.context
            && (open & SOURCE != 0 || (same_source && message.open & SOURCE == 0))
            && (open & TAG != 0 || (same_tag && message.open & TAG == 0))
    }

    /// Multiply-shift (Dietzfelbinger et al. 1997): the upper bits are the best. The halves of the factor are
    /// 2³² ÷ the golden ratio, for the tag, and 2³² × the fractional part of √2, for the source. With 2⁶⁴ ÷
    /// the golden ratio, sixteen consecutive sources share four of sixteen bins.
    #[inline]
    pub fn hash(self) -> u64 {
        let key = u64::from(self.source) << 32 | u64::from(self.tag);
        let context = u64::from(self.context).wrapping_mul(0xA076_1D64_78BD_642F);
        key.wrapping_mul(0x9E37_79B9_6A09_E667).wrapping_add(context)
    }

    pub fn envelope(self) -> Envelope {
        let source = self.source().map_or(Rank::UNKNOWN, Rank);
        let tag = if self.any_tag() { Tag(u64::MAX) } else { Tag(self.tag.into()) };
        Envelope::new(ContextId(self.context), source, tag)
    }

    pub fn selector(self) -> Selector {
        let source = self.source().map_or(Wild::Any, |source| Wild::Is(Rank(source)));
        let tag = if self.any_tag() { Wild::Any } else { Wild::Is(Tag(self.tag.into())) };
        Selector::new(ContextId(self.context), source, tag)
    }

    /// Wild fields are 0.
    pub fn of_envelope(envelope: &Envelope) -> Self {
        let Envelope { context, source, tag } = *envelope;
        let open_source = if source == Rank::UNKNOWN { SOURCE } else { 0 };
        let open_tag = if tag == Tag(u64::MAX) { TAG } else { 0 };
        Label { context: context.0, source: source.0, tag: tag.0 as u32, open: 0 }
            .opened(Open(open_source | open_tag))
    }

    /// Wild fields are 0.
    pub fn of_selector(selector: &Selector) -> Self {
        let (source, open_source) = match selector.source() {
            Wild::Is(source) => (source.0, 0),
            _ => (0, SOURCE),
        };
        let (tag, open_tag) = match selector.tag() {
            Wild::Is(tag) => (tag.0 as u32, 0),
            _ => (0, TAG),
        };
        Label { context: selector.context().0, source, tag, open: open_source | open_tag }
    }
}

#[cfg(test)]
impl Label {
    pub fn any(context: u32) -> Self {
        Label { context, source: 0, tag: 0, open: SOURCE | TAG }
    }

    pub fn open_source(self) -> Self {
        Label { source: 0, open: self.open | SOURCE, ..self }
    }

    pub fn open_tag(self) -> Self {
        Label { tag: 0, open: self.open | TAG, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bins_are_used_alike() {
        let sources: Vec<_> = (0..16).map(|source| Label::exact(0, source, 5)).collect();
        let tags: Vec<_> = (0..16).map(|tag| Label::exact(0, 5, tag)).collect();
        let both: Vec<_> = (0..16).map(|at| Label::exact(0, at % 4, at / 4)).collect();
        for (what, labels) in [("sources", sources), ("tags", tags), ("both", both)] {
            let mut bins = [0; 16];
            labels.iter().for_each(|label| bins[(label.hash() >> 60) as usize] += 1);
            assert!(bins.iter().all(|&count| count <= 3), "{what}: {bins:?}");
        }
    }

    #[test]
    fn the_rule_is_the_engines() {
        let some =
            [Label::exact(0, 1, 2), Label::exact(0, 1, 3), Label::exact(0, 2, 2), Label::exact(1, 1, 2)];
        let all: Vec<Label> =
            some.iter().flat_map(|l| [*l, l.open_source(), l.open_tag(), Label::any(l.context)]).collect();
        for asked in &all {
            for message in &all {
                let expected = asked.selector().matches(&message.envelope());
                let (selector, envelope) = (asked.selector(), message.envelope());
                let again = Label::of_selector(&selector).accepts(Label::of_envelope(&envelope));
                assert_eq!(again, expected, "{asked:?} {message:?}");
                assert_eq!(asked.accepts(*message), expected, "{asked:?} {message:?}");
                if asked.is_exact() {
                    assert_eq!(asked == message, expected, "{asked:?} {message:?}");
                }
            }
        }
    }
}
