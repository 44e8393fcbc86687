//! Source numbers: 32 bits for sources of 64 bits.
//!
//! A source below 2³¹ is its number. Other sources get numbers from 2³¹ on at their first entry. The numbers of sources without
//! entries are reused.

use std::collections::HashMap;

use super::key::{ANY, Key, Pattern};
use crate::engine::Refused;
use crate::envelope::{Envelope, Rank, Selector, Tag, TagMask, Wild};

/// Sources below this have a number without a table.
const DIRECT: u64 = 1 << 31;

/// Whether a source has a number without a table.
#[inline(always)]
pub(super) fn is_direct(source: Rank) -> bool {
    source.0 < DIRECT
}

/// See the [module's documentation](self).
#[derive(Default)]
pub(super) struct Sources {
    numbers: HashMap<u64, u32>,
    /// The source of each number from [`DIRECT`] on.
    sources: Vec<u64>,
    vacant: Vec<u32>,
}

impl Sources {
    /// The number of a source, if it has one.
    #[inline]
    pub(super) fn number(&self, source: Rank) -> Option<u64> {
        match source {
            _ if is_direct(source) => Some(source.0),
            Rank::UNKNOWN => Some(ANY),
            _ => self.numbers.get(&source.0).map(|&at| DIRECT + u64::from(at)),
        }
    }

    /// Gives a source without a number one.
    #[cold]
    pub(super) fn add(&mut self, source: Rank) -> Result<u64, Refused> {
        self.numbers.try_reserve(1).map_err(|_| Refused::Memory)?;
        let at = match self.vacant.pop() {
            Some(at) => at,
            None if self.sources.len() as u64 >= DIRECT - 1 => return Err(Refused::Full),
            None => {
                self.sources.try_reserve(1).map_err(|_| Refused::Memory)?;
                self.sources.push(0);
                self.sources.len() as u32 - 1
            }
        };
        self.sources[at as usize] = source.0;
        self.numbers.insert(source.0, at);
        Ok(DIRECT + u64::from(at))
    }

    /// Number of sources in the table.
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Frees the numbers that are not in `used`. Without memory it frees none.
    pub(super) fn retain(&mut self, used: impl Iterator<Item = u64>) {
        let mut is_used = Vec::new();
        let places = self.sources.len();
        if is_used.try_reserve(places).is_err() || self.vacant.try_reserve(places).is_err() {
            return;
        }
        is_used.resize(places, false);
        for number in used.filter(|&number| number >= DIRECT && number != ANY) {
            is_used[(number - DIRECT) as usize] = true;
        }
        self.numbers.retain(|_, &mut at| is_used[at as usize]);
        self.vacant.clear();
        self.vacant.extend((0..places as u32).filter(|&at| !is_used[at as usize]));
    }

    fn source(&self, number: u64) -> Rank {
        match number {
            ANY => Rank::UNKNOWN,
            number if number < DIRECT => Rank(number),
            number => Rank(self.sources[(number - DIRECT) as usize]),
        }
    }

    /// The envelope with that key.
    pub(super) fn envelope(&self, key: Key) -> Envelope {
        Envelope::new(key.context(), self.source(key.source()), Tag(key.tag))
    }

    /// The selector with that pattern.
    pub(super) fn selector(&self, pattern: &Pattern) -> Selector {
        let Envelope { context, source, tag } = self.envelope(pattern.key);
        // A selector reads the unknown source as any source.
        let tag = Wild::Masked(TagMask { value: tag, ignore: pattern.class.ignore });
        Selector::new(context, Wild::Is(source), tag)
    }

    pub(super) fn bytes(&self) -> u64 {
        let places = (self.numbers.capacity() * 8 / 7).next_power_of_two();
        let table = if self.numbers.capacity() > 0 { places * 17 + 16 } else { 0 };
        (self.sources.capacity() * 8 + self.vacant.capacity() * 4 + table) as u64
    }
}
