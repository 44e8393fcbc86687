//! Post and arrive: first the cases that one slot decides, then all others.

use super::key::{Class, Entry, Key, Pattern};
use super::row::{At, NEXT, NUMBER, POSTED, UNEXPECTED};
use super::table::{Exchange, Hashed};
use super::{HASHED, HINTED, Hybrid, MOVING, NO_ROOM, WILD};
use crate::effort::Effort;
use crate::engine::{Engine, Outcome, Place, Queue};
use crate::envelope::{Pair, Selector, Tag};

/// Posts and arrivals in words, for the C interface.
impl<E: Effort> Hybrid<E> {
    /// [`Engine::post_exact`].
    #[inline(always)]
    pub fn post_words(&mut self, id: u64, pair: Pair, tag: Tag) -> Outcome {
        self.post_key(id, self.hashed(Key::new(pair, tag)))
    }

    /// [`Engine::queue_receive`], and without a place [`Engine::post_selector`].
    #[inline(always)]
    pub fn post_open_words(&mut self, id: u64, selector: &Selector, place: Place) -> Outcome {
        let pattern = Pattern::of(selector);
        if self.gate & HINTED != 0 && self.hints.admit(selector).is_err() {
            return Outcome::HINT;
        }
        if pattern.class == Class::EXACT {
            return self.post_key(id, self.placed(pattern.key, place));
        }
        self.post_wildcard(id, pattern)
    }

    /// [`Engine::queue_message`], and without a place [`Engine::arrive`].
    #[inline(always)]
    pub fn arrive_words(&mut self, id: u64, pair: Pair, tag: Tag, place: Place) -> Outcome {
        let hashed = self.placed(Key::new(pair, tag), place);
        if place.0 & HASHED != 0 && self.gate == WILD && self.missed == (Pattern::exact(hashed.0), self.posts)
        {
            return self.exchange_slowly::<UNEXPECTED>(id, hashed.0);
        }
        self.arrive_key(id, hashed)
    }
}

impl<E: Effort> Hybrid<E> {
    /// Posts a receive without wildcards.
    #[inline(always)]
    pub(super) fn post_key(&mut self, id: u64, hashed: Hashed) -> Outcome {
        if self.gate & MOVING != 0 {
            return self.exchange_slowly::<POSTED>(id, hashed.0);
        }
        self.exchange::<POSTED>(id, hashed)
    }

    /// Rules 2 and 3 of the contract for an entry of the queue `QUEUE`: takes the oldest entry of the key in the other queue, or
    /// queues the entry. The table is ready.
    #[inline(always)]
    fn exchange<const QUEUE: u64>(&mut self, id: u64, (key, hash): Hashed) -> Outcome {
        let home = self.table.home(hash);
        match self.table.exchange(key, home, QUEUE) {
            Exchange::Vacant(slot) => {
                slot.fill(key, id, if QUEUE == POSTED { self.posts } else { self.log.mark });
                self.queued::<QUEUE>(key)
            }
            Exchange::Took(entry) => self.took::<QUEUE>(entry),
            Exchange::Same => self.exchange_elsewhere::<QUEUE, true>(id, key, home),
            Exchange::Other => self.exchange_elsewhere::<QUEUE, false>(id, key, home),
        }
    }

    /// The same if the slot has the key and another case, or another key.
    #[inline(never)]
    fn exchange_elsewhere<const QUEUE: u64, const IS_SAME: bool>(
        &mut self,
        id: u64,
        key: Key,
        home: At,
    ) -> Outcome {
        let entry = self.entry::<QUEUE>(id);
        let exchanged = if IS_SAME {
            self.table.exchange_duplicate(home, QUEUE, entry)
        } else {
            self.table.exchange_displaced(key, home, QUEUE, entry)
        };
        match exchanged {
            Some(exchanged) => self.finish::<QUEUE>(key, exchanged),
            None => self.exchange_slowly::<QUEUE>(id, key),
        }
    }

    #[inline(never)]
    pub(super) fn exchange_slowly<const QUEUE: u64>(&mut self, id: u64, key: Key) -> Outcome {
        self.table.len = self.entries();
        let exchanged = self.table.exchange_slowly(key, QUEUE, self.entry::<QUEUE>(id));
        self.note_moving();
        exchanged.map_or_else(Outcome::refused, |exchanged| self.finish::<QUEUE>(key, exchanged))
    }

