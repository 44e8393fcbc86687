//! Receives that leave something open, by what they leave open.
//!
//! A *class* is what a selector ignores: the source or not, and which bits of the tag. All receives of a class have a
//! key of what is left, so that a class is a table. An arrival looks into that of each class that has receives.

use super::entry::{At, Head};
use super::key::{Hashing, Key};
use super::table::Table;
use crate::engine::Refused;
use crate::envelope::{Selector, TagMask, Wild};

/// What a selector ignores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Openness {
    any_source: bool,
    ignore: u64,
}

impl Openness {
    /// What a selector ignores, and the key of what it does not.
    #[inline]
    pub(super) fn of(selector: &Selector) -> (Self, Key) {
        let (asked, any_source, ignore) = selector.parts();
        (Openness { any_source, ignore }, Key::of(&asked))
    }

    pub(super) fn is_any_source(&self) -> bool {
        self.any_source
    }

    /// What is left of a key.
    #[inline]
    pub(super) fn rest(&self, key: &Key) -> Key {
        let tag = key.tag & !self.ignore;
        if self.any_source { Key { pair: key.pair >> 32 << 32, tag, high: 0 } } else { Key { tag, ..*key } }
    }

    /// The selector of a receive of this class.
    pub(super) fn selector(&self, key: Key) -> Selector {
        let envelope = key.envelope();
        let source = if self.any_source { Wild::Any } else { Wild::Is(envelope.source) };
        let tag = Wild::Masked(TagMask { value: envelope.tag, ignore: self.ignore });
        Selector::new(envelope.context, source, tag)
    }
}

/// The receives of a class.
pub(super) struct Class {
    pub(super) open: Openness,
    pub(super) posted: Table,
}

/// There is not one class that has receives, but none or several.
pub(super) struct NotOne;

/// All classes that there were, under numbers that stay theirs while they have receives.
#[derive(Default)]
pub(super) struct Classes {
    all: Vec<Class>,
    /// Those that have receives: no arrival looks at any other.
    used: Vec<u32>,
    /// Receives posted in all of them.
    pub(super) posted: usize,
}

impl Classes {
    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let places = self.all.capacity() * size_of::<Class>() + self.used.capacity() * size_of::<u32>();
        places as u64 + self.all.iter().map(|class| class.posted.bytes()).sum::<u64>()
    }

    /// How many there are, with those that have no receives.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// How many have receives.
    pub(super) fn used(&self) -> usize {
        self.used.len()
    }

    pub(super) fn get(&self, number: usize) -> Option<&Class> {
        self.all.get(number)
    }

    pub(super) fn table(&self, number: u32) -> &Table {
        &self.all[number as usize].posted
    }

    pub(super) fn open(&self, number: u32) -> Openness {
        self.all[number as usize].open
    }

    pub(super) fn is_growing(&self) -> bool {
        self.used.iter().any(|&number| self.table(number).is_growing())
    }

    pub(super) fn tend(&mut self, hashing: &Hashing) {
        for &number in &self.used {
            self.all[number as usize].posted.tend(hashing);
        }
    }

    /// The number of a class, which is made if there is none. What is made has no receives yet.
    #[inline]
    pub(super) fn number(&mut self, open: Openness) -> Result<u32, Refused> {
        let is_it = |&&number: &&u32| self.all[number as usize].open == open;
        if let Some(&number) = self.used.iter().find(is_it) { Ok(number) } else { self.unused(open) }
    }

    fn unused(&mut self, open: Openness) -> Result<u32, Refused> {
        self.used.try_reserve(1).map_err(|_| Refused::Memory)?;
        let same = self.all.iter().position(|class| class.open == open);
        let vacant = || self.all.iter().position(|class| class.posted.counts == 0);
        if let Some(number) = same.or_else(vacant) {
            self.all[number].open = open;
            return Ok(number as u32);
        }
        self.all.try_reserve(1).map_err(|_| Refused::Memory)?;
        self.all.push(Class { open, posted: Table::default() });
        Ok(self.all.len() as u32 - 1)
    }

    /// The class of that number has one more receive, put there by `put`.
    #[inline]
    pub(super) fn add<T>(
        &mut self,
        number: u32,
        put: impl FnOnce(&mut Table) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let table = &mut self.all[number as usize].posted;
        let is_first = table.counts == 0;
        let added = put(table)?;
        self.posted += 1;
        if is_first {
            // There is room: see `unused`.
            self.used.push(number);
        }
        Ok(added)
    }

    /// The class of that number has one less, taken out by `take`.
    #[inline]
    pub(super) fn take(&mut self, number: u32, take: impl FnOnce(&mut Table) -> Head) -> Head {
        let table = &mut self.all[number as usize].posted;
        let taken = take(table);
        self.posted -= 1;
        if table.counts == 0 {
            self.used.retain(|&used| used != number);
        }
        taken
    }

    /// Takes the earliest receive that a message of that key matches, if there is but one class.
    #[inline]
    pub(super) fn take_of_one(
        &mut self,
        key: &Key,
        hashing: &Hashing,
        examined: &mut u64,
    ) -> Result<Option<u64>, NotOne> {
        let &[number] = self.used.as_slice() else { return Err(NotOne) };
        let Class { open, posted } = &mut self.all[number as usize];
        let rest = open.rest(key);
        let Some(head) = posted.take(&rest, hashing.spot(&rest), examined) else { return Ok(None) };
        self.posted -= 1;
        if posted.counts == 0 {
            self.used.clear();
        }
        Ok(Some(head))
    }

    /// The earliest receive that a message of that key matches: its number, its class, and where it is there.
    #[inline]
    pub(super) fn find(&self, key: &Key, hashing: &Hashing, examined: &mut u64) -> Option<(u64, u32, At)> {
        let mut earliest: Option<(u64, u32, At)> = None;
        for &number in &self.used {
            let class = &self.all[number as usize];
            let rest = class.open.rest(key);
            let Some(at) = class.posted.find(&rest, hashing.spot(&rest), examined) else { continue };
            let seq = class.posted.head(at).seq;
            if earliest.is_none_or(|(earliest, ..)| seq < earliest) {
                earliest = Some((seq, number, at));
            }
        }
        earliest
    }
}
