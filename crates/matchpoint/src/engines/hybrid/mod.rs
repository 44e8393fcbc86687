//! `hybrid`: ours. Everything is found by hashing, wildcards too, and whatever has to grow grows a little with each call.
//!
//! ```text
//!                    (context, source, tag)                what a class of wildcards keeps of that
//!                              │                                  │                     │
//!                              ▼                                  ▼                     ▼
//!  table    one bucket, one cache line, holds      classes  receives posted   |  index of messages
//!           a receive or a message, never both              (any source)      |  (made when first searched)
//!                              ▲                            (any tag)         |        │
//!                              │ what a line finds          (tag ~ mask, …)   |        │ what an entry finds
//!  log      one line for each message, in the order of arrival ◀── indexed from the oldest on ──┘
//!  ids      entries by name, made by the first cancel
//! ```
//!
//! * **One table for both queues** (`table.rs`). A receive and a message of one key match, so a key has entries in one
//!   queue at most: the lookup that finds nothing to take has found the place to wait. Mostly the first entry of a key
//!   lies in its slot, 32 bytes, and a call touches one cache line.
//! * **Receives that leave something open** (`class.rs`) are in a table of their class: what is ignored, the source or
//!   not, and which bits of the tag. An arrival looks once at each class that has receives posted, and takes the oldest
//!   of what it finds. A program without wildcards has no class.
//! * **A search for messages by a wildcard** goes through the few that wait one by one; where there are more, the
//!   class gets an index, filled from the log of arrivals (`log.rs`) from the oldest on and only as far as the search has to
//!   go. It is kept up with each arrival afterwards, and dropped when it was of no use for long. Taking a message does
//!   not look for it in indexes: what an index or the log remembers of it no longer finds it.
//! * **Nothing pauses.** Tables are moved four buckets at a time, the log is swept four lines at a time, an index
//!   that holds too many of the dead is made anew beside the old one. What remains are single calls: the first search
//!   by a wildcard that matches none of very many messages, and the first cancel, have to look at all of them once.
//!
//! Hashing is keyed by numbers drawn once per process, so that no peer can make keys collide (`seed=N` fixes them). As
//! published indexes go it is nearest to the four tables of the optimistic paper (§III), which index receives by the
//! wildcards they use; Denis, "Scalability of the NewMadeleine communication library" (2019), claims constant time with
//! wildcards too.
//!
//! Post and arrive are O(1 + classes in use), whatever the number of entries, sources, equals and wildcards. Cancel,
//! retract and readdress are O(1) after the first of them, which is O(entries); a message readdressed steps past those
//! of its new name that are younger than it. Close and the like visit everything. Memory: 32 bytes for a slot (at most
//! 5/8 of them in use, a quarter while there are few), 56 for a key that shares its slot or has several entries, 32 for
//! each entry of it beyond the first, 12 for a message's line in the log; and per class, of what it indexes, the same
//! again but for the line. Idle it holds nothing but itself.
//!
//! Where it loses: keys that share a slot take twice the time of those that do not; equal entries three times that of
//! a list, which they are; and an index costs each arrival as much as the arrival itself.

mod class;
mod entry;
mod ids;
mod key;
mod log;
mod pool;
mod queues;
mod table;

use super::{Arguments, Built, Parameter, Spec};
use crate::effort::{Attempts, Effort};
use crate::engine::{Drained, Engine, Entry, Message, MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Rank, Selector};
use crate::footprint::Footprint;
use crate::hints::{HintTable, Hints};
use crate::upkeep;
use class::{Class, Openness, Unexpected};
use entry::{At, Head, Kind, Ref, Slot};
use ids::{Ids, MAIN, Named};
use key::{Hashing, Key, Spot};
use log::Log;
use table::{Found, Met, Table};

pub(super) const SPEC: Spec = Spec {
    name: "hybrid",
    summary: "one hash table for both queues, an index for each kind of wildcard in use (ours)",
    parameters: &[Parameter {
        key: "seed",
        default: "random",
        meaning: "key of the hash function: `random`, drawn once per process, or a number",
    }],
    build,
};

