//! Unexpected messages as receives that leave something open find them.
//!
//! Such a receive mostly takes one of the first messages that wait, so those are compared one by one. One that has to
//! look further makes an index of what its class keeps of the keys, filled from the oldest message on, and only as far as
//! a search has to go: neither an arrival nor a receive that leaves nothing open ever looks at an index. So messages
//! that were taken stay in it, until they are met, or are too many. Masks in numbers [share](super::sharing) an index,
//! too: what it finds is compared with the receive.

use super::chunk::{entry, word};
use super::class::Openness;
use super::entry::{Head, Kind, Ref};
use super::found::Found;
use super::grave::{Dropped, Grave};
use super::key::{Hashing, Key};
use super::log::Log;
use super::lookup::{Line, Lookup, Queue};
use super::pool::NIL;
use super::sharing::{CROWD, Sharing};
use super::table::Table;
use crate::envelope::Selector;

/// Messages indexed with each search while an index is made anew, and two for each that is indexed in the old one.
const CATCH_UP: usize = 64;

/// Messages that are brought into the caches together, at most, once so many were looked at one by one: of a million, each is
/// a miss, and so they do not wait for one another. Most searches end sooner.
const AHEAD: usize = 64;
const AHEAD_AFTER: usize = 8;

/// Slots of a table, 1 MiB, that mostly is in the caches: there, looking ahead is 46 instructions a message for nothing.
const CACHED: usize = 1 << 15;

/// Entries in an index beyond twice those that can be alive, before it is made anew.
const SLACK: usize = 256;

/// Small ones that are kept for others to be made of, and bytes of all of them. A program that uses a kind of wildcard now
/// and then would allocate now and then, however long it goes on.
const SPARE: usize = MOST;
const SPARE_BYTES: u64 = 128 << 10;

/// Indexes that there may be: each is as large as the table of what it indexes. 1024 masks that took turns in looking
/// through 10 000 messages held 715 MB.
const MOST: usize = 8;

/// An index that was not searched during four times as many arrivals, and as it has entries, is dropped.
const UNUSED: usize = 1024;

/// Searches since an index was of use, for each that there is, before another takes its place.
const IDLE: u64 = 16;

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

    /// Brings the places of some messages into the caches.
    #[inline(never)]
    fn look_at(&self, lines: impl Iterator<Item = (u64, Ref)>) {
        let marks = lines.filter(|(_, entry)| entry.place().is_none());
        let marks = marks.map(|(_, entry)| self.table.slots[self.table.home(entry.spot())].mark);
        std::hint::black_box(marks.fold(0, |all, mark| all ^ mark));
    }
}

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
    fn admits(&self, key: &Key) -> bool {
        self.selector.matches(&key.envelope())
    }
}

/// What a search of an index came to.
enum Search {
    Found(Found),
    /// All that is indexed and could match was looked at.
    Nothing,
    /// There is more of that than is compared one by one.
    Crowd,
}

impl Search {
    #[inline(always)]
    fn found(self) -> Option<Found> {
        match self {
            Search::Found(found) => Some(found),
            Search::Nothing | Search::Crowd => None,
        }
    }
}

/// Messages by what is left of their keys, oldest first.
struct Held {
    lookup: Lookup,
    /// All messages older than this are in it.
    until: u64,
}

impl Held {
    /// Indexes messages until one that is sought is met, which is returned and not indexed, or `most` were looked at.
    /// False: there was no memory for some of them, which were looked at all the same.
    fn extend(
        &mut self,
        open: &Openness,
        sought: Option<&Sought<'_>>,
        unexpected: Unexpected<'_>,
        mut most: usize,
        examined: &mut u64,
    ) -> (Option<Found>, bool) {
        if self.until == unexpected.clock {
            return (None, true);
        }
        let mut has_room = true;
        let is_large = unexpected.table.slots.len() > CACHED;
        let (mut ahead, mut more) = (if is_large { AHEAD_AFTER } else { usize::MAX }, AHEAD_AFTER);
        let mut lines = unexpected.log.since(self.until);
        while let Some((seq, entry)) = lines.next() {
            if most == 0 {
                return (None, has_room);
            }
            most -= 1;
            if ahead == 0 {
                more = usize::min(2 * more, AHEAD);
                unexpected.look_at(lines.clone().take(more.min(most)));
                ahead = more;
            }
            ahead -= 1;
            if has_room {
                self.until = seq;
            }
            let Some(found) = unexpected.resolve(entry, seq) else { continue };
            *examined += 1;
            let key = unexpected.table.key(found.at);
            let rest = open.rest(&key);
            let is_it =
                |sought: &Sought<'_>| rest == *sought.rest && (!sought.is_shared || sought.admits(&key));
            if sought.is_some_and(is_it) {
                return (Some(found), has_room);
            }
            if has_room {
                let hash = unexpected.hashing.spot(&rest).0;
                has_room = self.lookup.append(hash, Line { seq, word: word(entry) }).is_ok();
                self.until += u64::from(has_room);
            }
        }
        if has_room {
            self.until = unexpected.clock;
        }
        (None, has_room)
    }

