//! One of the two queues: a shared queue for the entries of all sources that are no partners, and one for each partner.
//!
//! **Levels in one queue.** In the paper each level has a non-partner queue (npq₀ for the base level, npq₁, …): once it has
//! more than *t* entries, those who sent most of them become partners and a new level begins with an empty npq. So
//! everything in npqᵢ is older than anything in npqᵢ₊₁, and the npqs one behind the other are one queue in order of age:
//! here they are one ring, and a level is the age at which it began. (A ring and not a chain, as the paper's lists are:
//! walking past an entry of a ring takes 1 to 3.5 ns, of a chain 6 to 11 once its entries lie in any order.)
//!
//! ```text
//! shared   a₁ b₂ c₃ a₄ a₅ │ d₇ e₈ d₉ d₁₀ │ f₁₂ …      ages; │ where a level begins
//!          level 0 (base) │ level 1      │ level 2
//! a        a₆ a₁₁                                      a partner since 6: its older entries stay where they are
//! d        d₁₃                                         a partner since 11
//! ```
//!
//! **Why the earliest is found.** Let source *s* be a partner since age *y*. An entry of *s* goes to its own queue if it
//! is of age *y* or younger, and to the shared one otherwise, and nothing ever moves between them. So *all* entries of *s*
//! that match are: in the shared queue before age *y* (Algorithm 3, lines 1 and 12 to 14: the npqs up to the level of
//! partnership), and in its own queue after it (line 15). Both are in order of age, so the first match in the first,
//! else the first in the second, is the earliest. For a source that is no partner, all is in the shared queue (lines 23
//! to 24). A message whose source was not known is in the shared queue; when it is named, it goes to where its age
//! belongs, in order ([`Split::rename`]). Selectors with any tag or a mask need nothing more, since no queue is chosen by
//! tag. A receive from any source compares ages of the first match in each queue.

use std::collections::VecDeque;

use super::partners::{Partner, Partners};
use crate::chains::{Aged, Chain, Place, Slab};
use crate::engine::{Message, Receive, Refused};
use crate::envelope::{ContextId, Rank, Wild};

/// What is queued.
pub(super) trait Queued: Copy {
    fn context(&self) -> ContextId;
    /// The source that it is known by, if any.
    fn source(&self) -> Option<Rank>;
}

impl Queued for Receive {
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

impl Queued for Message {
    fn context(&self) -> ContextId {
        self.envelope.context
    }

    fn source(&self) -> Option<Rank> {
        Some(self.envelope.source).filter(|&source| source != Rank::UNKNOWN)
    }
}

/// Where an entry was found.
#[derive(Clone, Copy)]
pub(super) enum At {
    /// So many entries of the shared queue are before it.
    Shared(usize),
    /// In a partner's own queue.
    Partner(u32, Place),
    /// Among the receives from any source.
    FromAny(Place),
}

/// An entry that was found.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub at: At,
    pub age: u64,
}

/// Where an entry lies, as long as others come and go.
#[derive(Clone, Copy)]
pub(crate) enum Spot {
    /// In the shared queue, and of that age; not more than `before` entries are before it.
    Shared { age: u64, before: usize },
    /// In the slab.
    Slab(Place),
}

/// See the [module's documentation](self).
pub(super) struct Split<T> {
    /// The paper's npqs, one behind the other.
    shared: VecDeque<Aged<T>>,
    /// The entries of all other queues.
    slab: Slab<Aged<T>, 1>,
    /// PRQ_ANY; always empty in the unexpected queue.
    from_any: Chain,
    pub partners: Partners,
    /// Entries of the shared queue that are of an older level than the last.
    older: usize,
    /// Older entries of the shared queue are of the base level, before which nobody is a partner.
    base_until: u64,
    /// Levels begun so far, the base level included: the paper's L. Wide, as it only grows: levels of partners that were
    /// forgotten count, too.
    pub levels: u64,
    /// Extraction waits for so many more entries, since the last one found nobody.
    pub patience: usize,
}