fn build(arguments: &Arguments<'_>, counting: bool) -> Built {
    let seed: String = arguments.get("seed")?;
    let hashing = match &*seed {
        "random" => Hashing::of_process(),
        _ => Hashing::of_seed(arguments.get("seed")?),
    };
    Ok(if counting {
        Box::new(Hybrid::<Attempts>::new(hashing))
    } else {
        Box::new(Hybrid::<()>::new(hashing))
    })
}

/// Unexpected messages that are searched one by one for a receive that leaves something open, rather than indexed:
/// so many alive, and so many lines of the log.
const FEW: usize = 8;
const FEW_LINES: usize = 64;

/// Bits of [`Hybrid::gate`]: what stands in the way of the first look.
const HINTED: u32 = 1;
/// Tables grow, or entries are known by name.
const BUSY: u32 = 2;
/// Receives that leave something open are posted.
const WILD: u32 = 4;
/// An arrival is to be told to an index, or has a log to sweep.
const INDEXED: u32 = 8;
/// Those that concern a post.
const TO_POST: u32 = HINTED | BUSY;

/// See the [module's documentation](self).
pub struct Hybrid<E: Effort = ()> {
    table: Table,
    hashing: Hashing,
    /// Zero when the first look at a slot may decide everything.
    gate: u32,
    /// The numbers of the next receive and of the next message queued: odd and even, so that no two entries share one.
    posts: u64,
    arrivals: u64,
    log: Log,
    hints: HintTable,
    classes: Vec<Class>,
    /// Receives posted in all classes.
    wild: usize,
    /// No message older than this waits.
    oldest: u64,
    /// Whether a message was given another source since the log was empty.
    renamed: bool,
    receives: Option<Ids>,
    messages: Option<Ids>,
    peak_bytes: u64,
    effort: E,
}

