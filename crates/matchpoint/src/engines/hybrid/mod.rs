//! `hybrid`: ours. Everything is found by hashing, wildcards too, and whatever has to grow grows a little with each call.
//!
//! ```text
//!                    (context, source, tag)                what a class of wildcards keeps of that
//!                              │                                  │                     │
//!                              ▼                                  ▼                     ▼
//!  table    one slot holds a receive or a         classes  receives posted    |  index of messages
//!           message, never both                            (any source)       |  (made by searches)
//!                              ▲                           (any tag)          |         │
//!                              │ what a line finds         (tag ~ mask, …)    |         │ what an entry finds
//!  log      one line for each message, in the order of arrival ◀── indexed from the oldest on ──┘
//!  ids      entries by name, begun by the first cancels
//! ```
//!
//! * **Short queues are lists** (`short.rs`, `front.rs`, `listed.rs`): of four entries; of 16 where equal ones are usual; of 32 at first, and
//!   while receives leave something open or are cancelled. All that is queued is either there or in the tables.
//! * **One table for both queues** (`table.rs`). A receive and a message of one key match, so a key has entries in one
//!   queue at most: the lookup that finds nothing to take has found the place to wait. Mostly the first entry of a key
//!   lies in its slot, 32 bytes, and a call touches one cache line.
//! * **Equal entries** behind the first lie in blocks (`equals.rs`), and who meets those of one key again is led there by a
//!   note, without a hash (`again.rs`).
//! * **Receives that leave something open** (`class.rs`) are in a table of their class: what is ignored, the source or
//!   not, and which bits of the tag. An arrival looks once at each class that has receives posted, and takes the oldest
//!   of what it finds. A program without wildcards has no class. From the third tag mask on they share one (`sharing.rs`),
//!   under what none of them ignores, and each receive is compared with the few messages that this finds.
//! * **A search for messages by a wildcard** (`index.rs`, `search.rs`, `lookup.rs`) compares the first few that wait one by one.
//!   One that has to look further gives its class an index, filled from the log of arrivals (`log.rs`, `held.rs`) from the oldest
//!   on and only as far as the search has to go; one that has to go very far reads all that waits in the order of memory
//!   instead, and indexes are filled from what it writes down (`ahead.rs`). Only searches look at indexes: to an arrival, and
//!   to a receive that leaves nothing open, they cost nothing. What an index or the log remembers of a message that was taken no longer finds it.
//!   Where more than four classes have one, there is a copy of what waits (`roll.rs`) that they are filled from, and that
//!   serves, compared by SIMD, those for which one more would take too much memory or not be worth it.
//! * **Nothing that grows pauses.** Tables are divided a few buckets at a time, the log is swept four lines at a time, an
//!   index that holds too many of the dead is made anew beside the old one, names are noted a few with each call
//!   (`ids.rs`, `notes.rs`, `passage.rs`), and what is of no use any more is given back a few chunks with each
//!   (`grave.rs`). What remains are single calls that read all that is there as fast as memory gives it: a search by a
//!   wildcard whose index is far behind (`ahead.rs`), once, or eight times where few of those that came still wait, or the kind
//!   has no index; and the first nine cancels in a row, which look through what has not been noted
//!   yet (64 MB are read for a million, and 24 more where these are under masks that share).
//!
//! Hashing is keyed by numbers drawn once per process, so that no peer can make keys collide (`seed=N` fixes them). As
//! published indexes go it is nearest to the four tables of the optimistic paper (§III), which index receives by the
//! wildcards they use; Denis, "Scalability of the NewMadeleine communication library" (2019), claims constant time with
//! wildcards too.
//!
//! Post and arrive are O(1 + classes that have receives), whatever the number of entries, sources, equals and wildcards,
//! each message being indexed once more for each class that searches past it. Masks that share count as one class,
//! whatever their number, unless they have no part of the tag in common: what meets more than eight others under one
//! key is in the class of its own mask. Eight classes have an index in any case, at most 64 as long as 64 messages wait for
//! each and all of them take less than 4 MiB, or 640 bytes a message if that is more. Where more take turns, those that have none
//! compare keys of the copy, up to sixteen at once. Cancel, retract and readdress are O(1) once all entries are noted by
//! name, and O(slots and receives under masks that share) for nine of them before that, or where they are so rare that this
//! costs less (`looks.rs`); a message readdressed out of the order of arrival steps past those that are younger than it
//! under its new name, and, under what an index keeps of that, past the older unless it comes before or
//! behind all. Close, hints and failures visit all slots, unless nothing is queued in that context (`contexts.rs`): then they
//! are O(1). Tables that they find nearly empty become smaller.
//! Memory: 32 bytes for a slot (an eighth of them in use while there are few, at most 5/8 when there are many), 64 for a
//! key that finds its slot and those of three neighbours taken or has several entries, 128 for seven of these beyond the
//! first, 4 for a message's line in the log (8 where a sweep has left few), 24 for a receive under one of many masks; and
//! per index 16 for each of the messages it has, 12 where others are equal in what it keeps of them, 4 for those it is to take
//! over; 28 for the copy. 2.6 KB for short
//! queues of more than one. Before its first entry it holds nothing but itself;
//! once a context is closed and nothing is queued, memory is given back a little with each call.
//!
//! Where it loses: a key that shares its slot takes half as long again as one that does not; equal entries take longer
//! than in a list, which they are; a search by wildcard takes a third longer than a vector scan of as many as fit in one.

