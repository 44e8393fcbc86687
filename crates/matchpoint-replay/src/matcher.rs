//! The matcher of the simulation.
//!
//! The matcher has hash bins with a total order, like the engine `bins`, and links the simulation's records.
//! An engine would copy each record into 64 bytes, and a virtual call took longer than the search.
//!
//! The key of a bin is the context and the fields that are not wild, so an arrival searches one bin for each wildcard
//! class among the posted receives. Messages are also linked in arrival order.
//!
//! When all processes together have very many unexpected messages, further messages join the compact
//! [`Backlog`]. While a process has a backlog, all its new messages join the backlog, so messages outside are
//! older.

use crate::backlog::{Backlog, IN_BACKLOG, QueuePosition};
use crate::entries::{Linked, MessageRecord, NIL, PostedReceive};
use crate::label::{Label, WildcardClass};
use crate::slab::Slab;

const FIRST_BITS: u32 = 4;
const LAST_BITS: u32 = 24;

/// Entries per bin before the bins grow, and logarithm of the growth factor. Bins take at most eight bytes
/// per entry.
const BIN_ENTRIES_MAX: usize = 4;
const GROWTH_BITS: u32 = 2;

/// Maximum number of message records of all processes: 7 MiB.
const RECORDS: usize = 1 << 17;

#[derive(Clone, Copy)]
struct LinkedQueue {
    first: u32,
    last: u32,
}

impl Default for LinkedQueue {
    fn default() -> Self {
        LinkedQueue { first: NIL, last: NIL }
    }
}

impl LinkedQueue {
    #[inline]
    fn push<T: Linked>(&mut self, table: &mut Slab<T>, slot: u32) {
        table[slot].set_next(NIL);
        if self.last == NIL {
            self.first = slot;
        } else {
            table[self.last].set_next(slot);
        }
        self.last = slot;
    }

    #[inline]
    fn find<T: Linked>(&self, table: &Slab<T>, accepted: impl Fn(u32, &T) -> bool) -> Option<(u32, u32)> {
        let (mut before, mut at) = (NIL, self.first);
        while at != NIL {
            let entry = &table[at];
            if accepted(at, entry) {
                return Some((before, at));
            }
            (before, at) = (at, entry.next());
        }
        None
    }

    #[inline]
    fn unlink<T: Linked>(&mut self, table: &mut Slab<T>, (before, at): (u32, u32)) {
        let next = table[at].next();
        if before == NIL {
            self.first = next;
        } else {
            table[before].set_next(next);
        }
        if next == NIL {
            self.last = before;
        }
    }

    fn remove<T: Linked>(&mut self, table: &mut Slab<T>, slot: u32) -> bool {
        let found = self.find(table, |at, _| at == slot);
        found.map(|found| self.unlink(table, found)).is_some()
    }
}

struct HashBins {
    queues: Box<[LinkedQueue]>,
    bits: u32,
    len: usize,
}

impl HashBins {
    fn new(bits: u32) -> Self {
        HashBins { queues: vec![LinkedQueue::default(); 1 << bits].into(), bits, len: 0 }
    }

    #[inline]
    fn of(&mut self, label: Label) -> &mut LinkedQueue {
        &mut self.queues[(label.hash() >> (64 - self.bits)) as usize]
    }

    #[inline]
    fn push<T: Linked>(&mut self, table: &mut Slab<T>, slot: u32) {
        if self.len >= BIN_ENTRIES_MAX << self.bits && self.bits < LAST_BITS {
            self.grow(table);
        }
        self.len += 1;
        self.of(table[slot].label()).push(table, slot);
    }

    /// Entries with one label are in one bin, so their order does not change.
    #[cold]
    fn grow<T: Linked>(&mut self, table: &mut Slab<T>) {
        let mut more = HashBins::new(self.bits + GROWTH_BITS);
        for queue in &self.queues {
            let mut at = queue.first;
            while at != NIL {
                let next = table[at].next();
                more.of(table[at].label()).push(table, at);
                at = next;
            }
        }
        more.len = self.len;
        *self = more;
    }
}

pub(crate) struct Matcher {
    posted: HashBins,
    posted_by_class: [u32; WildcardClass::COUNT],
    unexpected: HashBins,
    oldest: u32,
    newest: u32,
    /// Messages newer than all messages in `unexpected`.
    backlog: Option<Box<Backlog>>,
    records_max: usize,
}

