//! The posted or the unexpected queue, split into a shared queue and a queue per partner.
//!
//! **Levels.** If the non-partner queue (npq) of a level has more than *t* entries, the most frequent sources
//! become partners, and a new level starts with an empty npq. Entries of npqᵢ are older than those of npqᵢ₊₁.
//! Here all npqs are one ring, and a level is the age of its first entry. A comparison with a ring entry
//! takes 1 to 3.5 ns; with an entry of the paper's linked lists, 6 to 11 ns in random order.
//!
//! ```text
//! shared   a₁ b₂ c₃ a₄ a₅ │ d₇ e₈ d₉ d₁₀ │ f₁₂ …      ages; │ starts a level
//!          level 0 (base) │ level 1      │ level 2
//! a        a₆ a₁₁                                      a partner since 6: its older entries remain in the shared queue
//! d        d₁₃                                         a partner since 11
//! ```
//!
//! **Proof of order.** Let source *s* be a partner since age *y*. Older entries of *s* are in the shared
//! queue, all others in the queue of *s*. Entries never move between both queues.
//!
//! * Both queues are in order of age. So the first match in the shared queue before age *y* (Algorithm 3,
//!   lines 1 and 12 to 14), else in the queue of *s* (line 15), is the oldest.
//! * Entries of other sources are all in the shared queue (lines 23 to 24).
//! * A message with unknown source is in the shared queue. A message that gets its source moves to the
//!   position of its age ([`SplitQueue::set_envelope`]).
//! * Tags do not select a queue. An any-source receive compares the ages of the first match in each queue.

use std::collections::VecDeque;

use super::partners::{Partner, Partners};
use crate::engine::{Message, Receive, Refused};
use crate::envelope::{ContextId, Rank, Wild};
use crate::linked::{Aged, LinkedQueue, Slab, SlotIndex};

pub(super) trait QueueEntry: Copy {
    fn context(&self) -> ContextId;
    fn source(&self) -> Option<Rank>;
}

impl QueueEntry for Receive {
    fn context(&self) -> ContextId {
        self.selector.context()
    }

    fn source(&self) -> Option<Rank> {
        match self.selector.source() {
            Wild::Is(source) => Some(source),
            _ => None,
        }
    }
}

impl QueueEntry for Message {
    fn context(&self) -> ContextId {
        self.envelope.context
    }

    fn source(&self) -> Option<Rank> {
        Some(self.envelope.source).filter(|&source| source != Rank::UNKNOWN)
    }
}

#[derive(Clone, Copy)]
pub(super) enum SearchPosition {
    Shared(usize),
    Partner(u32, SlotIndex),
    FromAny(SlotIndex),
}

#[derive(Clone, Copy)]
pub(super) struct Found {
    pub at: SearchPosition,
    pub age: u64,
}

/// Position of an entry, valid while other entries are added or removed.
#[derive(Clone, Copy)]
pub(crate) enum EntryPosition {
    /// `before` is an upper bound of the index.
    Shared {
        age: u64,
        before: usize,
    },
    Slab(SlotIndex),
}

pub(super) struct SplitQueue<T> {
    /// The paper's npqs, in the order of levels.
    shared: VecDeque<Aged<T>>,
    slab: Slab<Aged<T>, 1>,
    /// PRQ_ANY; empty in the unexpected queue.
    from_any: LinkedQueue,
    pub partners: Partners,
    /// Entries before the last level.
    older: usize,
    /// Older entries belong to the base level, which has no partners.
    base_until: u64,
    /// The paper's L, the base level included. 64 bits, because the number never decreases.
    pub levels: u64,
    /// Pushes until the next extraction, after an extraction without partners.
    pub extraction_delay: usize,
}

impl<T: QueueEntry> SplitQueue<T> {
    /// The partners of a profile, or none.
    pub fn new(partners: Partners) -> Self {
        let base_until = if partners.is_empty() { u64::MAX } else { 0 };
        let (shared, slab, from_any) = Default::default();
        SplitQueue { shared, slab, from_any, partners, older: 0, base_until, levels: 1, extraction_delay: 0 }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.shared.len() + self.slab.len()
    }

