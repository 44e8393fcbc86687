//! `hybrid`: the default engine, designed for Matchpoint. Hash tables find every entry, with or without
//! wildcards, in a few steps.
//!
//! ```text
//!            a receive, a message                    what a wildcard class leaves of the key
//!          (context, source, tag)                        │                          │
//!                    │                                   ▼                          ▼
//!                    ▼                      wildcards   a table of posted     indexes   a table of unexpected
//!  table   a key has posted receives                    receives per class              messages per class, filled by
//!          or unexpected messages, never both                                           searches, in bounded steps
//!                                                                                   │ numbers
//!                                           log         unexpected messages in the order of arrival
//! ```
//!
//! * A receive and a message with the same key match, so a key has entries in one queue only. A lookup
//!   without a match has found the slot for the new entry. In the common case a call touches one cache line
//!   of the table (`table.rs`, `row.rs`).
//! * Duplicates are in a ring of blocks of 14 (`duplicates.rs`).
//! * Up to eight posted receives with wildcards are in a list. If there are more, each class of receives has
//!   a table. An arrival looks up its key in the table of each class, and takes the oldest receive
//!   (`wildcards.rs`).
//! * Unexpected messages are also in the log (`log.rs`). A wildcard search scans the log with SIMD. A search
//!   that scans more than 256 messages begins an index (`index.rs`). Arrivals and exact receives do not visit
//!   indexes.
//! * When a table grows or shrinks, each call moves a few slots.
//!
//! Invariants:
//!
//! * A *number* orders posted receives. The number of an unexpected message is the message's place in the
//!   log: block and lane. A place is reused when all messages of its block are taken. So only the *age*,
//!   stored in the block, orders messages.
//! * A mark is a number, a count of keys that passed the slot, and four flags. A mark of 0 is a free slot at
//!   which every search ends.
//! * While `gate` is 0, a slot decides every exact call: the table has one row, the log has room, no wildcard
//!   is posted, and no hint can refuse a call.
//! * Calls that add a key, and calls on the slow path that take a receive, move slots. Addresses of slots are
//!   valid within one call.
//! * An index has all messages with an age below the index's `end`. Ages are never reused, so an index stores
//!   no block.
//! * `posted` and `log.len` count the entries of both queues, receives with wildcards included.
//!
//! The hash function has random seeds, drawn once per process. A peer without knowledge of the seeds has no
//! known way to choose colliding keys.
//!
//! | call | cost |
//! |---|---|
//! | post or arrive, exact | O(1), plus O(1) for each of up to eight wildcard classes with posted receives |
//! | post or probe with a wildcard | O(1) when repeated, for up to four classes; at most a scan of the queued messages |
//! | cancel, retract, readdress | O(1); O(duplicates) in the middle of many duplicates |
//! | close, fail_source, hints | O(slots + entries log entries) |
//!
//! Memory per entry: 32 bytes divided by the load, which is 0.2 to 0.8 (0.02 to 0.2 below 8192 slots); 18
//! bytes for a duplicate; 17 bytes in the log (1,088 in a block with one message); 32 bytes divided by the
//! load in each index.
//!
//! | file | content |
//! |---|---|
//! | `exact.rs` | post and arrive, in the order of their cases |
//! | `key.rs` | keys, classes, patterns, outcomes, the hash function |
//! | `table.rs`, `growth.rs`, `row.rs`, `duplicates.rs` | the hash table |
//! | `log.rs`, `search.rs`, `index.rs` | unexpected messages for wildcard searches |
//! | `wildcards.rs` | posted receives with wildcards |
//! | `maintenance.rs` | removal of entries, memory checks, reservations, functions for `crate::maintenance` |

mod duplicates;
mod exact;
mod growth;
mod index;
mod key;
mod log;
mod maintenance;
mod row;
mod search;
mod table;
mod wildcards;

use std::any::Any;

use super::{Arguments, Built, Parameter, Spec};
use crate::effort::{Attempts, Effort};
use crate::engine::{Drained, Engine, Message, MsgId, Place, Queue, Readdressed, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Envelope, Pair, Rank, Selector, Tag};
use crate::footprint::Footprint;
use crate::hints::{HintTable, Hints};
use crate::scan::Kernel;
use growth::Retired;
use index::Indexes;
use key::{Class, Hashing, Key, Pattern};
use log::Log;
use row::{POSTED, UNEXPECTED};
use table::{At, Hashed, Table};
use wildcards::Wildcards;

pub(super) const SPEC: Spec = Spec {
    name: "hybrid",
    summary: "one hash table for both queues, and one for each wildcard class in use (ours, the default)",
    parameters: &[Parameter {
        key: "seed",
        default: "random",
        meaning: "key of the hash function: `random`, drawn once per process, or a number",
    }],
    variants: &["seed=0"],
    tight: &[],
    build,
};