impl Matcher {
    pub fn new() -> Self {
        Matcher::with_records_max(RECORDS)
    }

    fn with_records_max(records_max: usize) -> Self {
        Matcher {
            posted: HashBins::new(FIRST_BITS),
            posted_by_class: [0; WildcardClass::COUNT],
            unexpected: HashBins::new(FIRST_BITS),
            oldest: NIL,
            newest: NIL,
            backlog: None,
            records_max,
        }
    }

    /// Takes the oldest message that a receive matches. Without a match, the caller
    /// [queues](Self::queue_receive) the receive.
    #[inline]
    pub fn post(&mut self, selector: Label, records: &mut Slab<MessageRecord>) -> Option<u32> {
        if self.unexpected.len == 0 && self.backlog.is_none() {
            return None;
        }
        self.matched_probe(selector, records)
    }

    #[inline]
    pub fn queue_receive(&mut self, receives: &mut Slab<PostedReceive>, slot: u32) {
        self.posted_by_class[receives[slot].selector.wildcards().index()] += 1;
        self.posted.push(receives, slot);
    }

    /// Takes the oldest receive that a message matches. Without a match, the caller
    /// [queues](Self::queue_message) the message.
    #[inline]
    pub fn arrive(&mut self, message: Label, receives: &mut Slab<PostedReceive>) -> Option<u32> {
        if self.posted_by_class[0] as usize != self.posted.len {
            return self.arrive_among_wildcards(message, receives);
        }
        let bin = self.posted.of(message);
        let found = bin.find(receives, |_, receive| receive.selector == message)?;
        bin.unlink(receives, found);
        self.posted.len -= 1;
        self.posted_by_class[0] -= 1;
        Some(found.1)
    }

    fn arrive_among_wildcards(&mut self, message: Label, receives: &mut Slab<PostedReceive>) -> Option<u32> {
        let mut earliest: Option<(u64, Label, (u32, u32))> = None;
        for class in message.wildcards().supersets() {
            if self.posted_by_class[class.index()] == 0 {
                continue;
            }
            let selector = message.with_class(class);
            let found = self.posted.of(selector).find(receives, |_, receive| receive.selector == selector);
            let Some(found) = found else { continue };
            let number = receives[found.1].number;
            if earliest.is_none_or(|earlier| number < earlier.0) {
                earliest = Some((number, selector, found));
            }
        }
        let (_, selector, found) = earliest?;
        self.posted.of(selector).unlink(receives, found);
        self.posted.len -= 1;
        self.posted_by_class[selector.wildcards().index()] -= 1;
        Some(found.1)
    }

    /// May move the message's record to the backlog.
    #[inline]
    pub fn queue_message(&mut self, records: &mut Slab<MessageRecord>, slot: u32) {
        if self.backlog.is_some() || records.len() > self.records_max {
            self.backlog.get_or_insert_with(|| Box::new(Backlog::new())).push(records, slot);
            return;
        }
        self.unexpected.push(records, slot);
        let record = &mut records[slot];
        record.is_queued = true;
        (record.older, record.newer) = (self.newest, NIL);
        match std::mem::replace(&mut self.newest, slot) {
            NIL => self.oldest = slot,
            before => records[before].newer = slot,
        }
    }

    #[inline]
    pub fn probe(&mut self, selector: Label, records: &mut Slab<MessageRecord>) -> Option<u32> {
        let found = self.find(selector, records);
        if found.is_some() {
            return found;
        }
        let backlog = self.backlog.as_mut()?;
        let found = backlog.find(selector, records)?;
        Some(backlog.restore_record(found, records))
    }

    #[inline]
    fn find(&mut self, selector: Label, records: &Slab<MessageRecord>) -> Option<u32> {
        if selector.is_exact() {
            let bin = self.unexpected.of(selector);
            return bin.find(records, |_, record| record.label == selector).map(|(_, at)| at);
        }
        let mut at = self.oldest;
        while at != NIL {
            let record = &records[at];
            if selector.accepts(record.label) {
                return Some(at);
            }
            at = record.newer;
        }
        None
    }

    #[inline]
    pub fn matched_probe(&mut self, selector: Label, records: &mut Slab<MessageRecord>) -> Option<u32> {
        let Some(at) = self.find(selector, records) else { return self.take_from_backlog(selector, records) };
        self.take(records, at);
        Some(at)
    }

