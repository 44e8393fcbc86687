//! What is kept of the waiting messages for searches that leave something open: filled from the log, oldest first, only as
//! far as searches have to go, and made anew beside the old where too many of those in it were taken.

use super::chunk::{Word, word};
use super::class::Openness;
use super::entry::{At, Kind, Ref};
use super::found::Found;
use super::grave::Dropped;
use super::key::{Hashing, Key};
use super::log::Log;
use super::pool::NIL;
use super::table::Table;
use crate::engine::Refused;

/// Messages that are kept with each search while what keeps them is made anew, and two for each that is kept in the old one.
const CATCH_UP: usize = 64;

/// Messages that are brought into the caches together, at most, once so many were looked at one by one: of a million, each is
/// a miss, and so they do not wait for one another. Most searches end sooner.
const AHEAD: usize = 64;
const AHEAD_AFTER: usize = 8;

/// Slots of a table, 1 MiB, that mostly is in the caches: there, looking ahead is 46 instructions a message for nothing.
const CACHED: usize = 1 << 15;

/// Messages kept beyond twice those that can be alive, before they are kept anew.
const SLACK: usize = 256;

/// What was not searched during four times as many arrivals, and as it has entries, is dropped.
const UNUSED: usize = 1024;

/// A message, by what finds it and its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line {
    pub(super) seq: u64,
    pub(super) word: Word,
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

    /// Where a message lies, and its key, if it is there still.
    #[inline(always)]
    fn look_up(&self, entry: Ref, seq: u64) -> Option<(Found, Key)> {
        if let Some((home, slot)) = self.table.plain(entry, Kind::Waiting, seq) {
            return Some((Found::first(At::new(home, NIL)), slot.key()));
        }
        let found = self.resolve_beside(entry, seq)?;
        Some((found, self.table.key(found.at)))
    }

    /// [`resolve`](Self::resolve), apart from a loop whose registers it would take.
    #[inline(never)]
    fn resolve_beside(&self, entry: Ref, seq: u64) -> Option<Found> {
        self.resolve(entry, seq)
    }

    /// Where the message of a number lies, if it is there still.
    #[inline]
    pub(super) fn find(&self, seq: u64) -> Option<Found> {
        self.table.resolve(self.log.find(seq)?, seq, self.hashing)
    }

    /// Brings the places of some messages into the caches.
    #[inline(never)]
    fn look_at(&self, lines: impl Iterator<Item = (u64, Ref)>) {
        let marks = lines.filter(|(_, entry)| entry.place().is_none());
        let marks = marks.map(|(_, entry)| self.table.slots[self.table.home(entry.spot())].mark);
        std::hint::black_box(marks.fold(0, |all, mark| all ^ mark));
    }
}

/// What messages are kept in.
pub(super) trait Store: Dropped {
    /// Messages, dead or alive, and what else takes the place of some.
    fn len(&self) -> usize;

    /// Keeps one, younger than all that it has, by what is left of its key.
    fn add(&mut self, rest: &Key, line: Line, hashing: &Hashing) -> Result<(), Refused>;
}

/// Messages, oldest first.
#[derive(Default)]
pub(super) struct Held<S> {
    pub(super) store: S,
    /// All messages older than this are in it.
    pub(super) until: u64,
}