    /// The entry of the call is queued, or another one was taken.
    #[inline(always)]
    fn finish<const QUEUE: u64>(&mut self, key: Key, taken: Option<Entry>) -> Outcome {
        match taken {
            Some(entry) => self.took::<QUEUE>(entry),
            None => self.queued::<QUEUE>(key),
        }
    }

    /// The mark of the next entry of a queue.
    #[inline(always)]
    fn mark<const QUEUE: u64>(&self) -> u64 {
        if QUEUE == POSTED { self.posts } else { self.log.mark }
    }

    #[inline(always)]
    fn entry<const QUEUE: u64>(&self, id: u64) -> Entry {
        Entry { id, number: self.mark::<QUEUE>() >> NUMBER }
    }

    /// Posts a receive with wildcards.
    #[inline(always)]
    pub(super) fn post_wildcard(&mut self, id: u64, pattern: Pattern) -> Outcome {
        let entry = self.entry::<POSTED>(id);
        if self.log.len() == 0 && self.wildcards.add_to_list(pattern, entry) {
            self.gate |= WILD;
            return self.queued::<POSTED>(pattern.key);
        }
        let Pattern { key: Key { pair, tag }, class } = pattern;
        self.post_wildcard_in_class(id, Pair(pair), tag, class.ignore)
    }

    /// The same if other receives of the class are posted, and no message waits. The pattern comes in registers, so that no caller
    /// writes it to memory.
    #[inline(never)]
    fn post_wildcard_in_class(&mut self, id: u64, pair: Pair, tag: u64, ignore: u64) -> Outcome {
        let (pattern, entry) = (Pattern::new(pair, tag, ignore), self.entry::<POSTED>(id));
        if self.log.len() == 0 && self.wildcards.add_in_class(pattern, entry) {
            return self.queued::<POSTED>(pattern.key);
        }
        self.post_wildcard_slowly(id, pair, tag, ignore)
    }

    #[inline(never)]
    fn post_wildcard_slowly(&mut self, id: u64, pair: Pair, tag: u64, ignore: u64) -> Outcome {
        let pattern = Pattern::new(pair, tag, ignore);
        if self.log.len() > 0 && self.missed != (pattern, self.log.next_age()) {
            let found = self.indexes.find(&pattern, true, &self.log, &mut self.effort);
            if let Some(number) = found {
                return Outcome::took(self.take_found(number));
            }
        }
        let added = self.wildcards.add(pattern, Entry { id, number: self.posts >> NUMBER });
        match added {
            Ok(()) => {
                self.gate |= WILD;
                self.queued::<POSTED>(pattern.key)
            }
            Err(why) => Outcome::refused(why),
        }
    }

    /// Takes the message that a wildcard search found. It is the oldest of its key.
    #[inline(always)]
    fn take_found(&mut self, number: u64) -> u64 {
        let key = self.log.key(number);
        if let Some(Entry { id, .. }) = self.table.take_at_home(key, UNEXPECTED) {
            self.message_left(number);
            self.entry_left();
            return id;
        }
        let at = self.table.find(key).0.expect("a message that waits is in the table");
        debug_assert_eq!(self.table.first(at).number, number);
        self.take_message(at)
    }

    #[inline(always)]
    fn note_moving(&mut self) {
        self.set_gate(MOVING, !self.table.is_ready());
        if self.gate & MOVING != 0 {
            self.note_peak();
        }
    }

    /// A message with that key arrives.
    #[inline(always)]
    pub(super) fn arrive_key(&mut self, id: u64, (key, hash): Hashed) -> Outcome {
        if self.gate != 0 {
            return self.arrive_gated(id, key, hash);
        }
        self.exchange::<UNEXPECTED>(id, (key, hash))
    }