    fn take_from_backlog(&mut self, selector: Label, records: &mut Slab<MessageRecord>) -> Option<u32> {
        let found = self.backlog.as_ref()?.find(selector, records)?;
        Some(self.take_queued(found, records))
    }

    #[cold]
    fn take_queued(&mut self, found: QueuePosition, records: &mut Slab<MessageRecord>) -> u32 {
        let backlog = self.backlog.as_mut().expect("the message is in the backlog");
        let slot = backlog.take(found, records);
        if backlog.len() == 0 {
            self.backlog = None;
        }
        slot
    }

    /// Creates the record of a message in the backlog again. Searches the backlog linearly.
    pub fn restore_record(&mut self, number: u32, records: &mut Slab<MessageRecord>) -> Option<u32> {
        let backlog = self.backlog.as_mut()?;
        let found = backlog.find_number(number)?;
        Some(backlog.restore_record(found, records))
    }

    pub fn cancel(&mut self, receives: &mut Slab<PostedReceive>, slot: u32) -> bool {
        let selector = receives[slot].selector;
        let was_queued = self.posted.of(selector).remove(receives, slot);
        self.posted.len -= usize::from(was_queued);
        self.posted_by_class[selector.wildcards().index()] -= u32::from(was_queued);
        was_queued
    }

    pub fn retract(&mut self, records: &mut Slab<MessageRecord>, slot: u32) -> bool {
        let is_queued = records[slot].is_queued;
        if is_queued {
            self.take(records, slot);
        }
        is_queued
    }

    #[inline]
    fn take(&mut self, records: &mut Slab<MessageRecord>, slot: u32) {
        let record = &mut records[slot];
        record.is_queued = false;
        let MessageRecord { label, older, newer, .. } = *record;
        if older == IN_BACKLOG {
            self.take_queued(Backlog::position(newer), records);
            return;
        }
        self.unexpected.of(label).remove(records, slot);
        self.unexpected.len -= 1;
        match older {
            NIL => self.oldest = newer,
            older => records[older].newer = newer,
        }
        match newer {
            NIL => self.newest = older,
            newer => records[newer].older = older,
        }
    }

    pub fn posted_len(&self) -> usize {
        self.posted.len
    }