    pub fn bytes(&self) -> u64 {
        (self.shared.capacity() * size_of::<Aged<T>>()) as u64 + self.slab.bytes()
    }

    #[inline]
    fn search_shared(
        &self,
        at: &mut usize,
        until: u64,
        examined: &mut u64,
        matches: impl Fn(&T) -> bool,
    ) -> Option<Found> {
        for entry in self.shared.range(*at..) {
            if entry.age >= until {
                return None;
            }
            *examined += 1;
            if matches(&entry.value) {
                return Some(Found { at: SearchPosition::Shared(*at), age: entry.age });
            }
            *at += 1;
        }
        None
    }

    /// The oldest match from one source (Algorithm 3). `look_up` finds the source's partner, if the base
    /// level has no match.
    #[inline]
    pub fn find(
        &self,
        look_up: impl FnOnce(&Partners) -> Option<u32>,
        examined: &mut u64,
        matches: impl Fn(&T) -> bool,
    ) -> Option<Found> {
        let mut at = 0;
        let base = self.search_shared(&mut at, self.base_until, examined, &matches);
        if base.is_some() {
            return base;
        }
        let partner = if self.partners.is_empty() { None } else { look_up(&self.partners) };
        let Some(number) = partner else {
            return self.search_shared(&mut at, u64::MAX, examined, &matches);
        };
        let &Partner { since, queue, .. } = self.partners.get(number);
        let before = self.search_shared(&mut at, since, examined, &matches);
        before.or_else(|| self.search_partner(number, queue, u64::MAX, examined, &matches))
    }

    #[inline]
    fn search_partner(
        &self,
        number: u32,
        queue: LinkedQueue,
        until: u64,
        examined: &mut u64,
        matches: impl Fn(&T) -> bool,
    ) -> Option<Found> {
        let at = queue.search(&self.slab, until, examined, |_, value| matches(value))?;
        Some(Found { at: SearchPosition::Partner(number, at), age: self.slab.get(at).age })
    }

    /// O(partners + entries examined). Searches each queue up to the age of the oldest match so far.
    pub fn find_any(&self, number: u64, examined: &mut u64, matches: impl Fn(&T) -> bool) -> Option<Found> {
        let mut oldest = self.search_shared(&mut 0, u64::MAX, examined, &matches);
        for (partner, &Partner { queue, .. }) in self.partners.of(number) {
            let until = oldest.map_or(u64::MAX, |found| found.age);
            oldest = self.search_partner(partner, queue, until, examined, &matches).or(oldest);
        }
        oldest
    }

    #[inline]
    pub fn find_from_any(
        &self,
        until: u64,
        examined: &mut u64,
        matches: impl Fn(&T) -> bool,
    ) -> Option<Found> {
        let at = self.from_any.search(&self.slab, until, examined, |_, value| matches(value))?;
        Some(Found { at: SearchPosition::FromAny(at), age: self.slab.get(at).age })
    }

    #[inline]
    pub fn push(&mut self, value: T, age: u64, partner: Option<u32>) -> Result<(), Refused> {
        let Some(number) = partner else {
            self.shared.try_reserve(1).map_err(|_| Refused::Memory)?;
            self.shared.push_back(Aged { value, age });
            self.extraction_delay = self.extraction_delay.saturating_sub(1);
            return Ok(());
        };
        let at = self.slab.insert(Aged { value, age })?;
        self.partners.get_mut(number).queue.push(&mut self.slab, at);
        Ok(())
    }

    pub fn push_from_any(&mut self, value: T, age: u64) -> Result<(), Refused> {
        let at = self.slab.insert(Aged { value, age })?;
        self.from_any.push(&mut self.slab, at);
        Ok(())
    }