    /// The same while receives with wildcards are posted, or in a case that is not common.
    #[inline(never)]
    fn arrive_gated(&mut self, id: u64, key: Key, hash: u64) -> Outcome {
        // In a free slot: no receive without wildcards has the key.
        if self.gate != WILD || self.table.slot(self.table.home(hash)).mark != 0 {
            return self.arrive_slowly(id, key);
        }
        match self.wildcards.take_only(key) {
            Some(id) => self.took_wildcard(id),
            None => self.arrive_in_class(id, key),
        }
    }

    #[inline(never)]
    fn arrive_in_class(&mut self, id: u64, key: Key) -> Outcome {
        match self.wildcards.take_in_class(key) {
            Some(id) => self.took_wildcard(id),
            None => self.arrive_slowly(id, key),
        }
    }

    #[inline(always)]
    fn took_wildcard(&mut self, id: u64) -> Outcome {
        self.left_wildcards();
        self.took::<UNEXPECTED>(Entry { id, number: 0 })
    }

    #[inline(never)]
    fn arrive_slowly(&mut self, id: u64, key: Key) -> Outcome {
        if self.table.slots_len() == 0 {
            // Without memory a message that would be queued is refused.
            _ = self.table.begin(0);
            self.note_moving();
        }
        if self.gate & NO_ROOM != 0 {
            self.block_ended();
        }
        if self.posted_len() > 0 {
            if let Some(id) = self.take_for(key) {
                self.table.move_some();
                self.note_moving();
                return Outcome::took(id);
            }
        }
        if self.gate & HINTED != 0 && self.hints.admit_unexpected(key.context()).is_err() {
            return Outcome::HINT;
        }
        if self.gate & NO_ROOM != 0 {
            return Outcome::MEMORY;
        }
        self.exchange_slowly::<UNEXPECTED>(id, key)
    }

    /// An entry was queued.
    #[inline(always)]
    fn queued<const QUEUE: u64>(&mut self, key: Key) -> Outcome {
        if QUEUE == UNEXPECTED {
            return if self.log.push(key) { Outcome::QUEUED } else { self.block_ended() };
        }
        self.posts += NEXT;
        self.posted += 1;
        Outcome::QUEUED
    }

    /// An entry of the other queue was taken.
    #[inline(always)]
    fn took<const QUEUE: u64>(&mut self, Entry { id, number }: Entry) -> Outcome {
        if QUEUE == POSTED {
            self.effort.examined(Queue::Unexpected, 1);
            if self.log.remove(number) {
                return self.took_last_of_block(id, number);
            }
        } else {
            self.effort.examined(Queue::Posted, 1);
            self.posted -= 1;
        }
        self.until_check -= 1;
        if self.until_check == 0 { self.took_and_check(id) } else { Outcome::took(id) }
    }

    #[cold]
    #[inline(never)]
    fn took_last_of_block(&mut self, id: u64, number: u64) -> Outcome {
        self.unlink_block(number);
        self.entry_left();
        Outcome::took(id)
    }

    #[cold]
    #[inline(never)]
    fn took_and_check(&mut self, id: u64) -> Outcome {
        self.give_back();
        Outcome::took(id)
    }

    /// The log needs a block for the next message.
    #[cold]
    #[inline(never)]
    fn block_ended(&mut self) -> Outcome {
        let has_room = self.log.make_room().is_ok();
        self.set_gate(NO_ROOM, !has_room);
        Outcome::QUEUED
    }

    #[inline(always)]
    fn left_wildcards(&mut self) {
        if self.wildcards.len() == 0 {
            self.gate &= !WILD;
        }
    }

    /// Takes the oldest receive that accepts a message.
    #[inline(always)]
    pub(super) fn take_for(&mut self, key: Key) -> Option<u64> {
        let (found, compared) = self.table.find(key);
        self.effort.examined(Queue::Posted, if self.posted_len() > 0 { compared } else { 0 });
        let exact = found.filter(|&at| self.table.slot(at).queue() == POSTED);
        let before = exact.map_or(u64::MAX, |at| self.table.first(at).number);
        let id = match self.wildcards.find(key, before, &mut self.effort) {
            Some(place) => {
                let id = self.wildcards.take(place);
                self.left_wildcards();
                id
            }
            None => self.table.pop(exact?).id,
        };
        self.posted -= 1;
        self.entry_left();
        Some(id)
    }
}
