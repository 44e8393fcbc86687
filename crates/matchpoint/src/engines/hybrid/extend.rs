//! How indexes come to have what waits: from the log, from the copy, or from hashes that lie [ahead](super::ahead) of them.

use super::ahead::{self, Ahead};
use super::class::Openness;
use super::found::Found;
use super::grave::Dropped;
use super::held::{Kept, Unexpected};
use super::index::{COPIED, Index, Indexes, made_roll};
use super::key::Key;
use super::search::{Search, Sought};

impl Indexes {
    /// Indexes messages until one is met that is sought; whether there was memory for that.
    #[inline(always)]
    pub(super) fn extend(
        &mut self,
        number: usize,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> (Search, bool) {
        if self.all[number].ahead.store.is_empty() {
            let (found, has_room) = self.extend_in_order(number, sought, unexpected, examined);
            let is_done = self.all[number].kept.held.until == unexpected.clock;
            if found.is_some() || !has_room || is_done {
                return (found.map_or(Search::Nothing, Search::Found), has_room);
            }
        }
        self.extend_ahead(number, sought, unexpected, examined)
    }

    /// The same in the order of arrival, unless there are too many.
    #[inline(always)]
    fn extend_in_order(
        &mut self,
        number: usize,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> (Option<Found>, bool) {
        let until = self.all[number].kept.held.until;
        let most = ahead::through_log(until, ahead::parts(until, unexpected), unexpected);
        if self.all.len() > COPIED {
            if let Some(found) = self.follow(number, sought, unexpected, most, examined) {
                return (found, true);
            }
        }
        let is_it = |key: &Key, rest: &Key| sought.is_it(key, rest);
        let held = &mut self.all[number].kept.held;
        held.extend_or_look(&sought.open, is_it, sought, unexpected, most, examined)
    }

    /// The same where there are: looks for it in the order of memory, or among what was met there before, some of which is
    /// indexed then.
    #[inline(never)]
    fn extend_ahead(
        &mut self,
        number: usize,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> (Search, bool) {
        let Index { kept: Kept { held, .. }, ahead, .. } = &mut self.all[number];
        let mut dropped = Ahead::default();
        if !ahead.is_worth_it(held.until, unexpected) {
            dropped = std::mem::take(&mut ahead.store);
        }
        let begins = ahead.store.is_empty();
        if begins {
            ahead.until = held.until;
        }
        let mut search = ahead.search(held.until, sought, unexpected, examined);
        let mut has_room = true;
        if let Search::Nothing = search {
            let found;
            (found, has_room) = ahead.reach(sought, unexpected, examined);
            search = found.map_or(Search::Nothing, Search::Found);
        }
        self.peak_bytes = self.peak_bytes.max(self.bytes() + dropped.bytes());
        self.aheads.bury(dropped);
        if !begins {
            let Index { kept: Kept { held, .. }, ahead, .. } = &mut self.all[number];
            has_room &= held.take_over(ahead, sought, unexpected);
        }
        (search, has_room)
    }

    /// The same from the copy of all that waits, if that has come as far as the index.
    #[inline(never)]
    fn follow(
        &mut self,
        number: usize,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        most: usize,
        examined: &mut u64,
    ) -> Option<Option<Found>> {
        let roll = self.roll.as_mut()?;
        roll.note_search(self.searches, unexpected.clock);
        let (roll, held) = (&mut roll.held, &mut self.all[number].kept.held);
        let before = roll.until;
        let is_ahead = roll.until >= held.until;
        let followed = if is_ahead { held.follow(roll, sought, unexpected, most, examined) } else { None };
        // If it has not, it comes a little further with each search.
        let has_room = followed.is_some() || !is_ahead && roll.copy_some(ahead::LEAST, unexpected);
        self.tidy_roll(has_room, before, unexpected);
        followed
    }

    /// The same in the copy of all that waits, which is made if there is none.
    #[inline(never)]
    pub(super) fn find_in_roll(
        &mut self,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> Option<Found> {
        let searches = self.searches;
        let kept = self.make_roll();
        kept.note_search(searches, unexpected.clock);
        let before = kept.held.until;
        let mut found = kept.held.search(sought, unexpected, examined);
        let mut has_room = true;
        if found.is_none() {
            let is_it = |key: &Key, _: &Key| sought.admits(key);
            let most = ahead::through_log(before, ahead::PASSING, unexpected);
            let open = &Openness::NOTHING;
            (found, has_room) = kept.held.extend_or_look(open, is_it, sought, unexpected, most, examined);
            let from = kept.held.until;
            if found.is_none() && has_room && from < unexpected.clock {
                found = ahead::earliest(from, sought, unexpected, |_, _| (), examined);
            }
        }
        self.tidy_roll(has_room, before, unexpected);
        found
    }

    /// After a search, `before` which the copy had come so far: leaves the dead out of it, or drops it if there was no room.
    fn tidy_roll(&mut self, has_room: bool, before: u64, unexpected: Unexpected<'_>) {
        if !has_room {
            return self.drop_roll();
        }
        let Some(kept) = &mut self.roll else { return };
        let (spare, kernel) = (&mut self.spare_roll, self.kernel);
        let dropped = kept.renew(before, unexpected, || made_roll(spare, kernel));
        self.bury_roll(dropped);
    }
}