fn build(arguments: &Arguments<'_>, counting: bool) -> Built {
    let is_random = arguments.get::<String>("seed")? == "random";
    let seeds = if is_random { Hashing::of_process() } else { Hashing::of_seed(arguments.get("seed")?) };
    Ok(if counting { Box::new(Hybrid::<Attempts>::new(seeds)) } else { Box::new(Hybrid::<()>::new(seeds)) })
}

/// Bits of [`Hybrid::gate`]. If `gate` is 0, a slot of the table decides every exact call. `gate` has one
/// byte: the compiler would write one byte of a longer word, and a load of the whole word would wait for that
/// store.
///
/// `HINTED`: a hint can refuse a call.
const HINTED: u8 = 1;
/// Receives with wildcards are posted.
const WILD: u8 = 2;
/// The log has no room for the next message.
const NO_ROOM: u8 = 4;
/// The table is not ready: it moves, or has no slots yet.
const MOVING: u8 = 8;

/// Bit that marks a [`Place`] as a hash. Slot offsets never have this bit.
const HASHED: u64 = 1;

/// Number of taken entries between two memory checks. A prime number, so that checks see each part of a
/// program's cycle.
const CHECK: u32 = 1021;

/// See the [module's documentation](self).
#[repr(C)]
pub struct Hybrid<E: Effort = ()> {
    gate: u8,
    /// The mark of the next posted receive.
    posts: u64,
    /// Counters of the memory check: takes until the next check (`until_check`), checks so far (`checks`),
    /// and the largest number of entries at a check (`most`).
    until_check: u32,
    checks: u32,
    /// The number of posted receives. `posted` is not next to `posts`: the compiler would load both fields
    /// with one load, which a processor cannot forward from two stores.
    posted: u64,
    most: usize,
    /// The number of entries for which memory is reserved, including the entries queued before the
    /// reservation; or 0.
    reserved: usize,
    table: Table,
    log: Log,
    wildcards: Wildcards,
    indexes: Indexes,
    retired: Retired,
    /// The last wildcard search of the log without a match: the pattern, and the age of the next message. Until
    /// this message arrives, another search for the pattern also fails.
    missed: (Pattern, u64),
    hints: HintTable,
    peak_bytes: u64,
    effort: E,
}

impl<E: Effort> Hybrid<E> {
    fn new(hashing: Hashing) -> Self {
        Hybrid {
            gate: MOVING | NO_ROOM,
            posts: POSTED,
            posted: 0,
            until_check: CHECK,
            checks: 0,
            missed: Default::default(),
            most: 0,
            reserved: 0,
            table: Table::new(hashing),
            log: Log::new(Kernel::fastest()),
            wildcards: Wildcards::new(hashing),
            indexes: Indexes::new(hashing),
            retired: Retired::default(),
            hints: HintTable::default(),
            peak_bytes: 0,
            effort: E::default(),
        }
    }

    /// The addresses of the numbers of posted receives and unexpected messages, for callers that read the
    /// numbers without a call.
    pub fn lengths(&self) -> [&u64; 2] {
        [&self.posted, &self.log.len]
    }

    /// Number of posted receives and unexpected messages.
    fn entries(&self) -> usize {
        self.posted_len() + self.unexpected_len()
    }

    /// A key and its hash. The place may contain the hash.
    fn hashed(&self, key: Key, place: Place) -> Hashed {
        (key, if place.0 & HASHED != 0 { place.0 } else { self.table.hashing.hash(key) })
    }

    /// Updates `gate` after calls that can move slots.
    fn set_gates(&mut self) {
        let gate = |bit, is_set| if is_set { bit } else { 0 };
        self.gate = gate(HINTED, self.hints.can_refuse())
            | gate(WILD, self.wildcards.len() > 0)
            | gate(NO_ROOM, !self.log.has_room())
            | gate(MOVING, !self.table.is_ready());
        if self.gate & MOVING != 0 {
            self.note_peak();
        }
    }

    /// Finds the message that a receive with this pattern takes.
    fn find_message(&mut self, pattern: &Pattern, is_taken: bool) -> Option<At> {
        if self.log.len() == 0 {
            return None;
        }
        let key = if pattern.class == Class::EXACT {
            pattern.key
        } else if let Some(number) = self.indexes.find(pattern, is_taken, &self.log, &mut self.effort) {
            self.log.key(number)
        } else {
            self.missed = (*pattern, self.log.next_age());
            return None;
        };
        let (at, compared) = self.table.find(key);
        self.effort.examined(Queue::Unexpected, compared);
        at.filter(|&at| self.table.row.slot(at).queue() == UNEXPECTED)
    }

    /// Takes the oldest message of the key in slot `at`, and returns the message's id.
    fn take_message(&mut self, at: At) -> u64 {
        let entry = self.table.pop(at);
        self.log.remove(entry.number);
        self.entry_left();
        entry.id
    }
}