impl<E: Effort> Hybrid<E> {
    fn new(hashing: Hashing) -> Self {
        Hybrid {
            table: Table::default(),
            hashing,
            gate: 0,
            posts: 1,
            arrivals: 2,
            log: Log::default(),
            hints: HintTable::default(),
            classes: Vec::new(),
            wild: 0,
            oldest: 0,
            renamed: false,
            receives: None,
            messages: None,
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
        let is_growing =
            self.table.is_growing() || self.classes.iter().any(|class| class.posted.is_growing());
        let is_busy = is_growing || self.receives.is_some() || self.messages.is_some();
        let indexed = self.classes.iter().any(|class| class.index.is_some());
        let is_indexed = indexed || self.log.is_sweeping() || self.renamed;
        self.gate =
            [(self.hints.bytes() > 0, HINTED), (is_busy, BUSY), (self.wild > 0, WILD), (is_indexed, INDEXED)]
                .iter()
                .fold(0, |gate, &(is_set, bit)| if is_set { gate | bit } else { gate });
    }

    /// A little of the work that must not be done at once.
    fn tend(&mut self) {
        self.table.tend(&self.hashing);
        for class in &mut self.classes {
            class.posted.tend(&self.hashing);
        }
        if self.log.is_sweeping() {
            let Self { log, table, hashing, .. } = self;
            log.tend(|seq, entry| table.resolve(entry, seq, hashing).is_some());
        }
    }

    /// A post to which nothing but its slot matters, unless it leaves something open.
    #[inline(always)]
    fn post_plain(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        let Some(envelope) = receive.selector.exact() else { return self.post_general(receive) };
        if envelope.source.0 >> 32 != 0 {
            return self.post_general(receive);
        }
        let pair = u64::from(envelope.context.0) << 32 | envelope.source.0;
        let tag = envelope.tag.0;
        let hash = self.hashing.narrow(pair, tag);
        let index = (hash >> self.table.shift) as usize ^ (tag & 3) as usize;
        let Some(slot) = self.table.slots.get_mut(index) else { return self.post_general(receive) };
        if slot.is_empty() {
            *slot = Slot { tag, pair, id: receive.id.0, mark: self.posts << 2 | Kind::Posted as u64 };
            self.posts += 2;
            self.table.counts += Kind::Posted.unit();
            return Ok(None);
        }
        if slot.tag != tag || slot.pair != pair || !slot.holds(Kind::Waiting) {
            return self.post_second(index, pair, tag, hash, receive.id);
        }
        slot.mark = 0;
        self.effort.examined(Queue::Unexpected, 1);
        self.table.counts -= Kind::Waiting.unit();
        Ok(Some(MsgId(slot.id)))
    }

    /// A post whose slot holds something else.
    #[inline(never)]
    fn post_second(
        &mut self,
        index: usize,
        pair: u64,
        tag: u64,
        hash: u64,
        id: RecvId,
    ) -> Result<Option<MsgId>, Refused> {
        let key = Key { pair, tag, high: 0 };
        let head = Head { kind: Kind::Posted, seq: self.posts, id: id.0 };
        let mut examined = 0;
        let met = self.table.meet(index, &key, Spot::new(hash, tag), head, &mut examined)?;
        self.effort.examined(Queue::Unexpected, examined);
        match met {
            Met::Took(id) => Ok(Some(MsgId(id))),
            Met::Queued(_) => {
                self.posts += 2;
                if self.table.is_growing() {
                    self.gate |= BUSY;
                }
                Ok(None)
            }
        }
    }

    /// An arrival to which nothing but its slot matters.
    #[inline(always)]
    fn arrive_plain(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
        let envelope = &message.envelope;
        if envelope.source.0 >> 32 != 0 {
            return self.arrive_general(message);
        }
        let pair = u64::from(envelope.context.0) << 32 | envelope.source.0;
        let tag = envelope.tag.0;
        let hash = self.hashing.narrow(pair, tag);
        let index = (hash >> self.table.shift) as usize ^ (tag & 3) as usize;
        let Some(slot) = self.table.slots.get_mut(index) else { return self.arrive_general(message) };
        if slot.is_empty() {
            if self.table.counts >> Kind::Waiting.shift() == 0 && !self.log.restart() {
                return self.arrive_general(message);
            }
            if !self.log.push(self.arrivals, Ref::inline(Spot::new(hash, tag))) {
                return self.arrive_general(message);
            }
            *slot = Slot { tag, pair, id: message.id.0, mark: self.arrivals << 2 | Kind::Waiting as u64 };
            self.arrivals += 2;
            self.table.counts += Kind::Waiting.unit();
            return Ok(None);
        }
        if slot.tag != tag || slot.pair != pair || !slot.holds(Kind::Posted) {
            return self.arrive_second(index, pair, tag, hash, message.id);
        }
        slot.mark = 0;
        self.effort.examined(Queue::Posted, 1);
        self.table.counts -= Kind::Posted.unit();
        Ok(Some(RecvId(slot.id)))
    }

    /// An arrival whose slot holds something else.
    #[inline(never)]
    fn arrive_second(
        &mut self,
        index: usize,
        pair: u64,
        tag: u64,
        hash: u64,
        id: MsgId,
    ) -> Result<Option<RecvId>, Refused> {
        let key = Key { pair, tag, high: 0 };
        let head = Head { kind: Kind::Waiting, seq: self.arrivals, id: id.0 };
        if !self.log.has_room() && self.log.make_room(self.table.count(Kind::Waiting)).is_err() {
            // It may find a receive all the same.
            return self.arrive_general(Message::new(id, key.envelope()));
        }
        let mut examined = 0;
        let met = self.table.meet(index, &key, Spot::new(hash, tag), head, &mut examined)?;
        self.effort.examined(Queue::Posted, examined);
        match met {
            Met::Took(id) => Ok(Some(RecvId(id))),
            Met::Queued(entry) => {
                self.log.push(self.arrivals, entry);
                self.arrivals += 2;
                if self.table.is_growing() || self.log.is_sweeping() {
                    self.set_gate();
                }
                Ok(None)
            }
        }
    }

    #[inline(never)]
    fn post_gated(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        self.hints.admit(&receive.selector)?;
        if self.gate & TO_POST == HINTED { self.post_plain(receive) } else { self.post_general(receive) }
    }

    #[inline(never)]
    fn arrive_gated(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
        if self.gate & (BUSY | INDEXED) != 0 {
            return self.arrive_general(message);
        }
        if self.gate & WILD != 0 {
            let mut examined = 0;
            let key = Key::of(&message.envelope);
            let open = self.find_posted_open(&key, &mut examined);
            self.effort.examined(Queue::Posted, examined);
            if let Some(receive) = open {
                return Ok(Some(self.take_open(receive)));
            }
        }
        if self.gate & HINTED != 0 && self.hints.admit_unexpected(message.envelope.context).is_err() {
            return self.arrive_general(message);
        }
        self.arrive_plain(message)
    }

    /// Takes the first receive of a queue of a class.
    fn take_open(&mut self, (number, at): (usize, At)) -> RecvId {
        let id = self.classes[number].posted.pop(at).id;
        self.wild -= 1;
        if self.wild == 0 {
            self.gate &= !WILD;
        }
        self.unname_receive(id);
        RecvId(id)
    }

    /// A post that finds more than one look at a slot can settle.
    #[inline(never)]
    fn post_general(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        if self.gate & BUSY != 0 {
            self.tend();
        }
        let posted = match receive.selector.exact() {
            Some(envelope) => self.post_exact(receive.id, &Key::of(&envelope)),
            None => self.post_open(&receive),
        };
        if self.gate & BUSY != 0 || self.table.is_growing() {
            self.set_gate();
        }
        posted
    }

    fn post_exact(&mut self, id: RecvId, key: &Key) -> Result<Option<MsgId>, Refused> {
        let spot = self.hashing.spot(key);
        let mut examined = 0;
        let queue = self.table.find(key, spot, &mut examined);
        self.effort.examined(Queue::Unexpected, examined);
        if let Some(at) = queue.filter(|&at| self.table.head(at).kind == Kind::Waiting) {
            return Ok(Some(self.take_message(Found { at, twin: None })));
        }
        let head = Head { kind: Kind::Posted, seq: self.posts, id: id.0 };
        let entry = match queue {
            Some(at) => self.table.append(at, head)?,
            None => self.table.insert(key, spot, head)?,
        };
        self.posts += 2;
        self.name_receive(id, Named { class: MAIN, entry, seq: head.seq });
        Ok(None)
    }

    fn post_open(&mut self, receive: &Receive) -> Result<Option<MsgId>, Refused> {
        if self.table.count(Kind::Waiting) > 0 {
            let found = self.find_open(&receive.selector);
            self.set_gate();
            if let Some(found) = found {
                return Ok(Some(self.take_message(found)));
            }
        }
        let number = self.class(Openness::of(&receive.selector))?;
        let class = &mut self.classes[number];
        let key = class.open.key(&receive.selector);
        let spot = self.hashing.spot(&key);
        let head = Head { kind: Kind::Posted, seq: self.posts, id: receive.id.0 };
        let entry = class.posted.put(&key, spot, head)?;
        self.gate |= if class.posted.is_growing() { WILD | BUSY } else { WILD };
        self.wild += 1;
        self.posts += 2;
        self.name_receive(receive.id, Named { class: number as u32, entry, seq: head.seq });
        Ok(None)
    }

    /// The number of a class, which is made if there is none.
    fn class(&mut self, open: Openness) -> Result<usize, Refused> {
        if let Some(number) = self.classes.iter().position(|class| class.open == open) {
            return Ok(number);
        }
        if let Some(number) = self.classes.iter().position(Class::is_vacant) {
            self.classes[number].open = open;
            return Ok(number);
        }
        self.classes.try_reserve(1).map_err(|_| Refused::Memory)?;
        self.classes.push(Class::new(open));
        Ok(self.classes.len() - 1)
    }

    /// The earliest message that a selector matches.
    fn find_unexpected(&mut self, selector: &Selector) -> Option<Found> {
        match selector.exact() {
            Some(envelope) => {
                let key = Key::of(&envelope);
                let mut examined = 0;
                let queue = self.table.find(&key, self.hashing.spot(&key), &mut examined);
                self.effort.examined(Queue::Unexpected, examined);
                let at = queue.filter(|&at| self.table.head(at).kind == Kind::Waiting)?;
                Some(Found { at, twin: None })
            }
            None => self.find_open(selector),
        }
    }

    fn find_open(&mut self, selector: &Selector) -> Option<Found> {
        let waiting = self.table.count(Kind::Waiting);
        if waiting == 0 {
            self.forget_arrivals();
            return None;
        }
        let mut examined = 0;
        let found = if waiting <= FEW && self.log.len() <= FEW_LINES {
            self.search_log(selector, &mut examined)
        } else {
            let open = Openness::of(selector);
            match self.class(open) {
                Ok(number) => {
                    let unexpected = Unexpected {
                        table: &self.table,
                        log: &self.log,
                        hashing: &self.hashing,
                        clock: self.arrivals,
                        renamed: self.renamed,
                    };
                    let rest = open.key(selector);
                    self.classes[number].find_waiting(&rest, unexpected, &mut examined)
                }
                Err(_) => self.search_log(selector, &mut examined),
            }
        };
        self.effort.examined(Queue::Unexpected, examined);
        found
    }

    /// Compares one message after the other, in the order of arrival.
    fn search_log(&mut self, selector: &Selector, examined: &mut u64) -> Option<Found> {
        let unexpected = self.unexpected();
        let mut oldest = None;
        let mut result = None;
        for (seq, entry) in self.log.since(self.oldest) {
            let Some(found) = unexpected.resolve(entry, seq) else { continue };
            oldest.get_or_insert(seq);
            *examined += 1;
            if selector.matches(&self.table.key(found.at).envelope()) {
                result = Some(found);
                break;
            }
        }
        self.oldest = oldest.unwrap_or(self.arrivals);
        result
    }

    /// No message waits.
    fn forget_arrivals(&mut self) {
        self.log.clear();
        self.oldest = self.arrivals;
        self.renamed = false;
    }

    /// Takes a message out.
    fn take_message(&mut self, found: Found) -> MsgId {
        let id = self.table.remove(found).id;
        if let Some(ids) = &mut self.messages {
            ids.remove(id, &self.hashing);
        }
        MsgId(id)
    }

    /// An arrival that meets more than one look at a slot can settle.
    #[inline(never)]
    fn arrive_general(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
        self.tend();
        let key = Key::of(&message.envelope);
        let spot = self.hashing.spot(&key);
        let mut examined = 0;
        let open = if self.wild > 0 { self.find_posted_open(&key, &mut examined) } else { None };
        let queue = if open.is_none() { self.table.find(&key, spot, &mut examined) } else { None };
        let exact = queue.filter(|&at| self.table.head(at).kind == Kind::Posted);
        self.effort.examined(Queue::Posted, examined);
        let arrived = if let Some(receive) = open {
            Ok(Some(self.take_open(receive)))
        } else if let Some(at) = exact {
            let id = self.table.pop(at).id;
            self.unname_receive(id);
            Ok(Some(RecvId(id)))
        } else {
            self.enqueue_message(&message, &key, spot, queue).map(|()| None)
        };
        self.set_gate();
        arrived
    }

    /// The earliest receive that leaves something open and matches, if it is older than the one that does not.
    #[inline]
    fn find_posted_open(&self, key: &Key, examined: &mut u64) -> Option<(usize, At)> {
        let (mut earliest, mut found) = (u64::MAX, None);
        for (number, class) in self.classes.iter().enumerate() {
            if class.posted.counts == 0 {
                continue;
            }
            let rest = class.open.rest(key);
            let Some(at) = class.posted.find(&rest, self.hashing.spot(&rest), examined) else { continue };
            let seq = class.posted.head(at).seq;
            if seq < earliest {
                (earliest, found) = (seq, Some((number, at)));
            }
        }
        if found.is_some() {
            let exact = self.table.find(key, self.hashing.spot(key), examined);
            let exact = exact.map(|at| self.table.head(at)).filter(|head| head.kind == Kind::Posted);
            if exact.is_some_and(|head| head.seq < earliest) {
                return None;
            }
        }
        found
    }

    fn enqueue_message(
        &mut self,
        message: &Message,
        key: &Key,
        spot: Spot,
        queue: Option<At>,
    ) -> Result<(), Refused> {
        self.hints.admit_unexpected(message.envelope.context)?;
        let waiting = self.table.count(Kind::Waiting);
        if waiting == 0 {
            self.forget_arrivals();
        }
        if !self.log.has_room() {
            self.log.make_room(waiting)?;
        }
        let head = Head { kind: Kind::Waiting, seq: self.arrivals, id: message.id.0 };
        let entry = match queue {
            Some(at) => self.table.append(at, head)?,
            None => self.table.insert(key, spot, head)?,
        };
        self.log.push(head.seq, entry);
        self.arrivals += 2;
        let Self { classes, table, log, hashing, arrivals, renamed, .. } = self;
        let unexpected = Unexpected { table, log, hashing, clock: *arrivals, renamed: *renamed };
        for class in classes.iter_mut().filter(|class| class.index.is_some()) {
            class.keep_up(key, Head { id: entry.0, ..head }, unexpected);
        }
        if let Some(ids) = &mut self.messages {
            let named = Named { class: MAIN, entry, seq: head.seq };
            if !ids.is_wanted() || ids.insert(message.id.0, named, &self.hashing).is_err() {
                self.messages = None;
            }
        }
        Ok(())
    }

    fn name_receive(&mut self, id: RecvId, named: Named) {
        if let Some(ids) = &mut self.receives {
            if !ids.is_wanted() || ids.insert(id.0, named, &self.hashing).is_err() {
                self.receives = None;
            }
        }
    }

    fn unname_receive(&mut self, id: u64) {
        if let Some(ids) = &mut self.receives {
            ids.remove(id, &self.hashing);
        }
    }
}

impl<E: Effort> Engine for Hybrid<E> {
    fn post(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        if self.gate & TO_POST != 0 { self.post_gated(receive) } else { self.post_plain(receive) }
    }

