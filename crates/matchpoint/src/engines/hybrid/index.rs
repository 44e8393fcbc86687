//! Unexpected messages as receives that leave something open find them.
//!
//! Such a receive mostly takes one of the first messages that wait, so those are compared one by one. One that has to
//! look further makes an index of what its class keeps of the keys, filled from the oldest message on, and only as far as
//! a search has to go: neither an arrival nor a receive that leaves nothing open ever looks at an index. So messages
//! that were taken stay in it, until they are met, or are too many. Masks in numbers [share](super::sharing) an index,
//! too: what it finds is compared with the receive.

use super::ahead::Ahead;
use super::class::Openness;
use super::entry::{Head, Kind, Ref};
use super::found::Found;
use super::grave::{Dropped, Grave};
use super::held::{Held, Kept, Store, Unexpected};
use super::key::{Hashing, Key};
use super::lookup::{Lookup, Queue};
use super::roll::Roll;
use super::search::{Search, Sought};
use super::sharing::Sharing;
use crate::scan::Kernel;

/// Small ones that are kept for others to be made of, and bytes of all of them. A program that uses a kind of wildcard now
/// and then would allocate now and then, however long it goes on.
const SPARE: usize = LEAST;
const SPARE_BYTES: u64 = 32 << 10;

/// Bytes of an index of one mask that is not kept beside the one that it shares.
const ALONE_BYTES: u64 = 8 << 10;

/// Indexes that there may be in any case, and at most: each has 16 bytes a message, so that 1024 masks that take turns in
/// looking through 10 000 of them would hold 160 MB.
const LEAST: usize = 8;
const MOST: usize = 64;

/// Bytes that all of them may have if there are more than [`LEAST`], together and for each message that waits.
const ROOM: u64 = 4 << 20;
const ROOM_EACH: u64 = 2 * 40 * LEAST as u64;

/// Messages whose [copy](Roll) has 56 KiB and is compared in a hundred steps or so: for so many, and fewer, there are no more
/// than [`LEAST`].
const FEW: usize = 2048;

/// Messages that must wait for each index that there is, for one more to be worth it.
const WORTH: usize = 64;

/// Indexes beyond which they are filled from a [copy](Roll) of what waits.
pub(super) const COPIED: usize = 4;

/// Searches between two looks at how large they are.
const STEP: u64 = 64;

/// Searches in a row that met a crowd in the index that masks share, before the next do without it, and until it is tried again.
const CROWDS: u32 = 32;
const RETRIED: u64 = 4096;

/// Searches since an index was of use, for each that there is, before another takes its place.
const IDLE: u64 = 16;

/// The index of a class.
pub(super) struct Index {
    pub(super) kept: Kept<Lookup>,
    /// What it is to take over, if it is far behind.
    pub(super) ahead: Held<Ahead>,
    /// Whether it is of several masks.
    is_shared: bool,
}

impl Index {
    /// Bytes allocated for messages.
    fn bytes(&self) -> u64 {
        self.kept.bytes() + self.ahead.store.bytes()
    }

    fn is_used(&self, clock: u64) -> bool {
        self.kept.is_used(self.ahead.store.len(), clock)
    }
}

/// See the [module's documentation](self).
pub(super) struct Indexes {
    pub(super) kernel: Kernel,
    pub(super) all: Vec<Index>,
    /// What those compare keys with that have no index.
    pub(super) roll: Option<Kept<Roll>>,
    grave: Grave<Lookup>,
    rolls: Grave<Roll>,
    pub(super) aheads: Grave<Ahead>,
    /// What small indexes were made of: making one anew allocates nothing.
    spare: Vec<Lookup>,
    pub(super) spare_roll: Option<Roll>,
    sharing: Sharing,
    /// Searches in a row that met a crowd in the index that masks share.
    crowds: u32,
    /// Searches that went to an index, or would have.
    pub(super) searches: u64,
    /// The most bytes that were allocated before some of them were given back.
    pub(super) peak_bytes: u64,
}

/// A copy that has no messages yet.
pub(super) fn made_roll(spare: &mut Option<Roll>, kernel: Kernel) -> Held<Roll> {
    Held { store: spare.take().unwrap_or_else(|| Roll::of(kernel)), until: 0 }
}

/// An index that has no messages yet, made of the largest that there is: what is small would grow once more.
fn made(spare: &mut Vec<Lookup>) -> Held<Lookup> {
    let largest = (0..spare.len()).max_by_key(|&at| spare[at].bytes());
    let store = largest.map(|at| spare.swap_remove(at)).unwrap_or_default();
    Held { store, until: 0 }
}

