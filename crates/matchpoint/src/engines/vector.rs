//! `vector`: sources in one array, tags in another, both compared by SIMD (fuzzy paper §IV-A).
//!
//! A block has 64 sources and 64 tags of 32 bits, and in the posted queue a mask of each, as in Open MPI's
//! `vectors`. An arrival reads masks only in blocks with wildcards.
//!
//! Differences from the paper: the halves of a 64-bit tag are combined by exclusive or, and hits are
//! verified. One queue has the entries of all communicators, and the context is folded into the source.

use super::{Arguments, Built, NameError, Parameter, Spec};
use crate::blocks::Keys;
use crate::effort::Attempts;
use crate::engine::{Message, Receive};
use crate::envelope::{Envelope, Selector, Wild};
use crate::scan::{Kernel, LANES, Lanes};
use crate::scan_engine::{ScanEngine, Scheme};

pub(super) const SPEC: Spec = Spec {
    name: "vector",
    summary: "sources and tags in arrays, compared 16 at a time by SIMD (fuzzy paper §IV-A)",
    parameters: &[ISA],
    variants: &[],
    tight: &[],
    build,
};

pub(super) const ISA: Parameter = Parameter {
    key: "isa",
    default: "auto",
    meaning: "instruction set: avx512, avx2, sse2, neon, scalar; auto: the value of MATCHPOINT_ISA, else the fastest of this processor",
};

pub(super) fn kernel(arguments: &Arguments<'_>) -> Result<Kernel, NameError> {
    let isa: String = arguments.get(ISA.key)?;
    Kernel::named(&isa)
        .map_err(|error| NameError::new("the instruction set is not available", error.to_string()))
}

fn build(arguments: &Arguments<'_>, is_counting: bool) -> Built {
    let kernel = kernel(arguments)?;
    Ok(if is_counting {
        Box::new(ScanEngine::<PairScheme, Attempts>::new(PairScheme, kernel))
    } else {
        Box::new(ScanEngine::<PairScheme, ()>::new(PairScheme, kernel))
    })
}

/// Hash of a context. The hash of 0 is 0, so that keys of context 0 equal the paper's.
pub(super) fn hash_context(context: crate::ContextId) -> u32 {
    context.0.wrapping_mul(0x9E37_79B1)
}

fn fold_halves(word: u64) -> u32 {
    (word ^ word >> 32) as u32
}

#[derive(Clone, Copy)]
pub(crate) struct MaskedPair {
    source: u32,
    source_mask: u32,
    tag: u32,
    tag_mask: u32,
}

impl MaskedPair {
    fn of(selector: &Selector) -> Self {
        let (source, source_mask) = match selector.source() {
            Wild::Is(source) => (fold_halves(source.0.into()) ^ hash_context(selector.context()), u32::MAX),
            _ => (0, 0),
        };
        let (value, ignore) = match selector.tag() {
            Wild::Is(tag) => (tag.0, 0),
            Wild::Masked(mask) => (mask.value.0, mask.ignore),
            Wild::Any => (0, u64::MAX),
        };
        // A bit of the folded tag is compared if both halves compare it.
        let tag_mask = !(ignore as u32 | (ignore >> 32) as u32);
        MaskedPair { source, source_mask, tag: fold_halves(value) & tag_mask, tag_mask }
    }

    fn is_exact(&self) -> bool {
        self.source_mask & self.tag_mask == u32::MAX
    }
}

#[derive(Clone, Copy)]
pub(crate) struct PairScheme;

pub(crate) struct Receives {
    sources: [u32; LANES],
    tags: [u32; LANES],
    /// Bits of free slots are undefined.
    wildcards: u64,
    source_masks: [u32; LANES],
    tag_masks: [u32; LANES],
}

impl Default for Receives {
    fn default() -> Self {
        let none = [0; LANES];
        Receives { sources: none, tags: none, wildcards: 0, source_masks: none, tag_masks: none }
    }
}

impl Keys<Receive, PairScheme> for Receives {
    #[inline]
    fn set(&mut self, _: &PairScheme, lane: usize, receive: &Receive) {
        let pair = MaskedPair::of(&receive.selector);
        self.sources[lane] = pair.source;
        self.tags[lane] = pair.tag;
        self.source_masks[lane] = pair.source_mask;
        self.tag_masks[lane] = pair.tag_mask;
        self.wildcards = self.wildcards & !(1 << lane) | u64::from(!pair.is_exact()) << lane;
    }
}

pub(crate) struct Messages {
    sources: [u32; LANES],
    tags: [u32; LANES],
}

impl Default for Messages {
    fn default() -> Self {
        Messages { sources: [0; LANES], tags: [0; LANES] }
    }
}

impl Keys<Message, PairScheme> for Messages {
    #[inline]
    fn set(&mut self, _: &PairScheme, lane: usize, message: &Message) {
        (self.sources[lane], self.tags[lane]) = PairScheme.key(&message.envelope);
    }
}

impl Scheme for PairScheme {
    type Posted = Receives;
    type Unexpected = Messages;
    type Key = (u32, u32);
    type Query = MaskedPair;

    #[inline]
    fn key(&self, envelope: &Envelope) -> (u32, u32) {
        (fold_halves(envelope.source.0.into()) ^ hash_context(envelope.context), fold_halves(envelope.tag.0))
    }

    #[inline]
    fn query(&self, selector: &Selector) -> MaskedPair {
        MaskedPair::of(selector)
    }

    #[inline(always)]
    fn matching_receives<L: Lanes>(lanes: L, posted: &Receives, &(source, tag): &(u32, u32)) -> u64 {
        if posted.wildcards == 0 {
            return lanes.equal_u32(&posted.sources, source) & lanes.equal_u32(&posted.tags, tag);
        }
        lanes.equal_u32_under_each(&posted.sources, &posted.source_masks, source)
            & lanes.equal_u32_under_each(&posted.tags, &posted.tag_masks, tag)
    }

    #[inline(always)]
    fn matching_messages<L: Lanes>(lanes: L, unexpected: &Messages, query: &MaskedPair) -> u64 {
        if query.is_exact() {
            return lanes.equal_u32(&unexpected.sources, query.source)
                & lanes.equal_u32(&unexpected.tags, query.tag);
        }
        lanes.equal_u32_under(&unexpected.sources, query.source_mask, query.source)
            & lanes.equal_u32_under(&unexpected.tags, query.tag_mask, query.tag)
    }
}
