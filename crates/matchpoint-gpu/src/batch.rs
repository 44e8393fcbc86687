//! Messages and receives in the layout of kernels: `kernels/batch.h` in Rust.

use bytemuck::{Pod, Zeroable};
use matchpoint::{Envelope, Selector, Wild};

/// Index that means "no message".
pub const NONE: u32 = u32::MAX;

const CONTEXT_BITS: u32 = 16;
const SOURCE_BITS: u32 = 24;
const TAG_BITS: u32 = 24;
const _: () = assert!(CONTEXT_BITS + SOURCE_BITS + TAG_BITS == u64::BITS);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Layout {
    /// One word: 16 bits of context, 24 bits of source, 24 bits of tag. Envelopes fit in every application of
    /// the paper (Klenk et al. 2017, §IV). Memory reads limit a kernel's speed.
    Packed,
    /// Three words, for any envelope.
    Wide,
}

impl Layout {
    pub const ALL: [Layout; 2] = [Layout::Packed, Layout::Wide];

    pub fn envelope_words(self) -> usize {
        match self {
            Layout::Packed => 1,
            Layout::Wide => 3,
        }
    }

    pub fn mask_words(self) -> usize {
        match self {
            Layout::Packed => 1,
            Layout::Wide => 2,
        }
    }

    /// Returns false and appends nothing if the envelope does not fit.
    fn push_envelope(self, context: u32, source: u32, tag: u64, words: &mut Vec<u64>) -> bool {
        let source = u64::from(source);
        match self {
            Layout::Packed => {
                let fits = context >> CONTEXT_BITS == 0 && source >> SOURCE_BITS == 0 && tag >> TAG_BITS == 0;
                if fits {
                    words.push(u64::from(context) << (SOURCE_BITS + TAG_BITS) | source << TAG_BITS | tag);
                }
                fits
            }
            Layout::Wide => {
                words.extend([source, tag, u64::from(context)]);
                true
            }
        }
    }

    fn push_mask(self, any_source: bool, ignore: u64, words: &mut Vec<u64>) {
        let low = |bits: u32| (1u64 << bits) - 1;
        match self {
            Layout::Packed => {
                let source = if any_source { low(SOURCE_BITS) << TAG_BITS } else { 0 };
                words.push(source | ignore & low(TAG_BITS));
            }
            Layout::Wide => words.extend([ignore, u64::from(any_source)]),
        }
    }

    /// Number of receives with a wildcard, as kernels see the receives. A bit outside the layout is zero in
    /// every message and in no mask.
    fn wildcards(self, masks: &[u64]) -> usize {
        masks.chunks(self.mask_words()).filter(|open| open.iter().any(|&word| word != 0)).count()
    }
}

pub(crate) type Source = (u32, u64);

/// Messages in arrival order and receives in posted order, to match with each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    layout: Layout,
    messages: Vec<u64>,
    receives: Vec<u64>,
    masks: Vec<u64>,
    wildcards: usize,
}

impl Batch {
    /// A batch in the packed layout if all entries fit. O(messages + receives).
    pub fn of(envelopes: &[Envelope], selectors: &[Selector]) -> Batch {
        Self::in_layout(Layout::Packed, envelopes, selectors)
            .or_else(|| Self::in_layout(Layout::Wide, envelopes, selectors))
            .expect("everything fits into the wide layout")
    }

    /// Returns `None` if an entry does not fit.
    pub fn in_layout(layout: Layout, envelopes: &[Envelope], selectors: &[Selector]) -> Option<Batch> {
        let mut batch = Batch::empty(layout);
        let fits = envelopes.iter().all(|envelope| batch.push_message(envelope))
            && selectors.iter().all(|selector| batch.push_receive(selector));
        fits.then_some(batch)
    }

    pub fn empty(layout: Layout) -> Batch {
        Batch { layout, messages: Vec::new(), receives: Vec::new(), masks: Vec::new(), wildcards: 0 }
    }

    /// Returns false if the message does not fit the layout.
    pub fn push_message(&mut self, envelope: &Envelope) -> bool {
        self.layout.push_envelope(envelope.context.0, envelope.source.0, envelope.tag.0, &mut self.messages)
    }

    /// Returns false if the receive does not fit the layout.
    pub fn push_receive(&mut self, selector: &Selector) -> bool {
        let (source, any_source) = match selector.source() {
            Wild::Is(rank) => (rank.0, false),
            Wild::Any => (0, true),
            Wild::Masked(never) => match never {},
        };
        let (tag, ignore) = match selector.tag() {
            Wild::Is(tag) => (tag.0, 0),
            Wild::Any => (0, u64::MAX),
            Wild::Masked(mask) => (mask.value.0 & !mask.ignore, mask.ignore),
        };
        if !self.layout.push_envelope(selector.context().0, source, tag, &mut self.receives) {
            return false;
        }
        let at = self.masks.len();
        self.layout.push_mask(any_source, ignore, &mut self.masks);
        self.wildcards += self.layout.wildcards(&self.masks[at..]);
        true
    }

    pub fn layout(&self) -> Layout {
        self.layout
    }

    pub fn message_count(&self) -> usize {
        self.messages.len() / self.layout.envelope_words()
    }

    pub fn receive_count(&self) -> usize {
        self.masks.len() / self.layout.mask_words()
    }

    pub fn wildcards(&self) -> usize {
        self.wildcards
    }

