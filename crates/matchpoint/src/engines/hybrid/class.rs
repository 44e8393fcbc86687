//! Receives that leave something open, by what they leave open.
//!
//! A *class* is what a selector ignores: the source or not, and which bits of the tag. All receives of a class have a
//! key of what is left, so that a class is two tables: receives posted, and, once a receive of the class has searched
//! the unexpected messages, an index of these.

use super::entry::{At, Head, Kind, Ref};
use super::found::Found;
use super::key::{Hashing, Key, Spot};
use super::log::Log;
use super::table::Table;
use crate::envelope::{Rank, Selector, Tag, TagMask, Wild};

/// Messages indexed beside each arrival while an index lags behind.
const CATCH_UP: usize = 4;

/// An index that was not searched during so many arrivals, and four times as many as it has entries, is dropped.
const UNUSED: usize = 4096;

/// Entries in an index beyond twice those that can be alive, before it is made anew.
const SLACK: usize = 1024;

/// What a selector ignores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Openness {
    any_source: bool,
    ignore: u64,
}

impl Openness {
    #[inline]
    pub(super) fn of(selector: &Selector) -> Self {
        let ignore = match selector.tag() {
            Wild::Any => u64::MAX,
            Wild::Is(_) => 0,
            Wild::Masked(mask) => mask.ignore,
        };
        Openness { any_source: selector.source() == Wild::Any, ignore }
    }

    /// What is left of a key.
    #[inline]
    pub(super) fn rest(&self, key: &Key) -> Key {
        let tag = key.tag & !self.ignore;
        if self.any_source { Key { pair: key.pair >> 32 << 32, tag, high: 0 } } else { Key { tag, ..*key } }
    }

    /// The key of a receive of this class.
    #[inline]
    pub(super) fn key(&self, selector: &Selector) -> Key {
        let source = match selector.source() {
            Wild::Is(source) => source,
            _ => Rank(0),
        };
        let tag = match selector.tag() {
            Wild::Is(tag) => tag,
            Wild::Masked(mask) => mask.value,
            Wild::Any => Tag(0),
        };
        Key::new(selector.context(), source, tag)
    }

    /// The selector of a receive of this class.
    pub(super) fn selector(&self, key: Key) -> Selector {
        let envelope = key.envelope();
        let source = if self.any_source { Wild::Any } else { Wild::Is(envelope.source) };
        let tag = Wild::Masked(TagMask { value: envelope.tag, ignore: self.ignore });
        Selector::new(envelope.context, source, tag)
    }
}

/// Unexpected messages by what a class keeps of their keys, oldest first; those that were taken are met, and dropped,
/// by the next search.
pub(super) struct Index {
    pub(super) table: Table,
    /// All messages older than this are in it.
    until: u64,
    /// Arrivals since it was searched.
    unused: usize,
}

/// See the [module's documentation](self).
pub(super) struct Class {
    pub(super) open: Openness,
    pub(super) posted: Table,
    pub(super) index: Option<Index>,
    /// The index that is to replace it, without entries of the dead.
    fresh: Option<Index>,
}

/// The unexpected messages, as an index needs them.
#[derive(Clone, Copy)]
pub(super) struct Unexpected<'a> {
    pub(super) table: &'a Table,
    pub(super) log: &'a Log,
    pub(super) hashing: &'a Hashing,
    /// The number that the next entry will have.
    pub(super) clock: u64,
    /// Whether some message was given another name, and is found by what the log says.
    pub(super) renamed: bool,
}

impl Unexpected<'_> {
    /// Where a message lies, if it is there still.
    #[inline]
    pub(super) fn resolve(&self, entry: Ref, seq: u64) -> Option<Found> {
        let found = self.table.resolve(entry, seq, self.hashing);
        if found.is_none() && self.renamed {
            return self.table.resolve(self.log.find(seq)?, seq, self.hashing);
        }
        found
    }
}

impl Index {
    fn new() -> Self {
        Index { table: Table::dense(), until: 0, unused: 0 }
    }

    /// Indexes the next message; tells what is left of its key, and where it is.
    fn take_in(&mut self, open: &Openness, key: &Key, hashing: &Hashing, head: Head) -> Option<Key> {
        let rest = open.rest(key);
        let spot = hashing.spot(&rest);
        self.table.put(&rest, spot, head).ok()?;
        self.table.tend(hashing);
        self.until = head.seq + 1;
        Some(rest)
    }

