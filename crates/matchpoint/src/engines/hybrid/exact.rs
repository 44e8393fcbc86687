//! Post and arrive: first the cases that one slot of the table decides, then the other cases.

use super::key::{Class, Entry, Key, Pattern};
use super::row::{NEXT, NUMBER, POSTED, UNEXPECTED};
use super::table::{At, Exchange, Hashed};
use super::{HASHED, HINTED, Hybrid, MOVING, NO_ROOM, WILD};
use crate::effort::Effort;
use crate::engine::{Engine, Outcome, Place, Queue};
use crate::envelope::{Pair, Selector, Tag};

/// Posts and arrivals with arguments in registers, for the C interface.
impl<E: Effort> Hybrid<E> {
    /// Posts an exact receive, like [`Engine::post_exact`].
    pub fn post_words(&mut self, id: u64, pair: Pair, tag: Tag) -> Outcome {
        self.exchange::<POSTED>(id, self.hashed(Key::new(pair, tag), Place::default()))
    }

    /// Posts any receive, like [`Engine::queue_receive`]; without a place, like [`Engine::post_selector`].
    #[inline(always)]
    pub fn post_open_words(&mut self, id: u64, selector: &Selector, place: Place) -> Outcome {
        let pattern = Pattern::of(selector);
        if pattern.class == Class::EXACT {
            return self.exchange::<POSTED>(id, self.hashed(pattern.key, place));
        }
        let entry = self.new_entry::<POSTED>(id);
        let is_miss = self.gate & HINTED == 0 && self.log.len == 0;
        if is_miss && self.wildcards.add_to_list(pattern, entry) {
            self.gate |= WILD;
            return self.count_queued::<POSTED>(pattern.key);
        }
        self.post_wildcard(id, Pair(pattern.key.pair), pattern.key.tag, pattern.class.ignore)
    }

    /// Handles a message, like [`Engine::queue_message`]; without a place, like [`Engine::arrive`].
    #[inline(always)]
    pub fn arrive_words(&mut self, id: u64, pair: Pair, tag: Tag, place: Place) -> Outcome {
        let (key, hash) = self.hashed(Key::new(pair, tag), place);
        match (self.gate, self.posted) {
            (0, _) => self.exchange::<UNEXPECTED>(id, (key, hash)),
            (_, 1) => self.arrive_one(id, key, hash),
            _ => self.arrive_gated::<true>(id, key, hash),
        }
    }

    /// [`Engine::take_receive`], with the place after a search without a match.
    pub fn take_receive_words(&mut self, pair: Pair, tag: Tag) -> Outcome {
        let key = Key::new(pair, tag);
        let hash = self.table.hashing.hash(key);
        if self.gate & !NO_ROOM == 0 {
            match self.table.exchange(key, self.table.row.home(hash), UNEXPECTED) {
                Exchange::Vacant(_) => return Outcome::none_at(Place(hash | HASHED)),
                Exchange::Took(entry) => return self.count_taken::<UNEXPECTED>(entry),
                Exchange::Duplicates(..) | Exchange::Present | Exchange::Other => {}
            }
        }
        self.arrive_gated::<false>(0, key, hash)
    }

    /// [`Engine::matched_probe`], with the place after a search without a match.
    pub fn matched_probe_words(&mut self, selector: &Selector) -> Outcome {
        let pattern = Pattern::of(selector);
        let hash = self.table.hashing.hash(pattern.key);
        if self.gate & (MOVING | HINTED) == 0 && pattern.class == Class::EXACT {
            match self.table.exchange(pattern.key, self.table.row.home(hash), POSTED) {
                Exchange::Vacant(_) => return Outcome::none_at(Place(hash | HASHED)),
                Exchange::Took(entry) => return self.count_taken::<POSTED>(entry),
                Exchange::Duplicates(..) | Exchange::Present | Exchange::Other => {}
            }
        }
        self.matched_probe_slowly(selector, hash)
    }
}

impl<E: Effort> Hybrid<E> {
    /// Rules 2 and 3 of the contract for an entry of the queue `QUEUE`: takes the oldest entry of the key in
    /// the other queue, or queues the entry. For a message, the table must be ready.
    #[inline(always)]
    fn exchange<const QUEUE: u64>(&mut self, id: u64, (key, hash): Hashed) -> Outcome {
        if QUEUE == POSTED && self.gate & MOVING != 0 {
            return self.exchange_slowly::<QUEUE>(id, key);
        }
        match self.table.exchange(key, self.table.row.home(hash), QUEUE) {
            Exchange::Vacant(slot) => {
                slot.fill(key, id, if QUEUE == POSTED { self.posts } else { self.log.mark });
                self.count_queued::<QUEUE>(key)
            }
            Exchange::Took(entry) => self.count_taken::<QUEUE>(entry),
            Exchange::Duplicates(head, is_added) => {
                let entry = self.new_entry::<QUEUE>(id);
                match self.table.duplicates.exchange(head, is_added, entry) {
                    Some(exchanged) => self.finish_exchange::<QUEUE>(key, exchanged),
                    None => self.exchange_present::<QUEUE>(id, key, hash),
                }
            }
            Exchange::Present => self.exchange_present::<QUEUE>(id, key, hash),
            Exchange::Other => self.exchange_displaced::<QUEUE>(id, key, hash),
        }
    }

