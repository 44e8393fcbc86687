//! Cancel, retract and readdress, and what the calls in [`maintenance`](crate::maintenance) need.

use super::duplicates::Link;
use super::index::Indexes;
use super::key::{Class, Entry, Key, Pattern};
use super::row::{POSTED, UNEXPECTED};
use super::table::{At, Place, Table};
use super::wildcards::Wildcards;
use super::{CHECK, Hybrid};
use crate::effort::Effort;
use crate::engine::{Engine, Message, MsgId, Readdressed, Receive, RecvId, Refused};
use crate::envelope::{Envelope, Rank};
use crate::hints::HintTable;
use crate::maintenance::Queues;

/// A posted receive.
#[derive(Clone, Copy)]
pub struct Posted {
    pattern: Pattern,
    entry: Entry,
}

/// An unexpected message.
#[derive(Clone, Copy)]
pub struct Unexpected {
    key: Key,
    entry: Entry,
}

/// Checks of a table before it shrinks, at least.
const CHECKS: usize = 16;

impl<E: Effort> Hybrid<E> {
    /// A message no longer waits.
    #[inline(always)]
    pub(super) fn message_left(&mut self, number: u64) {
        if self.log.remove(number) {
            self.unlink_block(number);
        }
    }

    /// The last message of a block no longer waits.
    #[cold]
    #[inline(never)]
    pub(super) fn unlink_block(&mut self, number: u64) {
        let (block, before) = self.log.unlink(number);
        self.indexes.block_left(block, before);
    }

    #[inline(always)]
    pub(super) fn entry_left(&mut self) {
        self.until_check -= 1;
        if self.until_check == 0 {
            self.give_back();
        }
    }

    /// Frees memory that the entries do not need: some of the log at each check; of a table, after as many takes as an eighth of its
    /// slots, if all checks saw it nearly empty.
    #[cold]
    #[inline(never)]
    pub(super) fn give_back(&mut self) {
        self.until_check = CHECK;
        self.checks += 1;
        self.most = self.most.max(self.entries()).max(self.reserved);
        self.log.free_some(self.reserved);
        self.indexes.tidy();
        self.wildcards.tidy();
        if self.checks as usize >= CHECKS.max(self.table.slots_len() / 8 / CHECK as usize) {
            self.note_peak();
            self.table.shrink(self.most);
            self.wildcards.shrink(self.most);
            self.indexes.give_back();
            self.log.give_back();
            if self.reserved == 0 && self.log.is_idle() {
                self.log.release();
                self.indexes.forget_blocks();
            }
            (self.checks, self.most) = (0, 0);
        }
        self.set_gates();
    }

    /// Remembers how much memory the engine has, before some of it is freed.
    #[cold]
    #[inline(never)]
    pub(super) fn note_peak(&mut self) {
        self.peak_bytes = self.footprint().peak_bytes;
    }

    /// [`Engine::readdress`](crate::Engine::readdress).
    pub(super) fn readdress_message(
        &mut self,
        message: &Message,
        source: Rank,
    ) -> Result<Readdressed, Refused> {
        if message.envelope.source != Rank::UNKNOWN || source == Rank::UNKNOWN {
            return Ok(Readdressed::Unchanged);
        }
        let old = Key::of(&message.envelope);
        let found = self.table.search(old, UNEXPECTED, |entry| entry.id == message.id.0);
        let Some((_, _, entry)) = found else { return Ok(Readdressed::Unchanged) };
        let key = Key::of(&Envelope { source, ..message.envelope });
        // Only searches by post, arrive and probe count.
        let effort = std::mem::take(&mut self.effort);
        let taken = self.take_for(key);
        self.effort = effort;
        let readdressed = match taken {
            Some(receive) => {
                self.remove_message(old, |other| other.number == entry.number);
                Readdressed::Matched(RecvId(receive))
            }
            None => {
                self.change_key(old, key, entry)?;
                Readdressed::SourceSet
            }
        };
        self.set_gates();
        Ok(readdressed)
    }

    /// Gives a message another key, at its age.
    fn change_key(&mut self, old: Key, new: Key, entry: Entry) -> Result<(), Refused> {
        let added = self.table.add_in_order(new, UNEXPECTED, entry, |number| self.log.age(number));
        self.set_gates();
        added?;
        let found = self.table.search(old, UNEXPECTED, |other| other.number == entry.number);
        if let Some((at, place, _)) = found {
            self.table.remove(at, place);
        }
        self.log.set_key(entry.number, new);
        self.missed = Default::default();
        self.indexes.message_renamed(new, entry.number, self.log.age(entry.number));
        Ok(())
    }

    /// Takes the receive with a pattern that `is_it` accepts.
    pub(super) fn remove_receive(&mut self, pattern: &Pattern, is_it: impl Fn(Entry) -> bool) -> bool {
        let was_there = if pattern.class == Class::EXACT {
            let found = self.table.search(pattern.key, POSTED, is_it);
            found.map(|(at, place, _)| self.table.remove(at, place)).is_some()
        } else {
            self.wildcards.remove(pattern, is_it)
        };
        self.posted -= u64::from(was_there);
        was_there
    }

