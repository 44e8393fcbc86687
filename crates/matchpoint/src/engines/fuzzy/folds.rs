//! Keys of 16 or 8 bits, in which source, tag and context are mixed.
//!
//! The paper combines the lower bits of source and tag, as many as a key has, by exclusive or ([`Xor`]). Then all keys are
//! equal where the tag is the rank, and half of 64 entries share theirs with another where it is the rank + 1. So unless
//! asked otherwise ([`Sum`]) each field is multiplied by an odd constant of its own, and a key is the upper bits of the
//! sum (Dietzfelbinger et al. 1997): all bits of a field reach them, and what fields have in common does not cancel out.
//! Either way a field that is left open adds nothing.

use std::marker::PhantomData;

use crate::blocks::Keys;
use crate::engine::{Message, Receive};
use crate::envelope::{ContextId, Envelope, Selector, Wild};
use crate::scan::{LANES, Lanes};
use crate::scanning::Scheme;

/// The width of a key.
pub(crate) trait Width: Copy + Default + PartialEq + Send + 'static {
    /// The upper bits of a word.
    fn upper(word: u64) -> Self;
    /// The lower bits of a word.
    fn lower(word: u64) -> Self;
    /// The comparison of that width.
    fn equal<L: Lanes>(lanes: L, keys: &[Self; LANES], key: Self) -> u64;
}

impl Width for u16 {
    #[inline(always)]
    fn upper(word: u64) -> u16 {
        (word >> 48) as u16
    }

    #[inline(always)]
    fn lower(word: u64) -> u16 {
        word as u16
    }

    #[inline(always)]
    fn equal<L: Lanes>(lanes: L, keys: &[u16; LANES], key: u16) -> u64 {
        lanes.equal_16(keys, key)
    }
}

impl Width for u8 {
    #[inline(always)]
    fn upper(word: u64) -> u8 {
        (word >> 56) as u8
    }

    #[inline(always)]
    fn lower(word: u64) -> u8 {
        word as u8
    }

    #[inline(always)]
    fn equal<L: Lanes>(lanes: L, keys: &[u8; LANES], key: u8) -> u64 {
        lanes.equal_8(keys, key)
    }
}

/// How fields become a key.
pub(crate) trait Fold: Copy + Send + 'static {
    /// What each field puts into a key: nothing, if it is 0.
    fn words(context: ContextId, source: u64, tag: u64) -> Words;
    /// The key of such words.
    fn key<K: Width, const N: usize>(words: [u64; N]) -> K;
}

/// The upper bits of a sum of products.
#[derive(Clone, Copy)]
pub(crate) struct Sum;

impl Fold for Sum {
    /// 2⁶⁴/φ for the tag: multiples of it that follow each other lie as far apart as they can. For the source the best of
    /// 1500 odd constants drawn at random: over 25 patterns of ranks and tags (in rows, strides, grids, each a multiple
    /// of the other) of 64 to 256 entries, keys of 8 bits then collide 0.15 times as often as random ones on the average,
    /// and nowhere more often. The context's is any odd one.
    #[inline(always)]
    fn words(context: ContextId, source: u64, tag: u64) -> Words {
        Words {
            source: source.wrapping_mul(0x58FE_91B4_9C9D_C269),
            tag: tag.wrapping_mul(0x9E37_79B9_7F4A_7C15),
            context: u64::from(context.0).wrapping_mul(0xC2B2_AE3D_27D4_EB4F),
        }
    }

    #[inline(always)]
    fn key<K: Width, const N: usize>(words: [u64; N]) -> K {
        K::upper(words.into_iter().fold(0, u64::wrapping_add))
    }
}

/// The lower bits of an exclusive or, as the paper has it (§IV-B, Skylake). It has a queue for each communicator, whose
/// number is the third here.
#[derive(Clone, Copy)]
pub(crate) struct Xor;

impl Fold for Xor {
    #[inline(always)]
    fn words(context: ContextId, source: u64, tag: u64) -> Words {
        Words { source, tag, context: context.0.into() }
    }

    #[inline(always)]
    fn key<K: Width, const N: usize>(words: [u64; N]) -> K {
        K::lower(words.into_iter().fold(0, |key, word| key ^ word))
    }
}