    /// The earliest message of those it has, which is left out from now on if it is to be taken.
    #[inline(always)]
    fn search(&mut self, sought: &Sought<'_>, unexpected: Unexpected<'_>, examined: &mut u64) -> Search {
        let hash = unexpected.hashing.spot(sought.rest).0;
        let Some(queue) = self.lookup.find(hash, examined) else { return Search::Nothing };
        loop {
            let line = self.lookup.first(queue);
            let Some(found) = unexpected.resolve(entry(line.word), line.seq) else {
                *examined += 1;
                if self.lookup.pop(queue) {
                    continue;
                }
                return Search::Nothing;
            };
            if !sought.admits(&unexpected.table.key(found.at)) {
                return self.search_behind(queue, sought, unexpected, examined);
            }
            if sought.is_taken {
                self.lookup.pop(queue);
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
        let (mut before, mut place) = self.lookup.behind(queue);
        let mut others = 1;
        while place != NIL {
            let line = self.lookup.line(place);
            *examined += 1;
            let Some(found) = unexpected.resolve(entry(line.word), line.seq) else {
                place = self.lookup.remove(queue, before, place);
                continue;
            };
            if sought.admits(&unexpected.table.key(found.at)) {
                if sought.is_taken {
                    self.lookup.remove(queue, before, place);
                }
                return Search::Found(found);
            }
            others += 1;
            if sought.is_shared && others > CROWD {
                return Search::Crowd;
            }
            (before, place) = (place, self.lookup.next(place));
        }
        Search::Nothing
    }

    /// A message was given another key.
    fn rename(&mut self, open: &Openness, key: &Key, head: Head, hashing: &Hashing) -> bool {
        if head.seq >= self.until {
            return true;
        }
        let hash = hashing.spot(&open.rest(key)).0;
        let line = Line { seq: head.seq, word: word(Ref(head.id)) };
        self.lookup.insert_by_age(hash, line, &mut 0).is_ok()
    }
}

/// The index of a class.
struct Index {
    open: Openness,
    /// Whether it is of several masks.
    is_shared: bool,
    held: Held,
    /// What is to replace it, without entries of the dead.
    fresh: Option<Held>,
    /// When it was searched last, in searches and in arrivals.
    searched: u64,
    clock: u64,
}

/// There is no index to search, and there cannot be one now.
pub(super) struct NoIndex;

/// See the [module's documentation](self).
#[derive(Default)]
pub(super) struct Indexes {
    all: Vec<Index>,
    grave: Grave<Lookup>,
    /// What small indexes were made of: making one anew allocates nothing.
    spare: Vec<Lookup>,
    sharing: Sharing,
    /// Searches that went to an index, or would have.
    searches: u64,
    /// The most bytes that were allocated before some of them were given back.
    peak_bytes: u64,
}

impl Indexes {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let fresh = |index: &Index| index.fresh.as_ref().map_or(0, |fresh| fresh.lookup.bytes());
        let held = |index: &Index| index.held.lookup.bytes() + fresh(index);
        let places = (self.all.capacity() * size_of::<Index>()) as u64;
        let spare = (self.spare.capacity() * size_of::<Lookup>()) as u64;
        let spare = spare + self.spare.iter().map(Lookup::bytes).sum::<u64>();
        places + self.all.iter().map(held).sum::<u64>() + spare + self.grave.bytes()
    }

    /// Bytes that were allocated once, beyond those that are.
    pub(super) fn dropped_bytes(&self) -> u64 {
        self.peak_bytes.saturating_sub(self.bytes())
    }

    /// Whether there is one to search for a class.
    pub(super) fn has(&self, open: Openness) -> bool {
        let wide = self.sharing.is_covered(open);
        self.all.iter().any(|index| match index.is_shared {
            true => wide == Some(index.open),
            false => open == index.open,
        })
    }

    /// The number of the index of a class, made if there may be one more.
    fn number(&mut self, open: Openness, is_shared: bool) -> Option<usize> {
        let is_it = |index: &Index| index.open == open && index.is_shared == is_shared;
        let number = self.all.iter().position(is_it);
        if number.is_some() {
            return number;
        }
        let held = self.made();
        let new = Index { open, is_shared, held, fresh: None, searched: self.searches, clock: 0 };
        // What has become too narrow.
        let is_alike = |index: &Index| index.is_shared && index.open.any_source == open.any_source;
        if let Some(number) = self.all.iter().position(|index| is_shared && is_alike(index)) {
            self.replace(number, new);
            return Some(number);
        }
        if self.all.len() < MOST {
            self.all.try_reserve_exact(1).ok()?;
            self.all.push(new);
            return Some(self.all.len() - 1);
        }
        let idle = (0..MOST).min_by_key(|&number| self.all[number].searched)?;
        if self.searches - self.all[idle].searched < IDLE * MOST as u64 {
            return None;
        }
        self.replace(idle, new);
        Some(idle)
    }

    /// The index that a mask shares with others.
    fn wide(&mut self, open: Openness) -> Option<Openness> {
        let Indexes { all, sharing, .. } = self;
        let is_other = |index: &&Index| !index.is_shared && index.open.is_partial() && index.open != open;
        sharing.wide(open, || all.iter().filter(is_other).count())
    }

    fn replace(&mut self, number: usize, new: Index) {
        let old = std::mem::replace(&mut self.all[number], new);
        self.bury(old);
    }

    fn bury(&mut self, index: Index) {
        self.bury_held(index.fresh);
        self.bury_held(Some(index.held));
    }

    fn bury_held(&mut self, held: Option<Held>) {
        let Some(Held { mut lookup, .. }) = held else { return };
        let bytes = self.spare.iter().map(Lookup::bytes).sum::<u64>() + lookup.bytes();
        let is_kept = self.spare.len() < SPARE && bytes <= SPARE_BYTES;
        if is_kept && self.spare.try_reserve_exact(SPARE - self.spare.len()).is_ok() {
            lookup.clear();
            self.spare.push(lookup);
            return;
        }
        self.peak_bytes = self.peak_bytes.max(self.bytes() + lookup.bytes());
        self.grave.bury(lookup);
    }

    /// One that has no messages yet, made of the largest that there is: what is small would grow once more.
    fn made(&mut self) -> Held {
        let largest = (0..self.spare.len()).max_by_key(|&at| self.spare[at].bytes());
        let lookup = largest.map(|at| self.spare.swap_remove(at));
        Held { lookup: lookup.unwrap_or_default(), until: 0 }
    }

    /// Drops all of them, and what is known of masks: a little with each call.
    pub(super) fn forget(&mut self) {
        let Indexes { all, mut grave, .. } = std::mem::take(self);
        for Index { held, fresh, .. } in all {
            [Some(held), fresh].into_iter().flatten().for_each(|held| grave.bury(held.lookup));
        }
        self.grave = grave;
    }

    /// Bytes of those that are being dropped.
    pub(super) fn buried_bytes(&self) -> u64 {
        self.grave.bytes()
    }

    /// Whether some are being dropped.
    #[inline]
    pub(super) fn is_dropping(&self) -> bool {
        !self.grave.is_empty()
    }

    /// Drops a little of them.
    pub(super) fn tend(&mut self) {
        self.grave.tend();
    }

    /// The earliest message that a receive takes; or an error, if there is no index to tell.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> Result<Option<Found>, NoIndex> {
        self.searches += 1;
        if sought.open.is_partial() {
            return self.find_masked(sought, unexpected, examined);
        }
        let number = self.number(sought.open, false).ok_or(NoIndex)?;
        Ok(self.find_in(number, sought, unexpected, examined).found())
    }