impl Indexes {
    /// None yet; messages will be compared by that kernel.
    pub(super) fn of(kernel: Kernel) -> Self {
        Indexes {
            kernel,
            all: Vec::new(),
            roll: None,
            grave: Grave::default(),
            rolls: Grave::default(),
            aheads: Grave::default(),
            spare: Vec::new(),
            spare_roll: None,
            sharing: Sharing::default(),
            crowds: 0,
            searches: 0,
            peak_bytes: 0,
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Messages copied for the kinds of wildcards that have none.
    pub(super) fn copied(&self) -> usize {
        self.roll.as_ref().map_or(0, |roll| roll.held.store.len())
    }

    /// Hashes kept for those that are far behind.
    pub(super) fn ahead(&self) -> usize {
        self.all.iter().map(|index| index.ahead.store.len()).sum()
    }

    /// Bytes allocated for messages in those that are searched.
    fn kept_bytes(&self) -> u64 {
        self.all.iter().map(Index::bytes).sum()
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let places = (self.all.capacity() * size_of::<Index>()) as u64;
        let spare = (self.spare.capacity() * size_of::<Lookup>()) as u64;
        let spare = spare + self.spare.iter().map(Lookup::bytes).sum::<u64>();
        let rolls =
            self.roll.as_ref().map_or(0, Kept::bytes) + self.spare_roll.as_ref().map_or(0, Roll::bytes);
        places + self.kept_bytes() + rolls + spare + self.buried_bytes()
    }

    /// Bytes that were allocated once, beyond those that are.
    pub(super) fn dropped_bytes(&self) -> u64 {
        self.peak_bytes.saturating_sub(self.bytes())
    }

    /// Whether there is one to search for a class, or a copy for want of that.
    pub(super) fn has(&self, open: Openness) -> bool {
        if self.roll.is_some() && self.all.len() >= LEAST {
            return true;
        }
        let wide = self.sharing.is_covered(open);
        self.all.iter().any(|index| match index.is_shared {
            true => wide == Some(index.kept.open),
            false => open == index.kept.open,
        })
    }

    /// The number of the index of a class, made if there may be one more.
    fn number(&mut self, open: Openness, is_shared: bool, waiting: usize) -> Option<usize> {
        let is_it = |index: &Index| index.kept.open == open && index.is_shared == is_shared;
        let number = self.all.iter().position(is_it);
        if number.is_some() {
            return number;
        }
        // What has become too narrow.
        let is_alike = |index: &Index| index.is_shared && index.kept.open.any_source == open.any_source;
        if let Some(number) = self.all.iter().position(|index| is_shared && is_alike(index)) {
            return Some(self.replace(number, open, is_shared));
        }
        if is_shared {
            self.drop_alone(open.any_source);
        }
        if self.has_room(waiting) {
            self.all.try_reserve_exact(1).ok()?;
            self.add(open, is_shared);
            if self.all.len() > COPIED {
                self.make_roll();
            }
            return Some(self.all.len() - 1);
        }
        let idle = self.idlest()?;
        if self.searches - self.all[idle].kept.searched < IDLE * self.all.len() as u64 {
            return None;
        }
        Some(self.replace(idle, open, is_shared))
    }

    /// Drops the indexes of masks that share one from now on. Small ones stay, for masks may part again.
    fn drop_alone(&mut self, any_source: bool) {
        let is_alone = |index: &Index| {
            let open = index.kept.open;
            open.is_partial() && open.any_source == any_source && index.bytes() > ALONE_BYTES
        };
        while let Some(number) = self.all.iter().position(is_alone) {
            let index = self.all.swap_remove(number);
            self.bury(index);
        }
    }

    /// Whether there may be one more.
    fn has_room(&self, waiting: usize) -> bool {
        let count = self.all.len();
        let is_worth_it = count < MOST && waiting > FEW && waiting >= WORTH * count;
        count < LEAST || is_worth_it && self.kept_bytes() < room_bytes(waiting)
    }

    fn idlest(&self) -> Option<usize> {
        (0..self.all.len()).min_by_key(|&number| self.all[number].kept.searched)
    }

    /// Drops one if they have become too large, all together.
    fn trim(&mut self, waiting: usize) {
        if self.all.len() > LEAST && self.kept_bytes() > room_bytes(waiting) / 2 * 3 {
            if let Some(number) = self.idlest() {
                let index = self.all.swap_remove(number);
                self.bury(index);
            }
        }
    }

    /// The index that a mask shares with others.
    fn wide(&mut self, open: Openness) -> Option<Openness> {
        let Indexes { all, sharing, .. } = self;
        let is_other =
            |index: &&Index| !index.is_shared && index.kept.open.is_partial() && index.kept.open != open;
        sharing.wide(open, || all.iter().filter(is_other).count(), false)
    }

    /// Makes an index of what another was made of. Its number.
    fn replace(&mut self, number: usize, open: Openness, is_shared: bool) -> usize {
        let old = self.all.swap_remove(number);
        self.bury(old);
        self.add(open, is_shared);
        self.all.len() - 1
    }

    /// Adds one that has no messages yet, for which there must be room.
    fn add(&mut self, open: Openness, is_shared: bool) {
        let kept = Kept::new(open, made(&mut self.spare), self.searches);
        self.all.push(Index { kept, ahead: Held::default(), is_shared });
    }

    fn bury(&mut self, index: Index) {
        self.bury_held(index.kept.fresh);
        self.bury_held(Some(index.kept.held));
        self.bury_ahead(index.ahead.store);
    }

    fn bury_ahead(&mut self, ahead: Ahead) {
        self.peak_bytes = self.peak_bytes.max(self.bytes() + ahead.bytes());
        self.aheads.bury(ahead);
    }

    fn bury_held(&mut self, held: Option<Held<Lookup>>) {
        let Some(Held { store: mut lookup, .. }) = held else { return };
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

    pub(super) fn bury_roll(&mut self, held: Option<Held<Roll>>) {
        let Some(Held { store: mut roll, .. }) = held else { return };
        if self.spare_roll.is_none() && roll.bytes() <= SPARE_BYTES {
            roll.clear();
            self.spare_roll = Some(roll);
            return;
        }
        self.peak_bytes = self.peak_bytes.max(self.bytes() + roll.bytes());
        self.rolls.bury(roll);
    }

    /// The copy of what waits, made if there is none.
    pub(super) fn make_roll(&mut self) -> &mut Kept<Roll> {
        let Indexes { roll, spare_roll, kernel, searches, .. } = self;
        roll.get_or_insert_with(|| Kept::new(Openness::NOTHING, made_roll(spare_roll, *kernel), *searches))
    }

    pub(super) fn drop_roll(&mut self) {
        let Some(Kept { held, fresh, .. }) = self.roll.take() else { return };
        self.bury_roll(fresh);
        self.bury_roll(Some(held));
    }

    /// Drops all of them, and what is known of masks: a little with each call.
    pub(super) fn forget(&mut self) {
        self.drop_roll();
        let none = Indexes::of(self.kernel);
        let Indexes { all, mut grave, rolls, mut aheads, .. } = std::mem::replace(self, none);
        for Index { kept: Kept { held, fresh, .. }, ahead, .. } in all {
            [Some(held), fresh].into_iter().flatten().for_each(|held| grave.bury(held.store));
            aheads.bury(ahead.store);
        }
        (self.grave, self.rolls, self.aheads) = (grave, rolls, aheads);
    }

    /// Bytes of those that are being dropped.
    pub(super) fn buried_bytes(&self) -> u64 {
        self.grave.bytes() + self.rolls.bytes() + self.aheads.bytes()
    }

    /// Whether some are being dropped.
    #[inline]
    pub(super) fn is_dropping(&self) -> bool {
        !self.grave.is_empty() || !self.rolls.is_empty() || !self.aheads.is_empty()
    }

    /// Drops a little of them.
    pub(super) fn tend(&mut self) {
        _ = self.grave.tend() || self.rolls.tend() || self.aheads.tend();
    }

    /// The number of the index that a receive looks at, and what is left of its key there, if nothing has to be done before
    /// or after that.
    #[inline(always)]
    pub(super) fn at_hand(&mut self, open: Openness, rest: &Key, waiting: usize) -> Option<(usize, Key)> {
        let is_shared = open.is_partial();
        let (mut open, mut rest) = (open, *rest);
        if is_shared {
            if self.crowds > 0 || (self.searches + 1) % STEP == 0 {
                return None;
            }
            open = self.sharing.known(open)?;
            rest = open.rest(&rest);
        }
        let is_it = |index: &Index| index.kept.open == open && index.is_shared == is_shared;
        let number = self.all.iter().position(is_it)?;
        let is_ready = self.roll.is_none() && self.all[number].kept.is_tidy(waiting);
        is_ready.then_some((number, rest))
    }

    /// The messages of an index that is [at hand](Self::at_hand).
    #[inline(always)]
    pub(super) fn lookup(&self, number: usize) -> &Lookup {
        &self.all[number].kept.held.store
    }

    /// The first message of a queue of an index that is [at hand](Self::at_hand) was taken.
    #[inline(always)]
    pub(super) fn note_taken(&mut self, number: usize, queue: Queue, clock: u64) {
        self.searches += 1;
        let kept = &mut self.all[number].kept;
        kept.held.store.pop(queue);
        kept.note_search(self.searches, clock);
    }

    /// The earliest message that a receive takes.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> Option<Found> {
        self.searches += 1;
        if sought.open.is_partial() {
            return self.find_masked(sought, unexpected, examined);
        }
        self.find_alone(sought, unexpected, examined)
    }

    /// The same in the index of its class, or the copy.
    #[inline(always)]
    fn find_alone(
        &mut self,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> Option<Found> {
        let waiting = unexpected.table.count(Kind::Waiting);
        match self.number(sought.open, false, waiting) {
            Some(number) => self.find_in(number, sought, unexpected, examined).found(),
            None => self.find_in_roll(sought, unexpected, examined),
        }
    }

    /// The same under a mask: in the index that it shares, if it does, and in its own if that is too crowded.
    #[inline(never)]
    fn find_masked(
        &mut self,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> Option<Found> {
        let waiting = unexpected.table.count(Kind::Waiting);
        if self.searches % STEP == 0 {
            self.trim(waiting);
        }
        if self.searches % RETRIED == 0 {
            self.crowds = 0;
        }
        if let Some(open) = self.wide(sought.open).filter(|_| self.crowds < CROWDS) {
            let shared = Sought { open, rest: &open.rest(sought.rest), is_shared: true, ..*sought };
            if let Some(number) = self.number(open, true, waiting) {
                match self.find_in(number, &shared, unexpected, examined) {
                    Search::Crowd => self.crowds += 1,
                    search => {
                        self.crowds = 0;
                        return search.found();
                    }
                }
                self.sharing.met_crowd();
            }
        }
        self.find_alone(sought, unexpected, examined)
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
        let kept = &mut self.all[number].kept;
        kept.note_search(self.searches, unexpected.clock);
        let before = kept.held.until;
        let mut search = kept.held.search(sought, unexpected, examined);
        if let Search::Nothing = search {
            let has_room;
            (search, has_room) = self.extend(number, sought, unexpected, examined);
            if !has_room {
                let index = self.all.swap_remove(number);
                self.bury(index);
                return search;
            }
        }
        let Indexes { all, spare, .. } = self;
        let dropped = all[number].kept.renew(before, unexpected, || made(spare));
        if dropped.is_some() {
            self.bury_held(dropped);
        }
        if let (Some(roll), Search::Found(found), true) = (&mut self.roll, &search, sought.is_taken) {
            let seq = unexpected.table.entry(*found).seq;
            roll.held.store.forget(seq);
            if let Some(fresh) = &mut roll.fresh {
                fresh.store.forget(seq);
            }
        }
        search
    }

    /// No message waits.
    pub(super) fn settle(&mut self) {
        self.sharing.settle();
        self.crowds = 0;
        for number in 0..self.all.len() {
            if !self.all[number].ahead.store.is_empty() {
                let ahead = std::mem::take(&mut self.all[number].ahead.store);
                self.bury_ahead(ahead);
            }
        }
    }

    /// Drops those that were of no use for long: as many arrivals as it has entries, and more.
    pub(super) fn drop_idle(&mut self, clock: u64) {
        while let Some(idle) = self.all.iter().position(|index| !index.is_used(clock)) {
            let index = self.all.swap_remove(idle);
            self.bury(index);
        }
        if self.roll.as_ref().is_some_and(|roll| !roll.is_used(0, clock)) {
            self.drop_roll();
        }
    }

    /// After a message was given another key: indexes it there, by its age.
    pub(super) fn rename(&mut self, key: &Key, head: Head, hashing: &Hashing) {
        for number in (0..self.all.len()).rev() {
            let Index { kept: Kept { open, held, fresh, .. }, ahead, .. } = &mut self.all[number];
            if open.any_source {
                // What is left is the same, and the log says where the message is now.
                continue;
            }
            ahead.rename(&open.rest(key), head.seq, hashing);
            // Without memory for it an index is of no use any more.
            let has_room = held.rename(open, key, head, hashing);
            let fresh_has_room = |fresh: &mut Held<Lookup>| fresh.rename(open, key, head, hashing);
            let dropped = if fresh.as_mut().is_none_or(fresh_has_room) { None } else { fresh.take() };
            self.bury_held(dropped);
            if !has_room {
                let index = self.all.swap_remove(number);
                self.bury(index);
            }
        }
        if let Some(Kept { held, fresh, .. }) = &mut self.roll {
            for held in std::iter::once(held).chain(fresh) {
                held.store.rename(key, head.seq, Ref(head.id));
            }
        }
    }
}

/// Bytes that indexes beyond the [`LEAST`] may take, with these.
fn room_bytes(waiting: usize) -> u64 {
    u64::max(ROOM, ROOM_EACH * waiting as u64)
}
