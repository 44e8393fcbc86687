//! Indexes of a communicator: four of receives, four of messages (paper §IV-E). A receive is in one index, a
//! message in four (§IV-C).

use super::class::{CLASSES, Class};
use super::descriptors::{Descriptor, Descriptors};
use super::index::Index;
use super::runs::Runs;
use crate::engine::{Message, Refused};
use crate::envelope::{Envelope, Selector};
use crate::hashes::Hashes;
use crate::hints::Hints;
use crate::linked::{Aged, Slab, SlotIndex};

#[derive(Clone, Copy)]
pub(super) struct UnexpectedEntry {
    pub(super) message: Message,
    pub(super) hashes: Hashes,
}

pub(super) type Messages = Slab<Aged<UnexpectedEntry>, 4>;

#[derive(Default)]
pub(in crate::engines) struct PostedIndexes([Index; 4]);

/// Excluded classes have no bins.
#[derive(Default)]
pub(super) struct UnexpectedIndexes {
    no_wildcard: Index<0>,
    any_source: Index<1>,
    any_tag: Index<2>,
    all: Index<3>,
}

#[derive(Default)]
pub(super) struct Communicator {
    pub(super) posted: PostedIndexes,
    pub(super) unexpected: UnexpectedIndexes,
    pub(super) runs: Runs,
}

fn bins_of(class: Class, bins: u32) -> u32 {
    if class == Class::AnySourceAnyTag { 1 } else { bins }
}

impl PostedIndexes {
    #[inline]
    pub(super) fn of(&self, class: Class) -> &Index {
        &self.0[class as usize]
    }

    #[inline]
    pub(super) fn of_mut(&mut self, class: Class) -> &mut Index {
        &mut self.0[class as usize]
    }

    #[inline]
    pub(super) fn prepare(&mut self, class: Class, bins: u32) -> Result<&mut Index, Refused> {
        let index = self.of_mut(class);
        index.prepare(bins_of(class, bins))?;
        Ok(index)
    }

    /// The match with the smallest label (paper §III-C).
    #[inline]
    pub(super) fn find(
        &self,
        receives: &Descriptors,
        envelope: &Envelope,
        hashes: Hashes,
        examined: &mut u64,
        is_free: impl Fn(SlotIndex) -> bool,
    ) -> Option<(Class, SlotIndex)> {
        let mut found = None;
        let mut label = u64::MAX;
        for class in CLASSES {
            let index = self.of(class);
            if index.is_empty() {
                continue;
            }
            let matches =
                |at, descriptor: &Descriptor| descriptor.receive.selector.matches(envelope) && is_free(at);
            if let Some(at) = index.bin(class.key(hashes)).search(receives, label, examined, matches) {
                label = receives.get(at).age;
                found = Some((class, at));
            }
        }
        found
    }

    pub(super) fn remove_excluded(&mut self, hints: Hints) {
        for class in CLASSES.into_iter().filter(|class| !class.is_admitted(hints)) {
            *self.of_mut(class) = Index::default();
        }
    }

    fn bytes(&self) -> u64 {
        self.0.iter().map(Index::bytes).sum()
    }
}

impl UnexpectedIndexes {
    /// Allocates the bins of all classes that `hints` allow.
    #[inline]
    pub(super) fn prepare(&mut self, hints: Hints, bins: u32) -> Result<(), Refused> {
        // This index is allocated last: if it exists, all exist.
        if self.no_wildcard.bytes() > 0 { Ok(()) } else { self.allocate(hints, bins) }
    }

    #[cold]
    fn allocate(&mut self, hints: Hints, bins: u32) -> Result<(), Refused> {
        if Class::AnySource.is_admitted(hints) {
            self.any_source.prepare(bins_of(Class::AnySource, bins))?;
        }
        if Class::AnyTag.is_admitted(hints) {
            self.any_tag.prepare(bins_of(Class::AnyTag, bins))?;
        }
        if Class::AnySourceAnyTag.is_admitted(hints) {
            self.all.prepare(bins_of(Class::AnySourceAnyTag, bins))?;
        }
        self.no_wildcard.prepare(bins_of(Class::NoWildcard, bins))
    }

    #[inline]
    pub(super) fn push(&mut self, messages: &mut Messages, at: SlotIndex, hashes: Hashes) {
        self.no_wildcard.push(messages, at, Class::NoWildcard.key(hashes));
        self.any_source.push(messages, at, Class::AnySource.key(hashes));
        self.any_tag.push(messages, at, Class::AnyTag.key(hashes));
        self.all.push(messages, at, Class::AnySourceAnyTag.key(hashes));
    }

    #[inline]
    pub(super) fn unlink(&mut self, messages: &mut Messages, at: SlotIndex) {
        let hashes = messages.get(at).value.hashes;
        self.no_wildcard.unlink(messages, at, Class::NoWildcard.key(hashes));
        self.any_source.unlink(messages, at, Class::AnySource.key(hashes));
        self.any_tag.unlink(messages, at, Class::AnyTag.key(hashes));
        self.all.unlink(messages, at, Class::AnySourceAnyTag.key(hashes));
    }

    pub(super) fn set_envelope(&mut self, messages: &mut Messages, at: SlotIndex, named: Envelope) {
        self.unlink(messages, at);
        let hashes = Hashes::of(&named);
        let waiting = &mut messages.get_mut(at).value;
        *waiting = UnexpectedEntry { message: Message::new(waiting.message.id, named), hashes };
        self.no_wildcard.insert(messages, at, Class::NoWildcard.key(hashes));
        self.any_source.insert(messages, at, Class::AnySource.key(hashes));
        self.any_tag.insert(messages, at, Class::AnyTag.key(hashes));
        self.all.insert(messages, at, Class::AnySourceAnyTag.key(hashes));
    }

    #[inline]
    pub(super) fn find(
        &self,
        messages: &Messages,
        selector: &Selector,
        examined: &mut u64,
    ) -> Option<SlotIndex> {
        let class = Class::of(selector);
        let key = class.key_of(selector);
        let matches = |_, waiting: &UnexpectedEntry| selector.matches(&waiting.message.envelope);
        match class {
            Class::NoWildcard => self.no_wildcard.bin(key).search(messages, u64::MAX, examined, matches),
            Class::AnySource => self.any_source.bin(key).search(messages, u64::MAX, examined, matches),
            Class::AnyTag => self.any_tag.bin(key).search(messages, u64::MAX, examined, matches),
            Class::AnySourceAnyTag => self.all.bin(key).search(messages, u64::MAX, examined, matches),
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.no_wildcard.bytes() + self.any_source.bytes() + self.any_tag.bytes() + self.all.bytes()
    }
}

impl Communicator {
    pub(super) fn clear(&mut self) {
        self.posted.0.iter_mut().for_each(Index::clear);
        let UnexpectedIndexes { no_wildcard, any_source, any_tag, all } = &mut self.unexpected;
        no_wildcard.clear();
        any_source.clear();
        any_tag.clear();
        all.clear();
    }

    pub(super) fn bytes(&self) -> u64 {
        self.posted.bytes() + self.unexpected.bytes()
    }
}