    /// Does [`exchange`](Self::exchange) for a home slot that has the key, if duplicates begin, or a block of
    /// duplicates begins or ends.
    #[inline(never)]
    fn exchange_present<const QUEUE: u64>(&mut self, id: u64, key: Key, hash: u64) -> Outcome {
        let (home, entry) = (self.table.row.home(hash), self.new_entry::<QUEUE>(id));
        let exchanged = self.table.exchange_at(home, QUEUE, entry);
        exchanged.map_or_else(Outcome::refused, |exchanged| self.finish_exchange::<QUEUE>(key, exchanged))
    }

    /// Does [`exchange`](Self::exchange) for a slot with another key.
    #[inline(never)]
    fn exchange_displaced<const QUEUE: u64>(&mut self, id: u64, key: Key, hash: u64) -> Outcome {
        match self.table.exchange_displaced((key, hash), QUEUE, self.new_entry::<QUEUE>(id)) {
            Some(exchanged) => self.finish_exchange::<QUEUE>(key, exchanged),
            None => self.exchange_slowly::<QUEUE>(id, key),
        }
    }

    /// Does [`exchange`](Self::exchange) in all cases, also while the table moves slots.
    #[inline(never)]
    fn exchange_slowly<const QUEUE: u64>(&mut self, id: u64, key: Key) -> Outcome {
        let (entry, len) = (self.new_entry::<QUEUE>(id), self.entries());
        let exchanged = self.table.exchange_slowly(key, QUEUE, entry, len);
        if self.gate & MOVING != 0 || !self.table.is_ready() {
            self.set_gates();
        }
        exchanged.map_or_else(Outcome::refused, |exchanged| self.finish_exchange::<QUEUE>(key, exchanged))
    }

    /// Updates the counts after an exchange: the call took the entry `taken`, or queued its own entry.
    #[inline(always)]
    fn finish_exchange<const QUEUE: u64>(&mut self, key: Key, taken: Option<Entry>) -> Outcome {
        match taken {
            Some(entry) => self.count_taken::<QUEUE>(entry),
            None => self.count_queued::<QUEUE>(key),
        }
    }

    #[inline(always)]
    fn new_entry<const QUEUE: u64>(&self, id: u64) -> Entry {
        Entry { id, number: if QUEUE == POSTED { self.posts } else { self.log.mark } >> NUMBER }
    }

    /// Posts a receive with wildcards. The arguments of the pattern are in registers, so that no caller
    /// writes a pattern to memory.
    #[inline(never)]
    fn post_wildcard(&mut self, id: u64, pair: Pair, tag: u64, ignore: u64) -> Outcome {
        let pattern = Pattern::new(pair, tag, ignore);
        if self.gate & HINTED != 0 && self.hints.admit(&Selector::of(pair, tag, ignore)).is_err() {
            return Outcome::HINT;
        }
        if self.log.len() > 0 && self.missed != (pattern, self.log.next_age()) {
            // A copy, so that only this branch writes a pattern to memory.
            if let Some(at) = self.find_message(&{ pattern }, true) {
                return Outcome::took(self.take_message(at));
            }
        }
        if let Err(why) = self.wildcards.add(pattern, self.new_entry::<POSTED>(id)) {
            return Outcome::refused(why);
        }
        self.gate |= WILD;
        self.count_queued::<POSTED>(pattern.key)
    }

    /// Handles a message if [`Hybrid::gate`] is not 0 and one receive is posted. This is a separate function,
    /// because [`arrive_gated`](Self::arrive_gated) saves more registers.
    #[inline(never)]
    fn arrive_one(&mut self, id: u64, key: Key, hash: u64) -> Outcome {
        if let Some(entry) = self.wildcards.take_only(key) {
            self.gate &= !WILD;
            return self.count_taken::<UNEXPECTED>(entry);
        }
        self.arrive_gated::<true>(id, key, hash)
    }