    /// The same under a mask: in the index that it shares, if it does, and in its own if that is too crowded.
    #[inline(never)]
    fn find_masked(
        &mut self,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> Result<Option<Found>, NoIndex> {
        if let Some(open) = self.wide(sought.open) {
            let shared = Sought { open, rest: &open.rest(sought.rest), is_shared: true, ..*sought };
            if let Some(number) = self.number(open, true) {
                match self.find_in(number, &shared, unexpected, examined) {
                    Search::Crowd => self.sharing.met_crowd(),
                    search => return Ok(search.found()),
                }
            }
        }
        let number = self.number(sought.open, false).ok_or(NoIndex)?;
        Ok(self.find_in(number, sought, unexpected, examined).found())
    }

    // Always: what it found would come back through memory.
    #[inline(always)]
    fn find_in(
        &mut self,
        number: usize,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> Search {
        let searches = self.searches;
        let index = &mut self.all[number];
        (index.searched, index.clock) = (searches, unexpected.clock);
        let before = index.held.until;
        let mut search = index.held.search(sought, unexpected, examined);
        if let Search::Nothing = search {
            let (found, has_room) =
                index.held.extend(&sought.open, Some(sought), unexpected, usize::MAX, examined);
            search = found.map_or(Search::Nothing, Search::Found);
            if !has_room {
                let index = self.all.swap_remove(number);
                self.bury(index);
                return search;
            }
        }
        // Messages are numbered in twos.
        let indexed = self.all[number].held.until.saturating_sub(before) / 2;
        self.renew(number, unexpected, CATCH_UP.saturating_add(2 * indexed as usize));
        search
    }

    /// No message waits.
    pub(super) fn settle(&mut self) {
        self.sharing.settle();
    }

    /// Makes an index anew that holds too many of the dead, a little with each search.
    #[inline(always)]
    fn renew(&mut self, number: usize, unexpected: Unexpected<'_>, most: usize) {
        let index = &mut self.all[number];
        let waiting = unexpected.table.count(Kind::Waiting);
        if index.fresh.is_some() || index.held.lookup.len() > 2 * waiting + SLACK {
            self.renew_some(number, unexpected, most);
        }
    }

    #[inline(never)]
    fn renew_some(&mut self, number: usize, unexpected: Unexpected<'_>, most: usize) {
        if self.all[number].fresh.is_none() {
            self.all[number].fresh = Some(self.made());
        }
        let index = &mut self.all[number];
        let Some(fresh) = &mut index.fresh else { return };
        let (_, has_room) = fresh.extend(&index.open, None, unexpected, most, &mut 0);
        let is_done = fresh.until >= index.held.until;
        if !has_room {
            let fresh = index.fresh.take();
            self.bury_held(fresh);
        } else if is_done {
            let held = index.fresh.take().map(|fresh| std::mem::replace(&mut index.held, fresh));
            self.bury_held(held);
        }
    }

    /// Drops those that were of no use for long: as many arrivals as it has entries, and more.
    pub(super) fn drop_idle(&mut self, clock: u64) {
        let is_used = |index: &Index| {
            let entries = (index.held.lookup.len() + UNUSED) as u64;
            // The clock counts in twos.
            clock < index.clock + 2 * 4 * entries
        };
        while let Some(idle) = self.all.iter().position(|index| !is_used(index)) {
            let index = self.all.swap_remove(idle);
            self.bury(index);
        }
    }

    /// After a message was given another key: indexes it there, by its age.
    pub(super) fn rename(&mut self, key: &Key, head: Head, hashing: &Hashing) {
        self.all.retain_mut(|index| {
            // With the source left open what is left is the same, and the log says where the message is now.
            let Index { open, held, fresh, .. } = index;
            let is_kept = open.any_source || held.rename(open, key, head, hashing);
            let fresh_is_kept = |fresh: &mut Held| fresh.rename(open, key, head, hashing);
            if !open.any_source && !fresh.as_mut().is_none_or(fresh_is_kept) {
                *fresh = None;
            }
            is_kept
        });
    }
}
