//! Keys, patterns of wildcard receives, entries, and the hash function.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use crate::envelope::{Envelope, Pair, Selector, Tag};

/// Context, source number and tag of a message, or of a receive without wildcards.
///
/// In slots, another field is between the two words. So the compiler does not load both words at once: a
/// processor cannot forward such a load from two stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Key {
    /// Context and source number, as in [`Pair`].
    pub(super) pair: u64,
    pub(super) tag: u64,
}

/// An entry of a queue: its id and its number. The number of a posted receive is its age. The number of an
/// unexpected message is the message's place in the [log](super::log), and the log has the age. In an
/// [index](super::index) the id is the place, and the number is the age.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    pub(super) id: u64,
    pub(super) number: u64,
}

/// The source in the pair of a receive from any source, and of a message with an unknown source.
const ANY: u64 = 0xFFFF_FFFF;

impl Key {
    pub(super) fn new(pair: Pair, tag: Tag) -> Self {
        Key { pair: pair.0, tag: tag.0 }
    }

    pub(super) fn of(envelope: &Envelope) -> Self {
        Key::new(envelope.pair(), envelope.tag)
    }
}

/// A wildcard class: the fields of a receive that are wild.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Class {
    /// Bits of the tag that the receive ignores.
    pub(super) ignore: u64,
    /// [`ANY`] if the receive accepts any source, else 0. The type differs from the type of `ignore`, so that
    /// the compiler does not compare both fields with one load, which would wait for two stores.
    pub(super) source: u32,
}

impl Class {
    /// The class of receives without a wildcard.
    pub(super) const EXACT: Class = Class { ignore: 0, source: 0 };

    /// Removes the wild fields from a key: all keys that one receive of this class accepts have the same
    /// masked key.
    pub(super) fn masked(self, key: Key) -> Key {
        Key { pair: key.pair | u64::from(self.source), tag: key.tag & !self.ignore }
    }
}

/// The messages that a receive or a probe accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pattern {
    /// The key, [masked](Class::masked) by the class.
    pub(super) key: Key,
    pub(super) class: Class,
}

impl Pattern {
    pub(super) fn of(selector: &Selector) -> Self {
        let (tag, ignore) = selector.tag_and_ignored();
        Pattern::new(selector.pair(), tag, ignore)
    }

    /// A pattern of context, source, tag and ignore mask. `tag` must be zero in the bits of `ignore`.
    pub(super) fn new(Pair(pair): Pair, tag: u64, ignore: u64) -> Self {
        let source = if pair as u32 == ANY as u32 { ANY as u32 } else { 0 };
        Pattern { key: Key { pair, tag }, class: Class { ignore, source } }
    }

    /// Rule 1 of the contract: returns whether a message with this key matches.
    pub(super) fn accepts(&self, key: Key) -> bool {
        self.class.masked(key) == self.key
    }
}

/// A hash function with random seeds: peers without knowledge of the seeds cannot choose colliding keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hashing {
    pair: u64,
    tag: u64,
}

impl Hashing {
    /// Seeds drawn once per process.
    pub(super) fn of_process() -> Self {
        static DRAWN: OnceLock<Hashing> = OnceLock::new();
        *DRAWN.get_or_init(|| {
            let random = RandomState::new();
            Hashing { pair: random.hash_one(0) | 1, tag: random.hash_one(1) | 1 }
        })
    }

    /// A hash function with the same seeds in each run, for tests.
    pub(super) fn of_seed(seed: u64) -> Self {
        // The generator SplitMix64 (Steele et al. 2014).
        let word = |nth: u64| {
            let word = seed.wrapping_add(nth.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            word ^ word >> 31
        };
        Hashing { pair: word(1) | 1, tag: word(2) | 1 }
    }

    /// The hash of a key. The masked lower bits of the hash are the offset of a slot in bytes.
    ///
    /// The first product alone is a linear function of the source while the tag is constant. With one seed of
    /// twenty, the lower bits of this product put consecutive sources into few slots. The second product
    /// (Fibonacci hashing, Knuth, TAOCP 3, 6.4) spreads the sources.
    pub(super) fn hash(&self, key: Key) -> u64 {
        let product = u128::from(key.pair ^ self.pair) * u128::from(key.tag ^ self.tag);
        (product as u64 ^ (product >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 28
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(context: u64, source: u64, tag: u64) -> Key {
        Key { pair: context << 32 | source, tag }
    }

    /// Number of pairs of keys with the same slot, in a row with 8 slots per key.
    fn collisions(hashing: Hashing, keys: &[Key]) -> usize {
        let slots = 8 * keys.len().next_power_of_two();
        let mut counts = vec![0; slots];
        keys.iter()
            .map(|&key| {
                let count = &mut counts[(hashing.hash(key) / 32) as usize % slots];
                *count += 1;
                *count - 1
            })
            .sum()
    }

    #[test]
    fn regular_keys_rarely_collide() {
        let sets: [Vec<Key>; 7] = [
            (0..64).map(|source| key(7, source, 1)).collect(),
            (0..26 * 3).map(|nth| key(7, nth / 3, nth % 3)).collect(),
            (0..1024).map(|source| key(7, source, 1)).collect(),
            (0..1024).map(|tag| key(7, 1, tag)).collect(),
            (0..64).map(|tag| key(7, 1, tag * 1000)).collect(),
            (0..64).map(|tag| key(7, 1, tag << 56)).collect(),
            (0..256).map(|nth| key(nth / 16, nth % 16, 1)).collect(),
        ];
        for seed in 0..500 {
            for keys in &sets {
                let seen = collisions(Hashing::of_seed(seed), keys);
                assert!(seen * 3 <= keys.len(), "seed {seed}, {} keys: {seen} collisions", keys.len());
            }
        }
    }
}