    pub fn whole(&self) -> Segment {
        Segment {
            message: 0,
            message_end: self.message_count() as u32,
            receive: 0,
            receive_end: self.receive_count() as u32,
        }
    }

    /// Envelopes of messages and of receives, and wildcard masks.
    pub fn words(&self) -> (&[u64], &[u64], &[u64]) {
        (&self.messages, &self.receives, &self.masks)
    }

    /// Copies the selected entries: entry `i` of the copy is entry `messages[i]` or `receives[i]`.
    ///
    /// # Panics
    /// If an index is out of range.
    pub fn gathered(&self, messages: &[u32], receives: &[u32]) -> Batch {
        let gather = |words: &[u64], width: usize, order: &[u32]| {
            order.iter().flat_map(|&index| words[index as usize * width..][..width].iter().copied()).collect()
        };
        let width = self.layout.envelope_words();
        let masks: Vec<u64> = gather(&self.masks, self.layout.mask_words(), receives);
        Batch {
            layout: self.layout,
            messages: gather(&self.messages, width, messages),
            receives: gather(&self.receives, width, receives),
            wildcards: self.layout.wildcards(&masks),
            masks,
        }
    }

    pub fn segment(&self, segment: &Segment) -> Batch {
        let messages: Vec<u32> = (segment.message..segment.message_end).collect();
        let receives: Vec<u32> = (segment.receive..segment.receive_end).collect();
        self.gathered(&messages, &receives)
    }

    /// # Panics
    /// If the layouts differ.
    pub fn append(&mut self, other: &Batch) {
        assert_eq!(self.layout, other.layout);
        self.messages.extend(&other.messages);
        self.receives.extend(&other.receives);
        self.masks.extend(&other.masks);
        self.wildcards += other.wildcards;
    }

    /// Context and source of each message and of each receive. `None` for an any-source receive.
    pub(crate) fn sources(&self) -> (Vec<Source>, Vec<Option<Source>>) {
        let of = |word: &[u64]| match self.layout {
            Layout::Packed => {
                let source = word[0] >> TAG_BITS & ((1 << SOURCE_BITS) - 1);
                ((word[0] >> (SOURCE_BITS + TAG_BITS)) as u32, source)
            }
            Layout::Wide => (word[2] as u32, word[0]),
        };
        let any_source = |open: &[u64]| match self.layout {
            Layout::Packed => open[0] >> TAG_BITS != 0,
            Layout::Wide => open[1] != 0,
        };
        let width = self.layout.envelope_words();
        let receives = self.receives.chunks(width).zip(self.masks.chunks(self.layout.mask_words()));
        let receives = receives.map(|(word, open)| (!any_source(open)).then(|| of(word)));
        (self.messages.chunks(width).map(of).collect(), receives.collect())
    }
}

/// Index ranges of the messages and receives that match with each other.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Pod, Zeroable)]
pub struct Segment {
    pub message: u32,
    /// Exclusive.
    pub message_end: u32,
    pub receive: u32,
    /// Exclusive.
    pub receive_end: u32,
}

impl Segment {
    pub(crate) fn longer_side(&self) -> usize {
        (self.message_end - self.message).max(self.receive_end - self.receive) as usize
    }

    pub(crate) fn shorter_side(&self) -> usize {
        (self.message_end - self.message).min(self.receive_end - self.receive) as usize
    }
}

#[cfg(test)]
mod tests {
    use matchpoint::{ContextId, Rank, Tag, TagMask};

    use super::*;

    fn envelope(context: u32, source: u64, tag: u64) -> Envelope {
        Envelope::new(ContextId(context), Rank(source as u32), Tag(tag))
    }

    #[test]
    fn batch_is_packed_if_it_fits() {
        let fits = envelope((1 << 16) - 1, (1 << 24) - 1, (1 << 24) - 1);
        assert_eq!(Batch::of(&[fits], &[]).layout(), Layout::Packed);
        for beyond in [envelope(1 << 16, 0, 0), envelope(0, 1 << 24, 0), envelope(0, 0, 1 << 24)] {
            let batch = Batch::of(&[fits, beyond], &[]);
            assert_eq!(batch.layout(), Layout::Wide);
            assert_eq!(batch.message_count(), 2);
        }
    }

    #[test]
    fn ignored_tag_bits_need_not_fit() {
        let mask = TagMask { value: Tag(1 << 40 | 5), ignore: !0xff };
        let masked = Selector::new(ContextId(0), Wild::Is(Rank(1)), Wild::Masked(mask));
        let batch = Batch::of(&[], &[masked]);
        assert_eq!((batch.layout(), batch.receive_count(), batch.wildcards()), (Layout::Packed, 1, 1));
    }

    #[test]
    fn sources_are_equal_in_both_layouts() {
        let envelopes = [envelope(3, 7, 9), envelope(0, 1, 2)];
        let receives = [
            Selector::new(ContextId(3), Wild::Is(Rank(7)), Wild::Any),
            Selector::new(ContextId(3), Wild::Any, Wild::Is(Tag(1))),
        ];
        for layout in Layout::ALL {
            let batch = Batch::in_layout(layout, &envelopes, &receives).unwrap();
            assert_eq!(batch.sources(), (vec![(3, 7), (0, 1)], vec![Some((3, 7)), None]));
            let gathered = batch.gathered(&[1], &[1, 0]);
            assert_eq!(gathered.sources(), (vec![(0, 1)], vec![None, Some((3, 7))]));
            assert_eq!(gathered.wildcards(), 2);
        }
    }
}
