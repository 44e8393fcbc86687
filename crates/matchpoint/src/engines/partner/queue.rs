//! One of the two queues: a shared queue for the entries of all sources that are no partners, and one for each partner.
//!
//! **Levels in one chain.** In the paper each level has a non-partner queue (npq₀ for the base level, npq₁, …): once it has
//! more than *t* entries, those who sent most of them become partners and a new level begins with an empty npq. So
//! everything in npqᵢ is older than anything in npqᵢ₊₁, and the npqs one behind the other are one queue in order of age:
//! here they are one chain, and a level is the age at which it began.
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

use super::partners::Partners;
use crate::chains::{Aged, Chain, NIL, Place, Slab};
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

/// Which queue an entry is in.
#[derive(Clone, Copy)]
pub(super) enum Home {
    Shared,
    Partner(u32),
}

/// An entry that was found.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub at: Place,
    pub age: u64,
    pub home: Home,
}

/// The level that new entries of the shared queue belong to.
#[derive(Clone, Copy)]
pub(super) struct Level {
    /// The age of the first entry that could belong to it.
    pub since: u64,
    /// The first entry that does, or [`NIL`].
    pub first: Place,
    pub len: usize,
}

/// See the [module's documentation](self).
pub(super) struct Split<T> {
    pub entries: Slab<Aged<T>, 1>,
    shared: Chain,
    pub partners: Partners,
    pub last: Level,
    /// Older entries of the shared queue are of the base level, before which nobody is a partner.
    base_until: u64,
    /// Levels, the base level included: the paper's L.
    pub levels: u32,
    /// Extraction waits for so many more entries, since the last one found nobody.
    pub patience: usize,
}

/// Goes on from `at` until an entry matches, which is true, or is of age `until` or younger, or there is none.
#[inline]
pub(super) fn walk<T: Copy>(
    entries: &Slab<Aged<T>, 1>,
    at: &mut Place,
    until: u64,
    examined: &mut u64,
    matches: impl Fn(&T) -> bool,
) -> bool {
    while *at != NIL {
        let entry = entries.get(*at);
        if entry.age >= until {
            return false;
        }
        *examined += 1;
        if matches(&entry.value) {
            return true;
        }
        *at = entries.next(*at, 0);
    }
    false
}

impl<T: Queued> Split<T> {
    /// Empty. If there are partners, they are so from the beginning.
    pub fn new(partners: Partners) -> Self {
        let last = Level { since: 0, first: NIL, len: 0 };
        let base_until = if partners.is_empty() { u64::MAX } else { 0 };
        let (entries, shared) = (Slab::default(), Chain::default());
        Split { entries, shared, partners, last, base_until, levels: 1, patience: 0 }
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
        let mut at = self.shared.head();
        let mut home = Home::Shared;
        let mut is_found = walk(&self.entries, &mut at, self.base_until, examined, &matches);
        if !is_found && !self.partners.is_empty() {
            match look_up(&self.partners) {
                None => is_found = walk(&self.entries, &mut at, u64::MAX, examined, &matches),
                Some(number) => {
                    let partner = self.partners.get(number);
                    is_found = walk(&self.entries, &mut at, partner.since, examined, &matches);
                    if !is_found {
                        at = partner.queue.head();
                        home = Home::Partner(number);
                        is_found = walk(&self.entries, &mut at, u64::MAX, examined, &matches);
                    }
                }
            }
        } else if !is_found {
            // Nobody is a partner any more: closing a context took the last.
            is_found = walk(&self.entries, &mut at, u64::MAX, examined, &matches);
        }
        is_found.then(|| Found { at, age: self.entries.get(at).age, home })
    }

    /// The earliest entry of any source that matches; `number` is that of its context. O(partners) and the entries
    /// examined: of each queue those that are older than what was found already.
    pub fn find_any(&self, number: u64, examined: &mut u64, matches: impl Fn(&T) -> bool) -> Option<Found> {
        let mut earliest: Option<Found> = None;
        let shared = std::iter::once((Home::Shared, self.shared));
        let own = self.partners.of(number).map(|(at, partner)| (Home::Partner(at), partner.queue));
        for (home, queue) in shared.chain(own) {
            let mut at = queue.head();
            let until = earliest.map_or(u64::MAX, |found| found.age);
            if walk(&self.entries, &mut at, until, examined, &matches) {
                earliest = Some(Found { at, age: self.entries.get(at).age, home });
            }
        }
        earliest
    }

    /// Where an entry of that source (of the context with that number) and age is.
    pub fn home(&self, number: u64, source: Option<Rank>, age: u64) -> Home {
        let partner = source.and_then(|source| self.partners.find(number, source));
        match partner {
            Some(at) if self.partners.get(at).since <= age => Home::Partner(at),
            _ => Home::Shared,
        }
    }

    /// Queues the youngest entry.
    #[inline]
    pub fn push(&mut self, value: T, age: u64, home: Home) -> Result<(), Refused> {
        let at = self.entries.insert(Aged { value, age })?;
        match home {
            Home::Shared => {
                self.shared.push(&mut self.entries, at);
                self.last.len += 1;
                self.patience = self.patience.saturating_sub(1);
                if self.last.first == NIL {
                    self.last.first = at;
                }
            }
            Home::Partner(number) => self.partners.get_mut(number).queue.push(&mut self.entries, at),
        }
        Ok(())
    }

    #[inline]
    fn unlink(&mut self, at: Place, home: Home) {
        match home {
            Home::Shared => {
                if self.entries.get(at).age >= self.last.since {
                    self.last.len -= 1;
                    if self.last.first == at {
                        self.last.first = self.entries.next(at, 0);
                    }
                }
                self.shared.unlink(&mut self.entries, at);
            }
            Home::Partner(number) => self.partners.get_mut(number).queue.unlink(&mut self.entries, at),
        }
    }

    /// Takes an entry out.
    #[inline]
    pub fn take(&mut self, at: Place, home: Home) -> T {
        self.unlink(at, home);
        self.entries.remove(at).value
    }

    /// Gives the entry at `at`, of the shared queue since its source was not known, another value. If its source is a
    /// partner since before it was queued, it goes to where its age belongs in that queue.
    pub fn rename(&mut self, at: Place, number: u64, named: T) {
        let age = self.entries.get(at).age;
        if let Home::Partner(partner) = self.home(number, named.source(), age) {
            self.unlink(at, Home::Shared);
            let queue = &mut self.partners.get_mut(partner).queue;
            let younger = queue.iter(&self.entries).find(|(_, other)| other.age > age);
            let younger = younger.map_or(NIL, |(place, _)| place);
            queue.insert_before(&mut self.entries, at, younger);
        }
        self.entries.get_mut(at).value = named;
    }

    /// The entries of the last level.
    pub fn of_last_level(&self) -> impl Iterator<Item = &T> {
        let mut at = self.last.first;
        std::iter::from_fn(move || {
            let place = (at != NIL).then_some(at)?;
            at = self.entries.next(place, 0);
            Some(&self.entries.get(place).value)
        })
    }

    /// Begins a new level with the entry of age `since`.
    pub fn begin_level(&mut self, since: u64) {
        self.last = Level { since, first: NIL, len: 0 };
        self.base_until = self.base_until.min(since);
        self.levels += 1;
    }

    /// Forgets the partners of a context that has no entries any more; there may be room for others now.
    pub fn forget(&mut self, number: u64) {
        self.partners.forget(number);
        self.patience = 0;
    }
}