    /// Indexes some of the messages that it lacks. False: there is no memory for them.
    fn catch_up(&mut self, open: &Openness, unexpected: Unexpected<'_>) -> bool {
        let mut lines = unexpected.log.since(self.until);
        for _ in 0..CATCH_UP {
            let Some((seq, entry)) = lines.next() else {
                self.until = unexpected.clock;
                return true;
            };
            let Some(found) = unexpected.resolve(entry, seq) else {
                self.until = seq + 1;
                continue;
            };
            let key = unexpected.table.key(found.at);
            let head = Head { kind: Kind::Waiting, seq, id: entry.0 };
            if self.take_in(open, &key, unexpected.hashing, head).is_none() {
                return false;
            }
        }
        true
    }

    /// The earliest message of those it has.
    fn search(
        &mut self,
        rest: &Key,
        spot: Spot,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> Option<Found> {
        let at: At = self.table.find(rest, spot, examined)?;
        let mut at = Some(at);
        while let Some(queue) = at {
            let Head { seq, id, .. } = self.table.head(queue);
            if let Some(found) = unexpected.resolve(Ref(id), seq) {
                return Some(found);
            }
            *examined += 1;
            self.table.pop(queue);
            at = self.table.find(rest, spot, &mut 0);
        }
        None
    }
}

impl Class {
    pub(super) fn new(open: Openness) -> Self {
        Class { open, posted: Table::default(), index: None, fresh: None }
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let index = |index: &Option<Index>| index.as_ref().map_or(0, |index| index.table.bytes());
        self.posted.bytes() + index(&self.index) + index(&self.fresh)
    }

    /// The earliest message that a receive of this class with `rest` left takes. What is not indexed yet is, up to
    /// the message found.
    pub(super) fn find_waiting(
        &mut self,
        rest: &Key,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> Option<Found> {
        let index = self.index.get_or_insert_with(Index::new);
        index.unused = 0;
        let spot = unexpected.hashing.spot(rest);
        let indexed = index.search(rest, spot, unexpected, examined);
        if indexed.is_some() {
            return indexed;
        }
        let mut can_index = true;
        for (seq, entry) in unexpected.log.since(index.until) {
            let Some(found) = unexpected.resolve(entry, seq) else { continue };
            *examined += 1;
            let key = unexpected.table.key(found.at);
            let head = Head { kind: Kind::Waiting, seq, id: entry.0 };
            can_index = can_index && index.take_in(&self.open, &key, unexpected.hashing, head).is_some();
            if self.open.rest(&key) == *rest {
                return Some(found);
            }
        }
        if can_index {
            index.until = unexpected.clock;
        }
        None
    }

    /// Whether it is in no use: it may become another class.
    pub(super) fn is_vacant(&self) -> bool {
        self.posted.len() == 0 && self.index.is_none()
    }

    /// After the arrival of `head`, called by `entry` and the last of the log: indexes it, or a few of those before it.
    pub(super) fn keep_up(&mut self, key: &Key, head: Head, unexpected: Unexpected<'_>) {
        let Some(index) = &mut self.index else { return };
        index.unused += 1;
        let is_kept = index.unused < usize::max(UNUSED, 4 * index.table.len());
        let waiting = unexpected.table.count(Kind::Waiting);
        let is_complete = index.until + 1 >= head.seq;
        let indexed = if is_complete {
            index.take_in(&self.open, key, unexpected.hashing, head).is_some()
        } else {
            index.catch_up(&self.open, unexpected)
        };
        if !is_kept || !indexed {
            (self.index, self.fresh) = (None, None);
            return;
        }
        if index.table.len() > 2 * waiting + SLACK && self.fresh.is_none() {
            self.fresh = Some(Index::new());
        }
        let Some(fresh) = &mut self.fresh else { return };
        fresh.unused = index.unused;
        if !fresh.catch_up(&self.open, unexpected) {
            self.fresh = None;
        } else if fresh.until == unexpected.clock {
            self.index = self.fresh.take();
        }
    }

    /// After a message was given another key: indexes it there, by its age.
    pub(super) fn rename(&mut self, key: &Key, head: Head, hashing: &Hashing) {
        // With the source left open what is left is the same, and the log says where the message is now.
        if self.open.any_source {
            return;
        }
        for index in [&mut self.index, &mut self.fresh] {
            let Some(held) = index.as_mut().filter(|index| head.seq < index.until) else { continue };
            let rest = self.open.rest(key);
            let spot = hashing.spot(&rest);
            let added = match held.table.find(&rest, spot, &mut 0) {
                Some(at) => held.table.insert_by_age(at, head).is_ok(),
                None => held.table.insert(&rest, spot, head).is_ok(),
            };
            if !added {
                *index = None;
            }
        }
        if self.index.is_none() {
            self.fresh = None;
        }
    }
}
