//! Keys of 16 or 8 bits, in which source, tag and context are folded together.

use std::marker::PhantomData;

use crate::blocks::Keys;
use crate::engine::Receive;
use crate::envelope::{ContextId, Envelope, Selector, Wild};
use crate::scan::{LANES, Lanes};
use crate::scanning::{Scheme, Waiting};

/// The width of a key.
pub(crate) trait Width: Copy + Default + PartialEq + Send + 'static {
    /// All of a word, folded to this width by exclusive or. The fold of an exclusive or is that of the folds.
    fn fold(word: u64) -> Self;
    /// The comparison of that width.
    fn equal<L: Lanes>(lanes: L, keys: &[Self; LANES], key: Self) -> u64;
}

impl Width for u16 {
    #[inline(always)]
    fn fold(word: u64) -> u16 {
        let word = word ^ word >> 32;
        (word ^ word >> 16) as u16
    }

    #[inline(always)]
    fn equal<L: Lanes>(lanes: L, keys: &[u16; LANES], key: u16) -> u64 {
        lanes.equal_16(keys, key)
    }
}

impl Width for u8 {
    #[inline(always)]
    fn fold(word: u64) -> u8 {
        let halves = u16::fold(word);
        (halves ^ halves >> 8) as u8
    }

    #[inline(always)]
    fn equal<L: Lanes>(lanes: L, keys: &[u8; LANES], key: u8) -> u64 {
        lanes.equal_8(keys, key)
    }
}

/// The scheme of that width.
#[derive(Clone, Copy)]
pub(crate) struct Folds<K>(PhantomData<K>);

impl<K> Folds<K> {
    pub(super) fn new() -> Self {
        Folds(PhantomData)
    }
}

/// Source and tag, the context folded into both: fields that are left open drop out of a key by themselves.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    source: u64,
    tag: u64,
}

/// What is left open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    /// The source is left open.
    Source,
    /// The tag, or part of it, is left open.
    Tag,
    Both,
}

/// What a receive or a probe searches for.
#[derive(Clone, Copy)]
pub(crate) struct Query {
    words: Words,
    open: Open,
}

/// Spreads contexts over 64 bits; 0 stays 0, so that in `MPI_COMM_WORLD`'s place keys are what the paper says.
fn spread(context: ContextId) -> u64 {
    u64::from(context.0).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Words {
    #[inline(always)]
    fn both<K: Width>(&self) -> K {
        K::fold(self.source ^ self.tag)
    }
}

impl Query {
    #[inline]
    fn of(selector: &Selector) -> Self {
        let source = match selector.source() {
            Wild::Is(source) => Some(source.0 ^ spread(selector.context())),
            _ => None,
        };
        let tag = match selector.tag() {
            Wild::Is(tag) => Some(tag.0),
            _ => None,
        };
        let open = match (source, tag) {
            (Some(_), Some(_)) => Open::Nothing,
            (None, Some(_)) => Open::Source,
            (Some(_), None) => Open::Tag,
            (None, None) => Open::Both,
        };
        Query { words: Words { source: source.unwrap_or(0), tag: tag.unwrap_or(0) }, open }
    }
}

/// The keys of 64 receives: each the fold of what it names. In the bitmaps, bits may be left set for holes.
pub(crate) struct Receives<K> {
    keys: [K; LANES],
    /// Receives that leave something open.
    open: u64,
    /// Of these, those that name their tag alone.
    by_tag: u64,
    /// Of these, those that name their source alone.
    by_source: u64,
}

impl<K: Width> Default for Receives<K> {
    fn default() -> Self {
        Receives { keys: [K::default(); LANES], open: 0, by_tag: 0, by_source: 0 }
    }
}

impl<K: Width> Keys<Receive, Folds<K>> for Receives<K> {
    #[inline]
    fn set(&mut self, _: &Folds<K>, lane: usize, receive: &Receive) {
        let Query { words, open } = Query::of(&receive.selector);
        self.keys[lane] = words.both();
        let mark = |bits: &mut u64, set: bool| *bits = *bits & !(1 << lane) | u64::from(set) << lane;
        mark(&mut self.open, open != Open::Nothing);
        mark(&mut self.by_tag, open == Open::Source);
        mark(&mut self.by_source, open == Open::Tag);
    }
}

/// The keys of 64 messages, and the folds of their tags and sources by themselves for searches that leave the other
/// open.
pub(crate) struct Messages<K> {
    keys: [K; LANES],
    tags: [K; LANES],
    sources: [K; LANES],
}

impl<K: Width> Default for Messages<K> {
    fn default() -> Self {
        let none = [K::default(); LANES];
        Messages { keys: none, tags: none, sources: none }
    }
}

impl<K: Width> Keys<Waiting, Folds<K>> for Messages<K> {
    #[inline]
    fn set(&mut self, folds: &Folds<K>, lane: usize, waiting: &Waiting) {
        let words = folds.key(&waiting.envelope);
        self.keys[lane] = words.both();
        self.tags[lane] = K::fold(words.tag);
        self.sources[lane] = K::fold(words.source);
    }
}

impl<K: Width> Scheme for Folds<K> {
    type Posted = Receives<K>;
    type Unexpected = Messages<K>;
    type Key = Words;
    type Query = Query;

    #[inline]
    fn key(&self, envelope: &Envelope) -> Words {
        Words { source: envelope.source.0 ^ spread(envelope.context), tag: envelope.tag.0 }
    }

    #[inline]
    fn query(&self, selector: &Selector) -> Query {
        Query::of(selector)
    }

    #[inline(always)]
    fn accepting<L: Lanes>(lanes: L, posted: &Receives<K>, key: &Words) -> u64 {
        let equal = |word| K::equal(lanes, &posted.keys, K::fold(word));
        let hits = equal(key.source ^ key.tag);
        if posted.open == 0 {
            return hits;
        }
        let by_tag = equal(key.tag) & posted.by_tag;
        let by_source = equal(key.source) & posted.by_source;
        let by_nothing = posted.open & !(posted.by_tag | posted.by_source);
        hits & !posted.open | by_tag | by_source | by_nothing
    }

    #[inline(always)]
    fn accepted<L: Lanes>(lanes: L, unexpected: &Messages<K>, query: &Query) -> u64 {
        match query.open {
            Open::Nothing => K::equal(lanes, &unexpected.keys, query.words.both()),
            Open::Source => K::equal(lanes, &unexpected.tags, K::fold(query.words.tag)),
            Open::Tag => K::equal(lanes, &unexpected.sources, K::fold(query.words.source)),
            Open::Both => u64::MAX,
        }
    }
}