/// The scheme of a width and a fold.
#[derive(Clone, Copy)]
pub(crate) struct Folds<K, F>(PhantomData<(K, F)>);

impl<K, F> Folds<K, F> {
    pub(super) fn new() -> Self {
        Folds(PhantomData)
    }
}

/// What an envelope's fields put into its key.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    source: u64,
    tag: u64,
    context: u64,
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

impl Words {
    #[inline(always)]
    fn both<K: Width, F: Fold>(&self) -> K {
        F::key([self.source, self.tag, self.context])
    }

    #[inline(always)]
    fn source<K: Width, F: Fold>(&self) -> K {
        F::key([self.source, self.context])
    }

    #[inline(always)]
    fn tag<K: Width, F: Fold>(&self) -> K {
        F::key([self.tag, self.context])
    }
}

impl Query {
    #[inline]
    fn of<F: Fold>(selector: &Selector) -> Self {
        let source = if let Wild::Is(source) = selector.source() { Some(source.0) } else { None };
        let tag = if let Wild::Is(tag) = selector.tag() { Some(tag.0) } else { None };
        let open = match (source, tag) {
            (Some(_), Some(_)) => Open::Nothing,
            (None, Some(_)) => Open::Source,
            (Some(_), None) => Open::Tag,
            (None, None) => Open::Both,
        };
        // A field that is left open drops out of the key by itself.
        Query { words: F::words(selector.context(), source.unwrap_or(0).into(), tag.unwrap_or(0)), open }
    }
}

/// The keys of 64 receives: each of what it names. In the bitmaps, bits may be left set for holes.
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

impl<K: Width, F: Fold> Keys<Receive, Folds<K, F>> for Receives<K> {
    #[inline]
    fn set(&mut self, _: &Folds<K, F>, lane: usize, receive: &Receive) {
        let Query { words, open } = Query::of::<F>(&receive.selector);
        self.keys[lane] = words.both::<K, F>();
        let mark = |bits: &mut u64, set: bool| *bits = *bits & !(1 << lane) | u64::from(set) << lane;
        mark(&mut self.open, open != Open::Nothing);
        mark(&mut self.by_tag, open == Open::Source);
        mark(&mut self.by_source, open == Open::Tag);
    }
}

/// The keys of 64 messages, and those of their tags and sources by themselves for searches that leave the other open.
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

impl<K: Width, F: Fold> Keys<Message, Folds<K, F>> for Messages<K> {
    #[inline]
    fn set(&mut self, folds: &Folds<K, F>, lane: usize, message: &Message) {
        let words = folds.key(&message.envelope);
        self.keys[lane] = words.both::<K, F>();
        self.tags[lane] = words.tag::<K, F>();
        self.sources[lane] = words.source::<K, F>();
    }
}

impl<K: Width, F: Fold> Scheme for Folds<K, F> {
    type Posted = Receives<K>;
    type Unexpected = Messages<K>;
    type Key = Words;
    type Query = Query;

    #[inline]
    fn key(&self, envelope: &Envelope) -> Words {
        F::words(envelope.context, envelope.source.0.into(), envelope.tag.0)
    }

    #[inline]
    fn query(&self, selector: &Selector) -> Query {
        Query::of::<F>(selector)
    }

    #[inline(always)]
    fn accepting<L: Lanes>(lanes: L, posted: &Receives<K>, key: &Words) -> u64 {
        let equal = |key| K::equal(lanes, &posted.keys, key);
        let hits = equal(key.both::<K, F>());
        if posted.open == 0 {
            return hits;
        }
        let by_tag = equal(key.tag::<K, F>()) & posted.by_tag;
        let by_source = equal(key.source::<K, F>()) & posted.by_source;
        let by_nothing = posted.open & !(posted.by_tag | posted.by_source);
        hits & !posted.open | by_tag | by_source | by_nothing
    }

    #[inline(always)]
    fn accepted<L: Lanes>(lanes: L, unexpected: &Messages<K>, query: &Query) -> u64 {
        match query.open {
            Open::Nothing => K::equal(lanes, &unexpected.keys, query.words.both::<K, F>()),
            Open::Source => K::equal(lanes, &unexpected.tags, query.words.tag::<K, F>()),
            Open::Tag => K::equal(lanes, &unexpected.sources, query.words.source::<K, F>()),
            Open::Both => u64::MAX,
        }
    }
}