impl<E: Effort> Engine for Hybrid<E> {
    fn post_exact(&mut self, id: RecvId, pair: Pair, tag: Tag) -> Result<Option<MsgId>, Refused> {
        self.post_words(id.0, pair, tag).map(MsgId)
    }

    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        self.queue_receive(id, selector, Place::default())
    }

    #[inline(always)]
    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        self.queue_message(id, pair, tag, Place::default())
    }

    fn take_receive(&mut self, pair: Pair, tag: Tag) -> Option<RecvId> {
        self.take_receive_words(pair, tag).taken().map(RecvId)
    }

    #[inline(always)]
    fn queue_message(
        &mut self,
        id: MsgId,
        pair: Pair,
        tag: Tag,
        place: Place,
    ) -> Result<Option<RecvId>, Refused> {
        self.arrive_words(id.0, pair, tag, place).map(RecvId)
    }

    fn queue_receive(
        &mut self,
        id: RecvId,
        selector: &Selector,
        place: Place,
    ) -> Result<Option<MsgId>, Refused> {
        self.post_open_words(id.0, selector, place).map(MsgId)
    }

    fn place(&self, pair: Pair, tag: Tag) -> Place {
        Place(self.table.hashing.hash(Key::new(pair, tag)) | HASHED)
    }

    fn reserve(&mut self, entries: usize) -> Result<(), Refused> {
        self.reserved = 0;
        let reserved = if entries == 0 { Ok(()) } else { self.reserve_memory(entries) };
        self.set_gates();
        reserved
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        let pattern = Pattern::of(selector);
        if self.gate & (MOVING | HINTED) == 0 && pattern.class == Class::EXACT {
            let home = self.table.row.home(self.table.hashing.hash(pattern.key));
            if self.table.row.slot(home).mark == 0 {
                return None;
            }
        }
        let at = self.find_admitted(selector, false)?;
        Some(MsgId(self.table.first(at).entry.id))
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.matched_probe_words(selector).taken().map(MsgId)
    }

    crate::maintenance::provided!(visit attempts);

    fn cancel(&mut self, receive: &Receive) -> bool {
        let pattern = Pattern::of(&receive.selector);
        if self.gate & MOVING == 0 && pattern.class == Class::EXACT {
            let slot = self.table.row.slot_mut(self.table.row.home(self.table.hashing.hash(pattern.key)));
            if slot.id == receive.id.0 && slot.has_one(pattern.key, POSTED) {
                slot.clear();
                self.posted -= 1;
                self.entry_left();
                return true;
            }
        }
        self.cancel_slowly(receive.id.0, &pattern)
    }

    fn retract(&mut self, message: &Message) -> bool {
        self.entry_left();
        self.remove_message(Key::of(&message.envelope), |entry| entry.id == message.id.0)
    }

    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        if message.envelope.source != Rank::UNKNOWN || source == Rank::UNKNOWN {
            return Ok(Readdressed::Unchanged);
        }
        let old = Key::of(&message.envelope);
        let found = self.table.search(old, UNEXPECTED, |entry| entry.id == message.id.0);
        let Some(entry) = found.map(|found| found.entry) else { return Ok(Readdressed::Unchanged) };
        let key = Key::of(&Envelope { source, ..message.envelope });
        // Attempts of this search do not count: only post, arrive and probe count attempts.
        let effort = std::mem::take(&mut self.effort);
        let taken = self.take_for(key);
        self.effort = effort;
        let Some(receive) = taken else {
            self.change_key(old, key, entry)?;
            return Ok(Readdressed::SourceSet);
        };
        self.remove_message(old, |other| other.number == entry.number);
        Ok(Readdressed::Matched(RecvId(receive)))
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        crate::maintenance::fail_source(self, context, source, drained);
        self.release();
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        let set = crate::maintenance::set_hints(self, context, hints);
        self.set_gates();
        set
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        crate::maintenance::close(self, context, drained);
        self.release();
    }

    fn posted_len(&self) -> usize {
        self.posted as usize
    }

    fn unexpected_len(&self) -> usize {
        self.log.len()
    }

    fn footprint(&self) -> Footprint {
        let fixed_bytes = size_of::<Self>() as u64 + self.hints.bytes();
        let entries_bytes = self.table.bytes()
            + self.log.bytes()
            + self.wildcards.bytes()
            + self.indexes.bytes()
            + self.retired.bytes();
        let peak_bytes = self.peak_bytes.max(fixed_bytes + entries_bytes);
        Footprint { fixed_bytes, peers_bytes: 0, entries_bytes, peak_bytes }
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("slots", self.table.row.len() as f64),
            ("wildcard_classes", self.wildcards.classes() as f64),
            ("unexpected_indexes", self.indexes.all.len() as f64),
        ]
    }
}