    /// Handles a message if [`Hybrid::gate`] is not 0, for example while receives with wildcards are posted.
    /// Without a match, a call with `IS_QUEUED` queues the message, and other calls return the place.
    #[inline(never)]
    fn arrive_gated<const IS_QUEUED: bool>(&mut self, id: u64, key: Key, hash: u64) -> Outcome {
        if self.gate & !NO_ROOM != WILD {
            return self.arrive_slowly::<IS_QUEUED>(id, key, hash);
        }
        let slot = self.table.row.slot_mut(self.table.row.home(hash));
        // The number of the exact receive, or of no receive.
        let before = if slot.has_one(key, POSTED) { slot.entry().number } else { u64::MAX };
        if before == u64::MAX && slot.mark != 0 {
            return self.arrive_slowly::<IS_QUEUED>(id, key, hash);
        }
        if let Some(id) = self.wildcards.take_before(key, before, &mut self.effort) {
            self.gate &= if self.wildcards.len() == 0 { !WILD } else { !0 };
            self.count_taken::<UNEXPECTED>(Entry { id, number: 0 })
        } else if before < u64::MAX {
            // No older receive with wildcards accepts the message.
            let entry = slot.take();
            self.count_taken::<UNEXPECTED>(entry)
        } else if IS_QUEUED && self.gate == WILD {
            slot.fill(key, id, self.log.mark);
            self.count_queued::<UNEXPECTED>(key)
        } else {
            self.arrive_slowly::<IS_QUEUED>(id, key, hash)
        }
    }

    #[inline(never)]
    fn arrive_slowly<const IS_QUEUED: bool>(&mut self, id: u64, key: Key, hash: u64) -> Outcome {
        if IS_QUEUED && self.gate & (NO_ROOM | MOVING) != 0 {
            // After a failed allocation, a message without a matching receive is refused.
            _ = (self.table.begin(), self.log.make_room());
            self.set_gates();
        }
        let taken = if self.posted_len() > 0 { self.take_for(key) } else { None };
        if let Some(id) = taken {
            return Outcome::took(id);
        }
        if !IS_QUEUED {
            return Outcome::none_at(Place(hash | HASHED));
        }
        if self.gate & HINTED != 0 && self.hints.admit_unexpected(Pair(key.pair).context()).is_err() {
            return Outcome::HINT;
        }
        if self.gate & NO_ROOM != 0 {
            return Outcome::MEMORY;
        }
        self.exchange_slowly::<UNEXPECTED>(id, key)
    }

    /// Updates the counts after the call queued its entry.
    #[inline(always)]
    fn count_queued<const QUEUE: u64>(&mut self, key: Key) -> Outcome {
        if QUEUE == POSTED {
            self.posts += NEXT;
            self.posted += 1;
        } else if !self.log.push(key) {
            self.gate |= NO_ROOM;
        }
        Outcome::QUEUED
    }

    /// Updates the counts after the call took an entry of the other queue.
    #[inline(always)]
    fn count_taken<const QUEUE: u64>(&mut self, Entry { id, number }: Entry) -> Outcome {
        if QUEUE == POSTED {
            self.effort.examined(Queue::Unexpected, 1);
            if self.log.clear(number) {
                return self.took_and_tidy(id, Some(number));
            }
        } else {
            self.effort.examined(Queue::Posted, 1);
            self.posted -= 1;
        }
        self.until_check -= 1;
        if self.until_check == 0 {
            return self.took_and_tidy(id, None);
        }
        Outcome::took(id)
    }

    /// Does [`count_taken`](Self::count_taken) if the message was the last of its log block, or if a memory
    /// check is due.
    #[cold]
    #[inline(never)]
    fn took_and_tidy(&mut self, id: u64, emptied: Option<u64>) -> Outcome {
        emptied.into_iter().for_each(|number| self.log.unlink(number));
        if self.until_check == 0 {
            self.give_back();
        }
        Outcome::took(id)
    }

    /// [`Engine::matched_probe`] in all cases.
    #[inline(never)]
    fn matched_probe_slowly(&mut self, selector: &Selector, hash: u64) -> Outcome {
        let found = self.find_admitted(selector, true);
        found.map_or(Outcome::none_at(Place(hash | HASHED)), |at| Outcome::took(self.take_message(at)))
    }

    /// [`Engine::cancel`] in all cases.
    #[inline(never)]
    pub(super) fn cancel_slowly(&mut self, id: u64, pattern: &Pattern) -> bool {
        let was_there = self.remove_receive(pattern, |entry| entry.id == id);
        self.set_gates();
        self.entry_left();
        was_there
    }

    /// Where the message is that a receive with this selector takes, unless a hint refuses the receive.
    pub(super) fn find_admitted(&mut self, selector: &Selector, is_taken: bool) -> Option<At> {
        self.hints.admit(selector).ok()?;
        self.find_message(&Pattern::of(selector), is_taken)
    }

    /// Takes the oldest receive that accepts a message with this key.
    #[inline(always)]
    pub(super) fn take_for(&mut self, key: Key) -> Option<u64> {
        let (found, compared) = self.table.find(key);
        self.effort.examined(Queue::Posted, compared);
        let exact = found.filter(|&at| self.table.row.slot(at).queue() == POSTED);
        let before = exact.map_or(u64::MAX, |at| self.table.first(at).entry.number);
        let taken = self.wildcards.take(key, before, &mut self.effort);
        let id = taken.or_else(|| Some(self.table.pop(exact?).id))?;
        self.posted -= 1;
        self.entry_left();
        self.table.move_some();
        self.set_gates();
        Some(id)
    }
}