    pub fn get(&self, at: SearchPosition) -> T {
        match at {
            SearchPosition::Shared(at) => self.shared[at].value,
            SearchPosition::Partner(_, at) | SearchPosition::FromAny(at) => self.slab.get(at).value,
        }
    }

    #[inline]
    pub fn take(&mut self, at: SearchPosition) -> T {
        let slot = match at {
            SearchPosition::Shared(at) => {
                let value = self.shared[at].value;
                self.shared.remove(at);
                self.older -= usize::from(at < self.older);
                return value;
            }
            SearchPosition::Partner(number, at) => {
                self.partners.get_mut(number).queue.unlink(&mut self.slab, at);
                at
            }
            SearchPosition::FromAny(at) => {
                self.from_any.unlink(&mut self.slab, at);
                at
            }
        };
        self.slab.remove(slot).value
    }

    pub fn positions(&self) -> impl Iterator<Item = (u64, EntryPosition)> {
        let shared = self.shared.iter().enumerate();
        let shared = shared.map(|(before, &Aged { age, .. })| (age, EntryPosition::Shared { age, before }));
        shared.chain(self.slab.iter().map(|(at, entry)| (entry.age, EntryPosition::Slab(at))))
    }

    pub fn entry_at(&self, position: EntryPosition) -> T {
        match position {
            EntryPosition::Shared { age, before } => self.shared[self.index(age, before)].value,
            EntryPosition::Slab(at) => self.slab.get(at).value,
        }
    }

    /// O(1) unless an older entry was removed.
    fn index(&self, age: u64, before: usize) -> usize {
        match self.shared.get(before) {
            Some(entry) if entry.age == age => before,
            _ => self.shared.partition_point(|entry| entry.age < age),
        }
    }

    pub fn take_at(&mut self, position: EntryPosition, number: Option<u64>) {
        let at = match position {
            EntryPosition::Shared { age, before } => SearchPosition::Shared(self.index(age, before)),
            EntryPosition::Slab(at) => {
                let source = self.slab.get(at).value.source();
                let partner = source.and_then(|source| self.partners.find(number?, source));
                partner.map_or(SearchPosition::FromAny(at), |partner| SearchPosition::Partner(partner, at))
            }
        };
        self.take(at);
    }

    /// If the source was a partner before the message arrived, the message moves to the partner's queue, at
    /// its age.
    pub fn set_envelope(
        &mut self,
        position: EntryPosition,
        number: Option<u64>,
        addressed: T,
    ) -> Result<(), Refused> {
        let EntryPosition::Shared { age, before } = position else { return Ok(()) };
        let index = self.index(age, before);
        let partner = addressed.source().and_then(|source| self.partners.find(number?, source));
        match partner.filter(|&partner| self.partners.get(partner).since <= age) {
            None => self.shared[index].value = addressed,
            Some(partner) => {
                let at = self.slab.insert(Aged { value: addressed, age })?;
                self.take(SearchPosition::Shared(index));
                self.partners.get_mut(partner).queue.insert(&mut self.slab, at);
            }
        }
        Ok(())
    }

    #[inline]
    pub fn last_level_len(&self) -> usize {
        self.shared.len() - self.older
    }

    pub fn last_level(&self) -> impl Iterator<Item = &T> {
        self.shared.range(self.older..).map(|entry| &entry.value)
    }

    /// Starts a new level with entries of age `since`.
    pub fn start_level(&mut self, since: u64) {
        self.older = self.shared.len();
        self.base_until = self.base_until.min(since);
        self.levels += 1;
    }

    pub fn remove_context(&mut self, number: u64) {
        self.partners.remove_context(number);
        self.extraction_delay = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_counted_beyond_32_bits() {
        let mut queue = SplitQueue::<Receive>::new(Partners::empty(4, None));
        queue.levels = u32::MAX.into();
        queue.start_level(7);
        assert_eq!(queue.levels, 1 << 32);
    }
}
