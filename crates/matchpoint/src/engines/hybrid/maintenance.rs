//! Removal of entries, memory checks and reservations, and the functions that [`maintenance`](crate::maintenance) requires.

use super::growth::Retired;
use super::index::Indexes;
use super::key::{Class, Entry, Key, Pattern};
use super::row::{POSTED, UNEXPECTED};
use super::table::Table;
use super::wildcards::Wildcards;
use super::{CHECK, Hybrid};
use crate::effort::Effort;
use crate::engine::{Engine, Message, MsgId, Receive, RecvId, Refused};
use crate::envelope::{Envelope, Pair, Selector, Tag};
use crate::hints::HintTable;
use crate::maintenance::Queues;

/// Minimum number of checks of a table before the table shrinks.
const CHECKS: usize = 16;

impl<E: Effort> Hybrid<E> {
    /// Updates the countdown to the next memory check after a call took an entry.
    pub(super) fn entry_left(&mut self) {
        self.until_check -= 1;
        if self.until_check == 0 {
            self.give_back();
        }
    }

    /// Checks the number of entries. After as many takes as an eighth of the slots, this call frees the
    /// memory that the largest number of entries at a check does not need.
    #[cold]
    pub(super) fn give_back(&mut self) {
        self.until_check = CHECK;
        self.checks += 1;
        self.most = self.most.max(self.entries()).max(self.reserved);
        self.note_peak();
        self.retired.free_some();
        if self.checks as usize >= CHECKS.max(self.table.row.len() / 8 / CHECK as usize) {
            self.shrink(self.most);
            self.indexes.shrink(self.log.len(), &mut self.retired);
            (self.checks, self.most) = (0, 0);
        }
        self.set_gates();
    }

    /// Begins to free memory that `entries` entries do not need.
    fn shrink(&mut self, entries: usize) {
        self.table.shrink(entries);
        self.wildcards.shrink(entries, &mut self.retired);
        self.log.shrink(entries);
        if self.reserved == 0 {
            self.table.duplicates.shrink(entries);
        }
    }

    /// Records the peak memory of the engine, before the engine frees memory.
    pub(super) fn note_peak(&mut self) {
        self.peak_bytes = self.footprint().peak_bytes;
    }

    /// Replaces the key of a queued message, and keeps the age of the message.
    pub(super) fn change_key(&mut self, old: Key, new: Key, entry: Entry) -> Result<(), Refused> {
        let len = self.entries();
        let added = self.table.add_in_order(new, UNEXPECTED, entry, len, |number| self.log.age(number));
        self.set_gates();
        added?;
        self.table.take(old, UNEXPECTED, |other| other.number == entry.number);
        self.log.set_key(entry.number, new);
        self.missed = Default::default();
        self.indexes.source_changed();
        Ok(())
    }

    /// Removes the receive with a pattern that `is_it` accepts.
    pub(super) fn remove_receive(&mut self, pattern: &Pattern, is_it: impl Fn(Entry) -> bool) -> bool {
        let was_there = if pattern.class == Class::EXACT {
            self.table.take(pattern.key, POSTED, is_it).is_some()
        } else {
            self.wildcards.remove(pattern, is_it)
        };
        self.posted -= u64::from(was_there);
        was_there
    }

    /// Removes the message with a key that `is_it` accepts.
    pub(super) fn remove_message(&mut self, key: Key, is_it: impl Fn(Entry) -> bool) -> bool {
        let Some(entry) = self.table.take(key, UNEXPECTED, is_it) else { return false };
        self.log.remove(entry.number);
        true
    }

    /// Frees memory after many entries were removed. Without queued entries and reservations, the call frees
    /// all memory at once; else later calls free memory in steps.
    pub(super) fn release(&mut self) {
        self.note_peak();
        let entries = self.entries().max(self.reserved);
        if entries == 0 {
            let hashing = self.table.hashing;
            (self.table, self.wildcards) = (Table::new(hashing), Wildcards::new(hashing));
            (self.indexes, self.retired) = (Indexes::new(hashing), Retired::default());
            self.log.release();
        } else {
            self.shrink(entries);
        }
        self.set_gates();
    }

    /// Reserves memory for `entries` more entries.
    pub(super) fn reserve_memory(&mut self, entries: usize) -> Result<(), Refused> {
        let keys = self.entries() + entries.min(1 << 30);
        self.wildcards.reserve(entries)?;
        self.log.reserve(entries)?;
        self.table.reserve(keys)?;
        // Each queued key may need a block for one more entry. A new key needs a block only with its second
        // entry.
        self.table.duplicates.reserve(entries / 2 + entries.min(self.entries()) / 2 + 1)?;
        self.reserved = keys;
        Ok(())
    }
}

impl<E: Effort> Queues for Hybrid<E> {
    type Posted = (Pattern, Entry);
    type Unexpected = (Key, Entry);

    fn posted_positions(&self) -> impl Iterator<Item = (u64, Self::Posted)> {
        let exact = self.table.iter(POSTED).map(|(key, entry)| (Pattern { key, class: Class::EXACT }, entry));
        exact.chain(self.wildcards.iter()).map(|posted| (posted.1.number, posted))
    }

    fn unexpected_positions(&self) -> impl Iterator<Item = (u64, Self::Unexpected)> {
        self.table.iter(UNEXPECTED).map(|unexpected| (self.log.age(unexpected.1.number), unexpected))
    }

    fn receive(&self, (pattern, entry): Self::Posted) -> Receive {
        let Pattern { key: Key { pair, tag }, class } = pattern;
        Receive::new(RecvId(entry.id), Selector::of(Pair(pair), tag, class.ignore))
    }

    fn message(&self, (key, entry): Self::Unexpected) -> Message {
        Message::new(MsgId(entry.id), Envelope::of(Pair(key.pair), Tag(key.tag)))
    }

    fn take_posted(&mut self, (pattern, entry): Self::Posted) {
        self.remove_receive(&pattern, |other| other.number == entry.number);
    }

    fn take_unexpected(&mut self, (key, entry): Self::Unexpected) {
        self.remove_message(key, |other| other.number == entry.number);
    }

    fn set_envelope(&mut self, (key, entry): Self::Unexpected, named: Envelope) -> Result<(), Refused> {
        self.change_key(key, Key::of(&named), entry)
    }

    fn hints(&mut self) -> &mut HintTable {
        &mut self.hints
    }
}