mod again;
mod ahead;
mod arrive;
mod backoff;
mod chunk;
mod class;
mod contexts;
mod entry;
mod equals;
mod extend;
mod found;
mod front;
mod grave;
mod growth;
mod held;
mod ids;
mod index;
mod key;
mod listed;
mod log;
mod looks;
mod lookup;
mod notes;
mod passage;
mod pool;
mod post;
mod queues;
mod records;
mod roll;
mod search;
mod sharing;
mod short;
mod slots;
#[cfg(test)]
mod streams;
mod table;

use super::{Arguments, Built, Parameter, Spec};
use crate::effort::{Attempts, Effort};
use crate::engine::{Drained, Engine, Entry, Message, MsgId, Queue, Readdressed, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Rank, Selector};
use crate::footprint::Footprint;
use crate::hints::{HintTable, Hints};
use crate::scan::Kernel;
use crate::upkeep;
use backoff::Backoff;
use class::Classes;
use contexts::Contexts;
use entry::Kind;
use front::Front;
use grave::{Dropped, Graves};
use held::Unexpected;
use ids::Ids;
use index::Indexes;
use key::Hashing;
use log::Log;
use looks::Looks;
use table::Table;

pub(super) const SPEC: Spec = Spec {
    name: "hybrid",
    summary: "short queues are lists; one hash table for both, an index for each kind of wildcard in use (ours, the default)",
    parameters: &[
        Parameter {
            key: "seed",
            default: "random",
            meaning: "key of the hash function: `random`, drawn once per process, or a number",
        },
        Parameter {
            key: "short",
            default: "32",
            meaning: "entries of a queue that is searched as a list while receives leave something open or are cancelled, up to \
                      16 of them where equal ones are usual, and 4 else; 0 to 32",
        },
    ],
    // Streams of events rarely fill the lists, or fill them again and again.
    variants: &["seed=0", "short=0", "short=3"],
    tight: &[],
    build,
};

fn build(arguments: &Arguments<'_>, counting: bool) -> Built {
    let seed: String = arguments.get("seed")?;
    let hashing = match &*seed {
        "random" => Hashing::of_process(),
        _ => Hashing::of_seed(arguments.get("seed")?),
    };
    let short: u32 = arguments.get("short")?;
    if short > short::PLACES as u32 {
        return Err(arguments.invalid("short", &short.to_string(), "a number from 0 to 32"));
    }
    let kernel = Kernel::fastest();
    Ok(if counting {
        Box::new(Hybrid::<Attempts>::new(hashing, short, kernel))
    } else {
        Box::new(Hybrid::<()>::new(hashing, short, kernel))
    })
}

/// Unexpected messages that are compared one by one with a receive that leaves something open, before it makes an index;
/// and lines of the log, dead or alive, for each of them.
const FEW: usize = 16;
const FEW_LINES: usize = 8;

/// The number of the first message.
const FIRST_ARRIVAL: u64 = 2;

/// Bytes that are not worth giving back when a context is closed.
const KEPT_BYTES: u64 = 64 << 10;

/// Bits of [`Hybrid::gate`]: what stands in the way of the first look.
const HINTED: u32 = 1;
/// Tables grow, or entries are known by name.
const BUSY: u32 = 2;
/// Receives that leave something open are posted.
const WILD: u32 = 4;
/// There is a log to sweep.
const SWEEPING: u32 = 8;
/// All that is queued is in the [`Front`].
const SHORT: u32 = 16;
/// The last two calls met equal entries of one key: mostly the next does, too.
const EQUAL: u32 = 32;
/// Those that concern a post.
const TO_POST: u32 = HINTED | BUSY | SHORT | EQUAL;