    pub fn unexpected_len(&self) -> usize {
        self.unexpected.len + self.backlog.as_ref().map_or(0, |backlog| backlog.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entries::Protocol;
    use matchpoint::{Message, Receive, RecvId};

    #[test]
    fn growing_queue_keeps_order() {
        for records_max in [usize::MAX, 1000, 0] {
            let (mut matcher, mut records) = (Matcher::with_records_max(records_max), Slab::default());
            let label = |at| Label::exact(0, at % 7, at % 500);
            for at in 0..5000 {
                let slot = records.insert(MessageRecord::of(label(at), at));
                matcher.queue_message(&mut records, slot);
            }
            assert_eq!(matcher.unexpected.bits > FIRST_BITS, records_max > 0);
            for at in 0..5000 {
                let selector = if at % 2 == 0 { Label::any(0) } else { label(at) };
                let took = matcher.post(selector, &mut records).unwrap();
                assert_eq!(records.remove(took).unwrap().number, at);
            }
            assert_eq!((matcher.unexpected_len(), matcher.oldest, matcher.newest), (0, NIL, NIL));
            assert!(matcher.backlog.is_none() && records.len() == 0);
        }
    }

    #[test]
    fn removed_messages_leave_few_gaps() {
        let (mut matcher, mut records) = (Matcher::with_records_max(0), Slab::default());
        for at in 0..200_000u32 {
            let slot = records.insert(MessageRecord::of(Label::exact(at % 3, 0, at), at));
            matcher.queue_message(&mut records, slot);
            if at >= 1000 && at % 100 != 0 {
                let took = matcher.post(Label::exact((at - 1000) % 3, 0, at - 1000), &mut records).unwrap();
                assert_eq!(records.remove(took).unwrap().number, at - 1000);
            }
        }
        let backlog = matcher.backlog.as_ref().unwrap();
        let (slots, least) = (backlog.slots(), backlog.len());
        assert!(slots <= least + least / 4 + 1024, "{slots} slots for {least}");
        assert_eq!(records.len(), 0);
    }

    /// An arrival compares few receives, although the tags of the receives differ.
    #[test]
    fn wildcard_receives_fill_bins_evenly() {
        let (mut matcher, mut receives) = (Matcher::new(), Slab::default());
        for tag in 0..20_000 {
            let selector = Label::exact(0, 0, tag).with_any_source();
            let slot = receives.insert(PostedReceive::of(selector, tag.into()));
            matcher.queue_receive(&mut receives, slot);
        }
        let longest = (0..1 << matcher.posted.bits).map(|bin| {
            let mut at = matcher.posted.queues[bin].first;
            std::iter::from_fn(|| (at != NIL).then(|| at = receives[at].next)).count()
        });
        assert!(longest.max().unwrap() < 40);
        for tag in (0..20_000).rev() {
            assert_eq!(matcher.arrive(Label::exact(0, tag % 7, tag), &mut receives), Some(tag));
        }
    }

    #[test]
    fn matcher_agrees_with_list_engine() {
        for records_max in [usize::MAX, 200, 0] {
            compare_with_list_engine(records_max);
        }
    }

    fn compare_with_list_engine(records_max: usize) {
        let mut list = matchpoint::engines::create("list").unwrap();
        let (mut matcher, mut records) = (Matcher::with_records_max(records_max), Slab::default());
        let mut receives = Slab::default();
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % below) as u32
        };
        let (mut matched, mut retracted, mut deepest) = (0, 0, 0);
        for number in 0..200_000u32 {
            let exact = Label::exact(draw(2), draw(40), draw(40));
            let selector = match draw(16) {
                0 => exact.with_any_source(),
                1 => exact.with_any_tag(),
                2 => exact.with_any_source().with_any_tag(),
                _ => exact,
            };
            match draw(if number % 20_000 < 10_000 { 11 } else { 18 }) {
                0..5 => {
                    let took = matcher.post(selector, &mut records);
                    let id = RecvId::new(receives.next_slot(), number);
                    let expected = list.post(Receive::new(id, selector.to_selector())).unwrap();
                    assert_eq!(took.map(|slot| records[slot].id()), expected);
                    matched += u64::from(took.is_some());
                    match took {
                        Some(slot) => drop(records.remove(slot)),
                        None => {
                            let slot = receives.insert(PostedReceive::of(selector, number.into()));
                            matcher.queue_receive(&mut receives, slot);
                        }
                    }
                }
                5..10 => {
                    let message = if draw(50) == 0 { selector } else { exact };
                    let protocol = if draw(10) == 0 { Protocol::Synchronous } else { Protocol::Eager };
                    let record = MessageRecord { protocol, ..MessageRecord::of(message, number) };
                    let expected =
                        list.arrive_message(Message::new(record.id(), message.to_envelope())).unwrap();
                    let took = matcher.arrive(message, &mut receives);
                    assert_eq!(took.map(|slot| receives[slot].id(slot)), expected);
                    matched += u64::from(took.is_some());
                    match took {
                        Some(slot) => drop(receives.remove(slot)),
                        None => {
                            let slot = records.insert(record);
                            matcher.queue_message(&mut records, slot);
                        }
                    }
                }
                10 => {
                    let found = matcher.probe(selector, &mut records);
                    assert_eq!(found.map(|slot| records[slot].id()), list.probe(&selector.to_selector()));
                }
                11..15 => {
                    let slot = draw(300);
                    if receives.get(slot).is_some() {
                        let PostedReceive { selector, .. } = receives[slot];
                        let receive = Receive::new(receives[slot].id(slot), selector.to_selector());
                        assert!(list.cancel(&receive));
                        assert!(matcher.cancel(&mut receives, slot));
                        receives.remove(slot);
                    }
                }
                _ => {
                    let (slot, latest) = (draw(300), number.saturating_sub(draw(100)));
                    let slot = match records.get(slot) {
                        Some(_) => Some(slot),
                        None => matcher.restore_record(latest, &mut records),
                    };
                    if let Some(slot) = slot {
                        let record = &records[slot];
                        assert!(list.retract(&Message::new(record.id(), record.label.to_envelope())));
                        assert!(matcher.retract(&mut records, slot));
                        records.remove(slot);
                        retracted += 1;
                    }
                }
            }
            assert_eq!(matcher.posted_len(), list.posted_len());
            assert_eq!(matcher.unexpected_len(), list.unexpected_len());
            deepest = deepest.max(matcher.backlog.as_ref().map_or(0, |backlog| backlog.len()));
        }
        assert!(matched > 1000 && retracted > 100, "{matched} {retracted}");
        assert_eq!(deepest > 300, records_max < usize::MAX, "{deepest}");
    }
}
