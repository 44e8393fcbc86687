//! Post and arrive: first the cases that one slot decides, then all others.

use super::key::{Entry, Key, Outcome, Pattern};
use super::row::{Home, NEXT, NUMBER, POSTED, UNEXPECTED};
use super::table::{At, Elsewhere, Exchange, Hashed};
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
    pub(super) fn post_key(&mut self, id: u64, (key, hash): Hashed) -> Outcome {
        if self.gate & MOVING != 0 {
            return self.post_key_slowly(id, key);
        }
        let home = self.table.home_of(hash);
        match self.table.exchange(key, home, POSTED) {
            Exchange::Vacant(slot) => {
                slot.fill(key, id, self.posts);
                self.receive_queued()
            }
            Exchange::Took(entry) => self.took_message(entry),
            Exchange::Same => self.post_duplicate(id, key, home),
            Exchange::Other => self.post_key_elsewhere(id, key, home),
        }
    }

    #[inline(never)]
    fn post_duplicate(&mut self, id: u64, key: Key, home: Home) -> Outcome {
        let entry = Entry { id, number: self.posts >> NUMBER };
        match self.table.exchange_duplicate(home, POSTED, entry) {
            Elsewhere::Took(entry) => self.took_message(entry),
            Elsewhere::Queued => self.receive_queued(),
            Elsewhere::Other => self.post_block(id, key, home),
        }
    }

    #[inline(never)]
    fn post_block(&mut self, id: u64, key: Key, home: Home) -> Outcome {
        let entry = Entry { id, number: self.posts >> NUMBER };
        match self.table.exchange_block(home, POSTED, entry) {
            Elsewhere::Took(entry) => self.took_message(entry),
            Elsewhere::Queued => self.receive_queued(),
            Elsewhere::Other => self.post_key_slowly(id, key),
        }
    }

    #[inline(never)]
    fn post_key_elsewhere(&mut self, id: u64, key: Key, home: Home) -> Outcome {
        let entry = Entry { id, number: self.posts >> NUMBER };
        match self.table.exchange_elsewhere(key, home, POSTED, entry) {
            Elsewhere::Took(entry) => self.took_message(entry),
            Elsewhere::Queued => self.receive_queued(),
            Elsewhere::Other => self.post_key_slowly(id, key),
        }
    }

    #[inline(never)]
    fn post_key_slowly(&mut self, id: u64, key: Key) -> Outcome {
        let entry = Entry { id, number: self.posts >> NUMBER };
        let entries = self.entries();
        let exchanged = self.table.exchange_slowly(key, Queue::Posted, entry, entries);
        self.note_moving();
        match exchanged {
            Ok(None) => self.receive_queued(),
            Ok(Some(entry)) => self.took_message(entry),
            Err(why) => Outcome::refused(why),
        }
    }

    /// Posts a receive with wildcards.
    #[inline(always)]
    pub(super) fn post_wildcard(&mut self, id: u64, pattern: Pattern) -> Outcome {
        if self.log.len() == 0 && self.wildcards.len() == 0 {
            self.wildcards.add_lone(pattern, Entry { id, number: self.posts >> NUMBER });
            self.gate |= WILD;
            return self.receive_queued();
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
            return self.receive_queued();
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
                self.receive_queued()
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
        let home = self.table.home_of(hash);
        match self.table.exchange(key, home, UNEXPECTED) {
            Exchange::Vacant(slot) => {
                slot.fill(key, id, self.log.mark);
                self.arrived(key)
            }
            Exchange::Took(Entry { id, .. }) => self.took_receive(id),
            Exchange::Same => self.arrive_duplicate(id, key, home),
            Exchange::Other => self.arrive_elsewhere(id, key, home),
        }
    }

    #[inline(never)]
    fn arrive_duplicate(&mut self, id: u64, key: Key, home: Home) -> Outcome {
        let entry = Entry { id, number: self.log.next() };
        match self.table.exchange_duplicate(home, UNEXPECTED, entry) {
            Elsewhere::Took(Entry { id, .. }) => self.took_receive(id),
            Elsewhere::Queued => self.arrived(key),
            Elsewhere::Other => self.arrive_block(id, key, home),
        }
    }

    #[inline(never)]
    fn arrive_block(&mut self, id: u64, key: Key, home: Home) -> Outcome {
        let entry = Entry { id, number: self.log.next() };
        match self.table.exchange_block(home, UNEXPECTED, entry) {
            Elsewhere::Took(Entry { id, .. }) => self.took_receive(id),
            Elsewhere::Queued => self.arrived(key),
            Elsewhere::Other => self.arrive_displaced(id, key),
        }
    }

    #[inline(never)]
    fn arrive_elsewhere(&mut self, id: u64, key: Key, home: Home) -> Outcome {
        let entry = Entry { id, number: self.log.next() };
        match self.table.exchange_elsewhere(key, home, UNEXPECTED, entry) {
            Elsewhere::Took(Entry { id, .. }) => self.took_receive(id),
            Elsewhere::Queued => self.arrived(key),
            Elsewhere::Other => self.arrive_displaced(id, key),
        }
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
                return self.took_receive(id);
            }
            if let Some(id) = self.wildcards.take_single(key) {
                self.left_wildcards();
                return self.took_receive(id);
            }
        }
        self.arrive_among_wildcards(id, key)
    }

    /// The same for a key that is displaced, or meets other keys, or needs a block for duplicates.
    #[inline(never)]
    fn arrive_displaced(&mut self, id: u64, key: Key) -> Outcome {
        let entry = Entry { id, number: self.log.next() };
        let entries = self.entries();
        let exchanged = self.table.exchange_slowly(key, Queue::Unexpected, entry, entries);
        self.note_moving();
        match exchanged {
            Ok(None) => self.arrived(key),
            Ok(Some(Entry { id, .. })) => self.took_receive(id),
            Err(why) => Outcome::refused(why),
        }
    }

    /// The same while receives with wildcards are posted.
    #[inline(never)]
    fn arrive_among_wildcards(&mut self, id: u64, key: Key) -> Outcome {
        let (found, compared) = self.table.find(key);
        self.effort.examined(Queue::Posted, compared);
        match self.find_receive(key, found) {
            Some(receive) => Outcome::took(self.take_receive(receive)),
            None => self.arrive_displaced(id, key),
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
            None => self.table.insert(key, Queue::Unexpected, entry, entries),
        };
        self.note_moving();
        match added {
            Ok(()) => self.arrived(key),
            Err(why) => Outcome::refused(why),
        }
    }

    /// A receive was posted.
    #[inline(always)]
    fn receive_queued(&mut self) -> Outcome {
        self.posts += NEXT;
        self.posted += 1;
        Outcome::QUEUED
    }

    /// A receive took a message.
    #[inline(always)]
    fn took_message(&mut self, Entry { id, number }: Entry) -> Outcome {
        self.effort.examined(Queue::Unexpected, 1);
        self.log.remove(number);
        self.took(id)
    }

    /// A message took a receive.
    #[inline(always)]
    fn took_receive(&mut self, id: u64) -> Outcome {
        self.effort.examined(Queue::Posted, 1);
        self.posted -= 1;
        self.took(id)
    }

    #[inline(always)]
    fn took(&mut self, id: u64) -> Outcome {
        self.until_check -= 1;
        if self.until_check == 0 { self.took_and_check(id) } else { Outcome::took(id) }
    }

    #[cold]
    #[inline(never)]
    fn took_and_check(&mut self, id: u64) -> Outcome {
        self.give_back();
        Outcome::took(id)
    }

    /// A message was queued.
    #[inline(always)]
    fn arrived(&mut self, key: Key) -> Outcome {
        if self.log.push(key) { Outcome::QUEUED } else { self.block_ended() }
    }

    /// The log needs a block for the next message.
    #[cold]
    #[inline(never)]
    fn block_ended(&mut self) -> Outcome {
        if self.log.is_sparse() {
            if let Some(numbers) = self.log.compact() {
                self.table.renumber(|old| numbers.of(old));
                self.indexes.clear();
            }
        }
        let has_room = self.log.make_room().is_ok();
        self.set_gate(NO_ROOM, !has_room);
        Outcome::QUEUED
    }

    /// The oldest receive that accepts a message. `found` is where the table has the key.
    #[inline(always)]
    fn find_receive(&mut self, key: Key, found: Option<At>) -> Option<Accepting> {
        let exact = found.filter(|&at| self.table.slot(at).queue() == Queue::Posted);
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
        if self.gate == WILD { self.arrive_displaced(id, hashed.0) } else { self.arrive_key(id, hashed) }
    }
}
