//! Post and arrive: first the cases that one slot decides, then all others.

use super::key::{Entry, Key, Outcome, Pattern};
use super::row::{Home, NEXT, NUMBER, POSTED, UNEXPECTED};
use super::table::{At, Exchange, Hashed};
use super::wildcards::Place;
use super::{HINTED, Hybrid, MOVING, NO_ROOM, WILD};
use crate::effort::Effort;
use crate::engine::{Engine, Queue};
use crate::envelope::Pair;

/// A receive that accepts a message.
#[derive(Clone, Copy)]
enum Accepting {
    Exact(At),
    Wildcard(Place),
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
        let home = self.table.home_of(hash);
        match self.table.exchange(key, home, QUEUE) {
            Exchange::Vacant(slot) => {
                slot.fill(key, id, if QUEUE == POSTED { self.posts } else { self.log.mark });
                self.queued::<QUEUE>(key)
            }
            Exchange::Took(entry) => self.took::<QUEUE>(entry),
            Exchange::Same => self.exchange_duplicate::<QUEUE>(id, key, home),
            Exchange::Other => self.exchange_displaced::<QUEUE>(id, key, home),
        }
    }

    #[inline(never)]
    fn exchange_duplicate<const QUEUE: u64>(&mut self, id: u64, key: Key, home: Home) -> Outcome {
        match self.table.exchange_duplicate(home, QUEUE, self.entry::<QUEUE>(id)) {
            Some(exchanged) => self.finish::<QUEUE>(key, exchanged),
            None => self.exchange_slowly::<QUEUE>(id, key),
        }
    }

    #[inline(never)]
    fn exchange_displaced<const QUEUE: u64>(&mut self, id: u64, key: Key, home: Home) -> Outcome {
        match self.table.exchange_displaced(key, home, QUEUE, self.entry::<QUEUE>(id)) {
            Some(exchanged) => self.finish::<QUEUE>(key, exchanged),
            None => self.exchange_slowly::<QUEUE>(id, key),
        }
    }

    #[inline(never)]
    fn exchange_slowly<const QUEUE: u64>(&mut self, id: u64, key: Key) -> Outcome {
        let entries = self.entries();
        let exchanged = self.table.exchange_slowly(key, QUEUE, self.entry::<QUEUE>(id), entries);
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
        if self.log.len() == 0 && self.wildcards.len() == 0 {
            self.wildcards.add_lone(pattern, Entry { id, number: self.posts >> NUMBER });
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
        let entry = Entry { id, number: self.posts >> NUMBER };
        if self.log.len() == 0 && self.wildcards.add_in_class(Pattern::new(pair, tag, ignore), entry) {
            return self.queued::<POSTED>(Key { pair: pair.0, tag });
        }
        self.post_wildcard_slowly(id, pair, tag, ignore)
    }

    #[inline(never)]
    fn post_wildcard_slowly(&mut self, id: u64, pair: Pair, tag: u64, ignore: u64) -> Outcome {
        let pattern = Pattern::new(pair, tag, ignore);
        if self.log.len() > 0 {
            let found = self.indexes.find(&pattern, true, &self.log, &mut self.effort);
            self.note_moving_wildcards();
            if let Some(number) = found {
                return Outcome::took(self.take_found(number));
            }
        }
        self.queue_wildcard(id, pattern)
    }

    /// Queues a receive with wildcards.
    pub(super) fn queue_wildcard(&mut self, id: u64, pattern: Pattern) -> Outcome {
        let added = self.wildcards.add(pattern, Entry { id, number: self.posts >> NUMBER });
        self.note_moving_wildcards();
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

    /// The same for the tables of wildcards.
    #[inline(always)]
    fn note_moving_wildcards(&mut self) {
        if self.wildcards.is_moving | self.indexes.is_moving {
            (self.wildcards.is_moving, self.indexes.is_moving) = (false, false);
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
        if self.gate != WILD {
            return self.arrive_slowly(id, key);
        }
        if self.table.is_free(self.table.home_of(hash)) {
            // No receive without wildcards has the key.
            if let Some(id) = self.wildcards.take_lone(key) {
                self.gate = 0;
                return self.took::<UNEXPECTED>(Entry { id, number: 0 });
            }
            if let Some(id) = self.wildcards.take_single(key) {
                self.left_wildcards();
                return self.took::<UNEXPECTED>(Entry { id, number: 0 });
            }
        }
        self.arrive_among_wildcards(id, key)
    }

    /// The same while receives with wildcards are posted.
    #[inline(never)]
    fn arrive_among_wildcards(&mut self, id: u64, key: Key) -> Outcome {
        let (found, compared) = self.table.find(key);
        self.effort.examined(Queue::Posted, compared);
        match self.find_receive(key, found) {
            Some(receive) => Outcome::took(self.take_receive(receive)),
            None => self.exchange_slowly::<UNEXPECTED>(id, key),
        }
    }

    #[inline(never)]
    fn arrive_slowly(&mut self, id: u64, key: Key) -> Outcome {
        if self.gate & MOVING != 0 {
            self.table.begin();
        }
        if self.gate & NO_ROOM != 0 {
            let has_room = self.log.make_room().is_ok();
            self.set_gate(NO_ROOM, !has_room);
        }
        let (found, compared) = self.table.find(key);
        if self.posted_len() > 0 {
            self.effort.examined(Queue::Posted, compared);
            if let Some(receive) = self.find_receive(key, found) {
                self.note_moving();
                return Outcome::took(self.take_receive(receive));
            }
        }
        if self.gate & HINTED != 0 && self.hints.admit_unexpected(key.context()).is_err() {
            return Outcome::HINT;
        }
        if self.gate & NO_ROOM != 0 {
            return Outcome::MEMORY;
        }
        let entry = Entry { id, number: self.log.next() };
        let entries = self.entries();
        let added = match found {
            Some(at) => self.table.push(at, entry),
            None => self.table.insert(key, UNEXPECTED, entry, entries),
        };
        self.note_moving();
        match added {
            Ok(()) => self.queued::<UNEXPECTED>(key),
            Err(why) => Outcome::refused(why),
        }
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
            self.message_left(number);
        } else {
            self.effort.examined(Queue::Posted, 1);
            self.posted -= 1;
        }
        self.until_check -= 1;
        if self.until_check == 0 { self.took_and_check(id) } else { Outcome::took(id) }
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

    /// The oldest receive that accepts a message. `found` is where the table has the key.
    #[inline(always)]
    fn find_receive(&mut self, key: Key, found: Option<At>) -> Option<Accepting> {
        let exact = found.filter(|&at| self.table.slot(at).queue() == POSTED);
        let before = exact.map_or(u64::MAX, |at| self.table.first(at).number);
        let wildcard = self.wildcards.find(key, before, &mut self.effort);
        wildcard.map(Accepting::Wildcard).or(exact.map(Accepting::Exact))
    }

    #[inline(always)]
    fn take_receive(&mut self, receive: Accepting) -> u64 {
        let id = match receive {
            Accepting::Exact(at) => self.table.pop(at).id,
            Accepting::Wildcard(place) => {
                let id = self.wildcards.take(place);
                self.left_wildcards();
                id
            }
        };
        self.receive_left();
        id
    }

    #[inline(always)]
    fn left_wildcards(&mut self) {
        if self.wildcards.len() == 0 {
            self.gate &= !WILD;
        }
    }

    /// Takes the receive for a message.
    #[inline(always)]
    pub(super) fn take_for(&mut self, key: Key) -> Option<u64> {
        let (found, compared) = self.table.find(key);
        self.effort.examined(Queue::Posted, if self.posted_len() > 0 { compared } else { 0 });
        let receive = self.find_receive(key, found)?;
        Some(self.take_receive(receive))
    }

    /// Queues a message that no receive accepts.
    #[inline(always)]
    pub(super) fn queue_key(&mut self, id: u64, hashed: Hashed) -> Outcome {
        if self.gate == WILD {
            self.exchange_slowly::<UNEXPECTED>(id, hashed.0)
        } else {
            self.arrive_key(id, hashed)
        }
    }
}