/// See the [module's documentation](self).
pub struct Hybrid<E: Effort = ()> {
    front: Front,
    table: Table,
    hashing: Hashing,
    /// Zero when the first look at a slot may decide everything.
    gate: u32,
    /// What comes into the gate when the last entry has left the [`Front`]: nobody looks after names before.
    after_short: u32,
    /// The numbers of the next receive and of the next message queued: odd and even, so that no two entries share one.
    posts: u64,
    arrivals: u64,
    log: Log,
    hints: HintTable,
    contexts: Contexts,
    classes: Classes,
    indexes: Indexes,
    /// No message older than this waits.
    oldest: u64,
    /// Whether a message was given another source since the log was empty.
    renamed: bool,
    looks: Looks,
    receives: Option<Ids>,
    messages: Option<Ids>,
    grave: Graves,
    /// Which give nothing back.
    closings: Backoff,
    peak_bytes: u64,
    effort: E,
}

impl<E: Effort> Hybrid<E> {
    fn new(hashing: Hashing, short: u32, kernel: Kernel) -> Self {
        Hybrid {
            front: Front::of(short),
            table: Table::default(),
            hashing,
            gate: 0,
            after_short: 0,
            posts: 1,
            arrivals: FIRST_ARRIVAL,
            log: Log::from(FIRST_ARRIVAL),
            hints: HintTable::default(),
            contexts: Contexts::default(),
            classes: Classes::default(),
            indexes: Indexes::of(kernel),
            oldest: 0,
            renamed: false,
            looks: Looks::default(),
            receives: None,
            messages: None,
            grave: Graves::default(),
            closings: Backoff::default(),
            peak_bytes: 0,
            effort: E::default(),
        }
    }

    fn unexpected(&self) -> Unexpected<'_> {
        Unexpected {
            table: &self.table,
            log: &self.log,
            hashing: &self.hashing,
            clock: self.arrivals,
            renamed: self.renamed,
        }
    }

    /// Says what calls have to look at beside a slot.
    fn set_gate(&mut self) {
        let is_naming = self.receives.is_some() || self.messages.is_some();
        self.after_short = if is_naming { BUSY } else { 0 };
        let is_busy = is_naming && self.front.is_empty() || self.is_tended();
        let bits = [
            (self.hints.bytes() > 0, HINTED),
            (is_busy, BUSY),
            (self.classes.posted > 0, WILD),
            (self.log.is_sweeping(), SWEEPING),
            (!self.front.is_empty(), SHORT),
        ];
        self.gate = bits.iter().fold(0, |gate, &(is_set, bit)| if is_set { gate | bit } else { gate });
    }

    /// Whether there is such work for calls that find no entry in the tables, too.
    fn is_tended(&self) -> bool {
        self.table.is_growing() || self.classes.is_growing() || self.is_dropping()
    }

    /// A little of the work that must not be done at once.
    fn tend(&mut self) {
        self.name_some();
        let Self { receives, messages, table, classes, hashing, .. } = self;
        let is_held =
            |number: usize| [&*receives, &*messages].into_iter().flatten().any(|ids| ids.holds(number));
        if !is_held(0) {
            table.tend(hashing);
        }
        classes.tend(hashing, |class| is_held(1 + class as usize));
        if self.is_dropping() {
            self.note_peak();
            self.indexes.tend();
            self.grave.tend();
        }
        self.sweep();
    }

    /// Whether something is given back a little with each call.
    fn is_dropping(&self) -> bool {
        self.indexes.is_dropping() || !self.grave.is_empty()
    }

    /// Looks at a few lines of the log, if some wait for that.
    fn sweep(&mut self) {
        if self.log.is_sweeping() {
            let Self { log, table, hashing, .. } = self;
            log.tend(|seq, entry| table.resolve(entry, seq, hashing).is_some());
        } else {
            self.gate &= !SWEEPING;
        }
    }

    /// Remembers what is held, before some of it is given back.
    fn note_peak(&mut self) {
        self.peak_bytes = self.footprint().peak_bytes;
    }

    /// Gives back what was held for entries, if there are none: less and less often where as much is always needed again.
    fn release(&mut self) {
        let held_bytes = self.entries_bytes() - self.grave.bytes() - self.indexes.buried_bytes();
        if self.posted_len() + self.unexpected_len() > 0 {
            return;
        }
        if held_bytes < KEPT_BYTES {
            self.closings.halve();
        } else if !self.closings.leave() {
            self.closings.double();
            self.forget_tables();
            self.front.give_back();
        }
    }

    /// Gives back what the tables hold, a little with each call.
    fn forget_tables(&mut self) {
        self.note_peak();
        self.grave.tables.bury(std::mem::take(&mut self.table));
        self.grave.classes.bury(std::mem::take(&mut self.classes));
        self.grave.logs.bury(std::mem::replace(&mut self.log, Log::from(self.arrivals)));
        self.forget_all_names();
        self.indexes.forget();
        self.contexts = Contexts::default();
    }

    fn forget_all_names(&mut self) {
        for names in [self.receives.take(), self.messages.take()] {
            self.forget_names(names);
        }
    }

    /// No message waits.
    fn forget_arrivals(&mut self) {
        self.log.clear(self.arrivals);
        self.indexes.settle();
        self.oldest = self.arrivals;
        self.renamed = false;
    }
}

