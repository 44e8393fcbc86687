//! The search of one index, and of what waits beyond it.

use super::chunk::entry;
use super::class::Openness;
use super::entry::Head;
use super::found::Found;
use super::held::{Held, Line, Store, Unexpected};
use super::key::{Hashing, Key};
use super::lookup::{Lookup, Queue};
use super::roll::{Roll, STRIDE};
use super::sharing::CROWD;
use crate::engine::Refused;
use crate::envelope::Selector;

/// What a search is for.
#[derive(Clone, Copy)]
pub(super) struct Sought<'a> {
    pub(super) selector: &'a Selector,
    /// What the selector leaves open, or the index that is searched, if that is shared.
    pub(super) open: Openness,
    pub(super) rest: &'a Key,
    pub(super) is_shared: bool,
    /// Whether the message will be taken that is found.
    pub(super) is_taken: bool,
}

impl Sought<'_> {
    /// Whether a message is one that is sought.
    #[inline]
    pub(super) fn admits(&self, key: &Key) -> bool {
        self.selector.matches(&key.envelope())
    }

    /// The same, where what is left of its key is known.
    #[inline]
    pub(super) fn is_it(&self, key: &Key, rest: &Key) -> bool {
        rest == self.rest && (!self.is_shared || self.admits(key))
    }
}

/// What a search of an index came to.
pub(super) enum Search {
    Found(Found),
    /// All that is indexed and could match was looked at.
    Nothing,
    /// There is more of that than is compared one by one.
    Crowd,
}

impl Search {
    #[inline(always)]
    pub(super) fn found(self) -> Option<Found> {
        match self {
            Search::Found(found) => Some(found),
            Search::Nothing | Search::Crowd => None,
        }
    }
}

impl Store for Lookup {
    #[inline]
    fn len(&self) -> usize {
        self.places()
    }

    #[inline(always)]
    fn add(&mut self, rest: &Key, line: Line, hashing: &Hashing) -> Result<(), Refused> {
        self.append(hashing.spot(rest).0, line.seq)
    }
}

impl Held<Lookup> {
    /// The earliest message of those it has, which is left out from now on if it is to be taken.
    #[inline(always)]
    pub(super) fn search(
        &mut self,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> Search {
        let hash = unexpected.hashing.spot(sought.rest).0;
        let Some(mut queue) = self.store.find(hash, examined) else { return Search::Nothing };
        loop {
            let Some(found) = unexpected.find(self.store.first(queue)) else {
                *examined += 1;
                let Some(rest) = self.store.pop(queue) else { return Search::Nothing };
                queue = rest;
                continue;
            };
            if !sought.admits(&unexpected.table.key(found.at)) {
                return self.search_behind(queue, sought, unexpected, examined);
            }
            if sought.is_taken {
                self.store.pop(queue);
            }
            return Search::Found(found);
        }
    }

    /// The same among those of a hash behind the first, which is not what is sought.
    #[inline(never)]
    fn search_behind(
        &mut self,
        queue: Queue,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> Search {
        let (mut before, mut next) = (queue.first, self.store.second(queue));
        let mut others = 1;
        while let Some(place) = next {
            *examined += 1;
            let Some(found) = unexpected.find(self.store.seq(place)) else {
                next = self.store.remove(queue, before, place);
                continue;
            };
            if sought.admits(&unexpected.table.key(found.at)) {
                if sought.is_taken {
                    self.store.remove(queue, before, place);
                }
                return Search::Found(found);
            }
            others += 1;
            if sought.is_shared && others > CROWD {
                return Search::Crowd;
            }
            (before, next) = (place, self.store.next(queue, place));
        }
        Search::Nothing
    }

    /// Indexes messages as [`extend`](Self::extend) does, `most` of them, from the copy, which has all that are indexed, and
    /// goes on with it. Nothing: there is no memory to go on.
    pub(super) fn follow(
        &mut self,
        roll: &mut Held<Roll>,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        mut most: usize,
        examined: &mut u64,
    ) -> Option<Option<Found>> {
        let resolve = |line: Line| unexpected.resolve(entry(line.word), line.seq);
        loop {
            for (key, line) in roll.store.since(self.until) {
                let key = match key {
                    Some(key) => key,
                    None => match resolve(line) {
                        Some(found) => unexpected.table.key(found.at),
                        None => continue,
                    },
                };
                if most == 0 {
                    return Some(None);
                }
                most -= 1;
                *examined += 1;
                self.until = line.seq;
                let rest = sought.open.rest(&key);
                if sought.is_it(&key, &rest) {
                    match resolve(line) {
                        None => continue,
                        found => return Some(found),
                    }
                }
                self.store.add(&rest, line, unexpected.hashing).ok()?;
                self.until += 1;
            }
            self.until = self.until.max(roll.until);
            if roll.until == unexpected.clock {
                return Some(None);
            }
            roll.copy_some(STRIDE, unexpected).then_some(())?;
        }
    }

    /// A message was given another key.
    pub(super) fn rename(&mut self, open: &Openness, key: &Key, head: Head, hashing: &Hashing) -> bool {
        if head.seq >= self.until {
            return true;
        }
        let hash = hashing.spot(&open.rest(key)).0;
        self.store.insert_by_age(hash, head.seq, &mut 0).is_ok()
    }
}