    /// Takes the message with a key that `is_it` accepts.
    pub(super) fn remove_message(&mut self, key: Key, is_it: impl Fn(Entry) -> bool) -> bool {
        let Some((at, place, entry)) = self.table.search(key, UNEXPECTED, is_it) else { return false };
        self.table.remove(at, place);
        self.message_left(entry.number);
        true
    }

    /// Gives back memory after many entries were removed: all of it if none is left or reserved, else in steps of later calls.
    pub(super) fn release(&mut self) {
        self.note_peak();
        let entries = self.entries().max(self.reserved);
        if entries == 0 {
            let hashing = self.table.hashing;
            (self.table, self.wildcards) = (Table::new(hashing), Wildcards::new(hashing));
            self.indexes = Indexes::new(hashing);
            self.log.release();
        } else {
            self.table.shrink(entries);
            self.wildcards.shrink(entries);
        }
        self.set_gates();
    }

    /// Reserves memory for so many more entries.
    pub(super) fn reserve_memory(&mut self, entries: usize) -> Result<(), Refused> {
        let keys = self.entries() + entries.min(1 << 30);
        self.wildcards.reserve(entries)?;
        self.log.reserve(entries)?;
        self.table.reserve(keys)?;
        // Each queued key can need a block for one more entry. Another key needs two entries for a block.
        self.table.duplicates.reserve(entries / 2 + entries.min(self.entries()) / 2 + 1)?;
        self.reserved = keys;
        Ok(())
    }
}

impl<E: Effort> Queues for Hybrid<E> {
    type Posted = Posted;
    type Unexpected = Unexpected;

    fn posted(&self) -> impl Iterator<Item = (u64, Posted)> {
        let exact = self.table.iter(POSTED);
        let exact = exact.map(|(key, entry)| (Pattern::exact(key), entry));
        exact.chain(self.wildcards.iter()).map(|(pattern, entry)| (entry.number, Posted { pattern, entry }))
    }

    fn unexpected(&self) -> impl Iterator<Item = (u64, Unexpected)> {
        self.table
            .iter(UNEXPECTED)
            .map(|(key, entry)| (self.log.age(entry.number), Unexpected { key, entry }))
    }

    fn receive(&self, at: Posted) -> Receive {
        Receive::new(RecvId(at.entry.id), at.pattern.selector())
    }

    fn message(&self, at: Unexpected) -> Message {
        Message::new(MsgId(at.entry.id), at.key.envelope())
    }

    fn take_posted(&mut self, Posted { pattern, entry }: Posted) {
        self.remove_receive(&pattern, |other| other.number == entry.number);
    }

    fn take_unexpected(&mut self, Unexpected { key, entry }: Unexpected) {
        self.remove_message(key, |other| other.number == entry.number);
    }

    fn set_envelope(&mut self, at: Unexpected, named: Envelope) -> Result<(), Refused> {
        self.change_key(at.key, Key::of(&named), at.entry)
    }

    fn hints(&mut self) -> &mut HintTable {
        &mut self.hints
    }
}

/// Entries in the middle of duplicates, and all of them.
impl Table {
    /// The entry of a key that `is_it` accepts, searched from both ends. O(duplicates); O(1) near the ends.
    pub(super) fn search(
        &self,
        key: Key,
        queue: u64,
        is_it: impl Fn(Entry) -> bool,
    ) -> Option<(At, Place, Entry)> {
        let at = self.find(key).0.filter(|&at| self.slot(at).queue() == queue)?;
        let slot = self.slot(at);
        if !slot.has_many() {
            return is_it(slot.entry()).then_some((at, Place { block: Link::NONE, at: 0 }, slot.entry()));
        }
        let mut first = slot.head();
        let mut last = self.duplicates[first].before;
        loop {
            for number in [first, last] {
                let block = &self.duplicates[number];
                if let Some(nth) = block.used().iter().position(|&entry| is_it(entry)) {
                    let place = block.first + nth as u64;
                    return Some((at, Place { block: number, at: place }, block.entries[place as usize]));
                }
            }
            if first == last || self.duplicates[first].next == last {
                return None;
            }
            (first, last) = (self.duplicates[first].next, self.duplicates[last].before);
        }
    }

    /// Adds an entry to its key in order of age. O(younger duplicates).
    pub(super) fn add_in_order(
        &mut self,
        key: Key,
        queue: u64,
        entry: Entry,
        age: impl Fn(u64) -> u64,
    ) -> Result<(), Refused> {
        self.add(key, queue, entry)?;
        let Some(at) = self.find(key).0.filter(|&at| self.slot(at).has_many()) else { return Ok(()) };
        let head = self.slot(at).head();
        let mut block = self.duplicates[head].before;
        let mut place = self.duplicates[block].end - 1;
        loop {
            let (mut other, mut there) = (block, place.wrapping_sub(1));
            if place == self.duplicates[block].first {
                if block == head {
                    return Ok(());
                }
                other = self.duplicates[block].before;
                there = self.duplicates[other].end - 1;
            }
            let older = self.duplicates[other].entries[there as usize];
            if age(older.number) < age(entry.number) {
                return Ok(());
            }
            self.duplicates[block].entries[place as usize] = older;
            self.duplicates[other].entries[there as usize] = entry;
            (block, place) = (other, there);
        }
    }
}