impl<E: Effort> Engine for Hybrid<E> {
    fn post(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        match self.gate & TO_POST {
            0 => self.post_plain(&receive),
            SHORT => match self.take_only_message(&receive) {
                Some(message) => Ok(Some(message)),
                None => self.post_short(&receive),
            },
            EQUAL => self.post_again(&receive),
            _ => self.post_gated(&receive),
        }
    }

    fn arrive(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
        if self.gate == 0 {
            return self.arrive_plain(&message);
        }
        if self.gate == SHORT {
            if let Some(receive) = self.take_only(&message.envelope) {
                return Ok(Some(receive));
            }
        }
        match self.gate {
            EQUAL => self.arrive_again(&message),
            gate if gate & SHORT != 0 => self.arrive_short(&message),
            _ => self.arrive_gated(&message),
        }
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.hints.admit(selector).ok()?;
        if self.gate & SHORT != 0 {
            return self.find_short(selector).map(|(_, id)| id);
        }
        let found = self.find_unexpected(selector, false);
        found.map(|found| MsgId(self.table.entry(found).id))
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.hints.admit(selector).ok()?;
        if self.gate & SHORT != 0 {
            let (place, id) = self.find_short(selector)?;
            self.take_short(place);
            return Some(id);
        }
        self.find_unexpected(selector, true).map(|found| self.take_message(found))
    }

    fn cancel(&mut self, receive: &Receive) -> bool {
        if self.posted_len() == 0 {
            return false;
        }
        let is_short = self.gate & SHORT != 0;
        let cancelled = if is_short { self.front.cancel(receive.id) } else { self.cancel_named(receive.id) };
        self.set_gate();
        cancelled
    }

    fn retract(&mut self, message: &Message) -> bool {
        if self.unexpected_len() == 0 {
            return false;
        }
        let is_short = self.gate & SHORT != 0;
        let retracted =
            if is_short { self.front.retract(message.id) } else { self.retract_named(message.id) };
        self.set_gate();
        retracted
    }

    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        if self.unexpected_len() == 0 || message.envelope.source != Rank::UNKNOWN {
            return Ok(Readdressed::NotNameless);
        }
        let is_short = self.gate & SHORT != 0;
        let readdressed = if is_short {
            self.front.readdress(message.id, source)
        } else {
            self.readdress_named(message.id, source)
        };
        self.set_gate();
        readdressed
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        let set = if self.contexts.is_idle(context) {
            self.front.admits(context, hints).and_then(|()| self.hints.set(context, hints))
        } else {
            let set = upkeep::set_hints(self, context, hints);
            self.shrink();
            set
        };
        self.set_gate();
        set
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        if self.gate & BUSY != 0 {
            self.tend();
        }
        if self.contexts.is_idle(context) {
            self.front.drain(context, drained);
            self.hints.forget(context);
        } else {
            self.drain(context, drained);
            self.shrink();
        }
        self.release();
        self.set_gate();
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        if self.contexts.is_idle(context) {
            self.front.fail_source(context, source, drained);
        } else {
            upkeep::fail_source(self, context, source, drained);
            self.shrink();
        }
        self.set_gate();
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        if self.front.is_empty() { upkeep::visit(self, queue, each) } else { self.front.visit(queue, each) }
    }

    fn queued_in(&self, context: ContextId) -> (usize, usize) {
        if self.contexts.is_idle(context) { self.front.count_in(context) } else { self.count_in(context) }
    }

    fn posted_len(&self) -> usize {
        self.table.count(Kind::Posted) + self.classes.posted + self.front.posted_len()
    }

    fn unexpected_len(&self) -> usize {
        self.table.count(Kind::Waiting) + self.front.unexpected_len()
    }

    fn footprint(&self) -> Footprint {
        let fixed_bytes = size_of::<Self>() as u64 + self.hints.bytes();
        let entries_bytes = self.entries_bytes();
        let dropped_bytes = self.indexes.dropped_bytes() + self.classes.dropped_bytes();
        let peak_bytes = self.peak_bytes.max(fixed_bytes + entries_bytes + dropped_bytes);
        Footprint { fixed_bytes, peers_bytes: 0, entries_bytes, peak_bytes }
    }

    fn attempts(&self) -> Attempts {
        self.effort.attempts()
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("buckets", self.table.slots.len() as f64),
            ("wildcard_classes", self.classes.used() as f64),
            ("unexpected_indexes", self.indexes.len() as f64),
            ("index_bytes", self.indexes.bytes() as f64),
            ("unexpected_copied", self.indexes.copied() as f64),
            ("hashes_to_index", self.indexes.ahead() as f64),
            ("log_bytes", self.log.bytes() as f64),
        ]
    }
}