impl<S: Store> Held<S> {
    /// Keeps messages until one is met of which `is_it` says so, by its key and what is left of that; that is returned and
    /// not kept; or until `most` were looked at. False: there was no memory to keep the one at `until`, which is not such a
    /// message: who [searches](Self::extend_or_look) looks at the others all the same.
    pub(super) fn extend(
        &mut self,
        open: &Openness,
        is_it: impl Fn(&Key, &Key) -> bool,
        unexpected: Unexpected<'_>,
        mut most: usize,
        examined: &mut u64,
    ) -> (Option<Found>, bool) {
        if self.until == unexpected.clock {
            return (None, true);
        }
        let is_large = unexpected.table.slots.len() > CACHED;
        // Lines until there is something else to do than look at the next.
        let (mut stretch, mut ahead) = (if is_large { AHEAD_AFTER.min(most) } else { most }, AHEAD_AFTER);
        let mut left = stretch;
        let (mut until, mut looked_at) = (self.until, 0);
        let mut lines = unexpected.log.since(until);
        let found = loop {
            let Some((seq, entry)) = lines.next() else {
                until = unexpected.clock;
                break None;
            };
            if left == 0 {
                most -= stretch;
                if most == 0 {
                    break None;
                }
                ahead = usize::min(2 * ahead, AHEAD);
                stretch = ahead.min(most);
                unexpected.look_at(lines.clone().take(stretch));
                left = stretch;
            }
            left -= 1;
            until = seq;
            let Some((found, key)) = unexpected.look_up(entry, seq) else { continue };
            looked_at += 1;
            let rest = open.rest(&key);
            if is_it(&key, &rest) {
                break Some(found);
            }
            let line = Line { seq, word: word(entry) };
            if self.store.add(&rest, line, unexpected.hashing).is_err() {
                self.until = until;
                *examined += looked_at;
                return (None, false);
            }
            until = seq + 1;
        };
        self.until = until;
        *examined += looked_at;
        (found, true)
    }
}

/// The messages that searches of one kind find.
pub(super) struct Kept<S> {
    pub(super) open: Openness,
    pub(super) held: Held<S>,
    /// What is to replace it, without entries of the dead.
    pub(super) fresh: Option<Held<S>>,
    /// When it was searched last, in searches and in arrivals.
    pub(super) searched: u64,
    clock: u64,
}

impl<S: Store> Kept<S> {
    pub(super) fn new(open: Openness, held: Held<S>, searched: u64) -> Self {
        Kept { open, held, fresh: None, searched, clock: 0 }
    }

    /// Bytes allocated for messages.
    pub(super) fn bytes(&self) -> u64 {
        self.held.store.bytes() + self.fresh.as_ref().map_or(0, |fresh| fresh.store.bytes())
    }

    /// It is searched.
    #[inline]
    pub(super) fn note_search(&mut self, number: u64, clock: u64) {
        (self.searched, self.clock) = (number, clock);
    }

    /// Whether it was of use lately: as many arrivals as it has entries, and will have so many more, ago, and more.
    pub(super) fn is_used(&self, more: usize, clock: u64) -> bool {
        let entries = (self.held.store.len() + more + UNUSED) as u64;
        // The clock counts in twos.
        clock < self.clock + 2 * 4 * entries
    }

    /// Whether it holds few of the dead, while so many wait, and is not being made anew.
    #[inline]
    pub(super) fn is_tidy(&self, waiting: usize) -> bool {
        self.fresh.is_none() && self.held.store.len() <= 2 * waiting + SLACK
    }

    /// Makes it anew if it holds too many of the dead, a little with each search, `before` which it had come so far. What
    /// nobody needs any more.
    #[inline(always)]
    pub(super) fn renew(
        &mut self,
        before: u64,
        unexpected: Unexpected<'_>,
        made: impl FnOnce() -> Held<S>,
    ) -> Option<Held<S>> {
        if self.is_tidy(unexpected.table.count(Kind::Waiting)) {
            return None;
        }
        // Messages are numbered in twos.
        let kept = self.held.until.saturating_sub(before) / 2;
        self.renew_some(unexpected, CATCH_UP.saturating_add(2 * kept as usize), made)
    }

    #[inline(never)]
    fn renew_some(
        &mut self,
        unexpected: Unexpected<'_>,
        most: usize,
        made: impl FnOnce() -> Held<S>,
    ) -> Option<Held<S>> {
        let fresh = self.fresh.get_or_insert_with(made);
        let (_, has_room) = fresh.extend(&self.open, |_, _| false, unexpected, most, &mut 0);
        let is_done = fresh.until >= self.held.until;
        if !has_room {
            return self.fresh.take();
        }
        if is_done {
            return self.fresh.take().map(|fresh| std::mem::replace(&mut self.held, fresh));
        }
        None
    }
}