impl<T: Queued> Split<T> {
    /// Empty. If there are partners, they are so from the beginning.
    pub fn new(partners: Partners) -> Self {
        let base_until = if partners.is_empty() { u64::MAX } else { 0 };
        let (shared, slab, from_any) = Default::default();
        Split { shared, slab, from_any, partners, older: 0, base_until, levels: 1, patience: 0 }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.shared.len() + self.slab.len()
    }

    pub fn bytes(&self) -> u64 {
        (self.shared.capacity() * size_of::<Aged<T>>()) as u64 + self.slab.bytes()
    }

    /// Walks on from the `at`th entry of the shared queue, as long as entries are older than `until`.
    #[inline]
    fn walk_shared(
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
                return Some(Found { at: At::Shared(*at), age: entry.age });
            }
            *at += 1;
        }
        None
    }

    /// The earliest entry of one source that matches. `look_up` asks the table of partners, after the base level has been
    /// searched (Algorithm 3).
    #[inline]
    pub fn find(
        &self,
        look_up: impl FnOnce(&Partners) -> Option<u32>,
        examined: &mut u64,
        matches: impl Fn(&T) -> bool,
    ) -> Option<Found> {
        let mut at = 0;
        let base = self.walk_shared(&mut at, self.base_until, examined, &matches);
        if base.is_some() {
            return base;
        }
        let partner = if self.partners.is_empty() { None } else { look_up(&self.partners) };
        let Some(number) = partner else {
            return self.walk_shared(&mut at, u64::MAX, examined, &matches);
        };
        let &Partner { since, queue, .. } = self.partners.get(number);
        let before = self.walk_shared(&mut at, since, examined, &matches);
        before.or_else(|| self.walk_partner(number, queue, u64::MAX, examined, &matches))
    }

    #[inline]
    fn walk_partner(
        &self,
        number: u32,
        queue: Chain,
        until: u64,
        examined: &mut u64,
        matches: impl Fn(&T) -> bool,
    ) -> Option<Found> {
        let at = queue.search(&self.slab, until, examined, |_, value| matches(value))?;
        Some(Found { at: At::Partner(number, at), age: self.slab.get(at).age })
    }

    /// The earliest entry of any source that matches; `number` is that of its context. O(partners) and the entries
    /// examined: of each queue those that are older than what was found already.
    pub fn find_any(&self, number: u64, examined: &mut u64, matches: impl Fn(&T) -> bool) -> Option<Found> {
        let mut earliest = self.walk_shared(&mut 0, u64::MAX, examined, &matches);
        for (partner, &Partner { queue, .. }) in self.partners.of(number) {
            let until = earliest.map_or(u64::MAX, |found| found.age);
            earliest = self.walk_partner(partner, queue, until, examined, &matches).or(earliest);
        }
        earliest
    }

    /// The first of the receives from any source that matches and is older than `until`.
    #[inline]
    pub fn find_from_any(
        &self,
        until: u64,
        examined: &mut u64,
        matches: impl Fn(&T) -> bool,
    ) -> Option<Found> {
        let at = self.from_any.search(&self.slab, until, examined, |_, value| matches(value))?;
        Some(Found { at: At::FromAny(at), age: self.slab.get(at).age })
    }

    /// Queues the youngest entry, in a partner's queue or in the shared one.
    #[inline]
    pub fn push(&mut self, value: T, age: u64, partner: Option<u32>) -> Result<(), Refused> {
        let Some(number) = partner else {
            self.shared.try_reserve(1).map_err(|_| Refused::Memory)?;
            self.shared.push_back(Aged { value, age });
            self.patience = self.patience.saturating_sub(1);
            return Ok(());
        };
        let at = self.slab.insert(Aged { value, age })?;
        self.partners.get_mut(number).queue.push(&mut self.slab, at);
        Ok(())
    }

    /// Queues the youngest receive from any source.
    pub fn push_from_any(&mut self, value: T, age: u64) -> Result<(), Refused> {
        let at = self.slab.insert(Aged { value, age })?;
        self.from_any.push(&mut self.slab, at);
        Ok(())
    }

    pub fn get(&self, at: At) -> T {
        match at {
            At::Shared(at) => self.shared[at].value,
            At::Partner(_, at) | At::FromAny(at) => self.slab.get(at).value,
        }
    }

    /// Takes an entry out.
    #[inline]
    pub fn take(&mut self, at: At) -> T {
        let place = match at {
            At::Shared(at) => {
                let value = self.shared[at].value;
                self.shared.remove(at);
                self.older -= usize::from(at < self.older);
                return value;
            }
            At::Partner(number, at) => {
                self.partners.get_mut(number).queue.unlink(&mut self.slab, at);
                at
            }
            At::FromAny(at) => {
                self.from_any.unlink(&mut self.slab, at);
                at
            }
        };
        self.slab.remove(place).value
    }

    /// All entries, those of the shared queue first: age and place.
    pub fn spots(&self) -> impl Iterator<Item = (u64, Spot)> {
        let shared = self.shared.iter().enumerate();
        let shared = shared.map(|(before, &Aged { age, .. })| (age, Spot::Shared { age, before }));
        shared.chain(self.slab.iter().map(|(at, entry)| (entry.age, Spot::Slab(at))))
    }

    pub fn at_spot(&self, spot: Spot) -> T {
        match spot {
            Spot::Shared { age, before } => self.shared[self.index(age, before)].value,
            Spot::Slab(at) => self.slab.get(at).value,
        }
    }

    /// Which entry of the shared queue is of that age. O(1) if none before it was taken meanwhile.
    fn index(&self, age: u64, before: usize) -> usize {
        match self.shared.get(before) {
            Some(entry) if entry.age == age => before,
            _ => self.shared.partition_point(|entry| entry.age < age),
        }
    }

    /// Takes the entry at a spot out; `number` is that of its context.
    pub fn take_spot(&mut self, spot: Spot, number: Option<u64>) {
        let at = match spot {
            Spot::Shared { age, before } => At::Shared(self.index(age, before)),
            Spot::Slab(at) => {
                let source = self.slab.get(at).value.source();
                let partner = source.and_then(|source| self.partners.find(number?, source));
                partner.map_or(At::FromAny(at), |partner| At::Partner(partner, at))
            }
        };
        self.take(at);
    }

    /// Gives an entry of the shared queue, there since its source was not known, another value. If its source is a
    /// partner since before it was queued, it goes to where its age belongs in that queue.
    pub fn rename(&mut self, spot: Spot, number: Option<u64>, named: T) -> Result<(), Refused> {
        let Spot::Shared { age, before } = spot else { return Ok(()) };
        let index = self.index(age, before);
        let partner = named.source().and_then(|source| self.partners.find(number?, source));
        match partner.filter(|&partner| self.partners.get(partner).since <= age) {
            None => self.shared[index].value = named,
            Some(partner) => {
                let at = self.slab.insert(Aged { value: named, age })?;
                self.take(At::Shared(index));
                self.partners.get_mut(partner).queue.insert(&mut self.slab, at);
            }
        }
        Ok(())
    }

    /// Length of the last level's part of the shared queue.
    #[inline]
    pub fn last_level_len(&self) -> usize {
        self.shared.len() - self.older
    }

    /// Its entries.
    pub fn last_level(&self) -> impl Iterator<Item = &T> {
        self.shared.range(self.older..).map(|entry| &entry.value)
    }

    /// Begins a new level with the entry of age `since`.
    pub fn begin_level(&mut self, since: u64) {
        self.older = self.shared.len();
        self.base_until = self.base_until.min(since);
        self.levels += 1;
    }

    /// Forgets the partners of a context that has no entries any more; there may be room for others now.
    pub fn forget(&mut self, number: u64) {
        self.partners.forget(number);
        self.patience = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that closes contexts and opens others begins levels for ever.
    #[test]
    fn levels_are_counted_beyond_32_bits() {
        let mut queue = Split::<Receive>::new(Partners::none(4, None));
        queue.levels = u32::MAX.into();
        queue.begin_level(7);
        assert_eq!(queue.levels, 1 << 32);
    }
}