    fn arrive(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
        if self.gate != 0 { self.arrive_gated(message) } else { self.arrive_plain(message) }
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.hints.admit(selector).ok()?;
        let found = self.find_unexpected(selector).map(|found| MsgId(self.table.entry(found).id));
        self.set_gate();
        found
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.hints.admit(selector).ok()?;
        let found = self.find_unexpected(selector).map(|found| self.take_message(found));
        self.set_gate();
        found
    }

    fn cancel(&mut self, receive: RecvId) -> bool {
        let cancelled = self.cancel_named(receive).unwrap_or_else(|| upkeep::cancel(self, receive));
        self.set_gate();
        cancelled
    }

    fn retract(&mut self, message: MsgId) -> bool {
        let retracted = self.retract_named(message).unwrap_or_else(|| upkeep::retract(self, message));
        self.set_gate();
        retracted
    }

    fn readdress(&mut self, message: MsgId, source: Rank) -> bool {
        let readdressed =
            self.readdress_named(message, source).unwrap_or_else(|| upkeep::readdress(self, message, source));
        self.set_gate();
        readdressed
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        let set = upkeep::set_hints(self, context, hints);
        self.set_gate();
        set
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        upkeep::close(self, context, drained);
        self.set_gate();
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        upkeep::fail_source(self, context, source, drained);
        self.set_gate();
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        upkeep::visit(self, queue, each);
    }

    fn posted_len(&self) -> usize {
        self.table.count(Kind::Posted) + self.wild
    }

    fn unexpected_len(&self) -> usize {
        self.table.count(Kind::Waiting)
    }

    fn footprint(&self) -> Footprint {
        let fixed_bytes = size_of::<Self>() as u64 + self.hints.bytes();
        let entries_bytes = self.entries_bytes();
        let peak_bytes = self.peak_bytes.max(fixed_bytes + entries_bytes);
        Footprint { fixed_bytes, peers_bytes: 0, entries_bytes, peak_bytes }
    }

    fn attempts(&self) -> Attempts {
        self.effort.attempts()
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        let indexes = self.classes.iter().filter(|class| class.index.is_some()).count();
        vec![
            ("buckets", self.table.buckets() as f64),
            ("wildcard classes", self.classes.iter().filter(|class| !class.is_vacant()).count() as f64),
            ("indexes of unexpected messages", indexes as f64),
            ("index bytes", self.classes.iter().map(Class::bytes).sum::<u64>() as f64),
            ("log of arrivals bytes", self.log.bytes() as f64),
        ]
    }
}
