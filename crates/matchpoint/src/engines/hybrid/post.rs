//! Posts and probes: what looks for a message.

use super::again::Again;
use super::class::Openness;
use super::entry::{At, Head, Kind, Ref, Slot};
use super::found::Found;
use super::held::Unexpected;
use super::ids::{Ids, MAIN, Named};
use super::key::{Key, Spot, narrow};
use super::pool::Place;
use super::search::Sought;
use super::table::Met;
use super::{BUSY, EQUAL, FEW, FEW_LINES, HINTED, Hybrid, SHORT, TO_POST, WILD};
use crate::effort::Effort;
use crate::engine::{MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::{Envelope, Selector};

impl<E: Effort> Hybrid<E> {
    /// A post that nothing stands in the way of.
    #[inline(always)]
    pub(super) fn post_plain(&mut self, receive: &Receive) -> Result<Option<MsgId>, Refused> {
        let Some(envelope) = receive.selector.exact() else { return self.post_open(receive) };
        if self.table.counts == 0 {
            return self.post_first(receive);
        }
        self.post_exactly(receive, envelope)
    }

    /// The same where the tables are to be used.
    #[inline(always)]
    pub(super) fn post_slot(&mut self, receive: &Receive) -> Result<Option<MsgId>, Refused> {
        let Some(envelope) = receive.selector.exact() else { return self.post_open(receive) };
        self.post_exactly(receive, envelope)
    }

    /// A post to which nothing but its slot matters.
    #[inline(always)]
    fn post_exactly(&mut self, receive: &Receive, envelope: Envelope) -> Result<Option<MsgId>, Refused> {
        if envelope.source.0 >> 32 != 0 {
            return self.post_general(receive);
        }
        let pair = u64::from(envelope.context.0) << 32 | envelope.source.0;
        let tag = envelope.tag.0;
        let spot = self.hashing.narrow(pair, tag);
        let index = (spot.0 & self.table.mask) as usize;
        let Some(slot) = self.table.slots.get_mut(index) else { return self.post_general(receive) };
        if slot.is_empty() {
            *slot = Slot { tag, pair, id: receive.id.0, mark: Slot::mark(Kind::Posted, self.posts) };
            self.posts += 2;
            self.table.counts += Kind::Posted.unit();
            self.contexts.add(pair);
            return Ok(None);
        }
        if slot.tag != tag || slot.pair != pair || !slot.holds_plainly(Kind::Waiting) {
            if slot.is_crowded() {
                let first = slot.first_cell();
                return self.post_equal(first, index, pair, tag, spot, receive.id);
            }
            return self.post_second(index, pair, tag, spot, receive.id);
        }
        slot.vacate();
        let id = slot.id;
        self.effort.examined(Queue::Unexpected, 1);
        self.table.counts -= Kind::Waiting.unit();
        self.contexts.remove(pair);
        Ok(Some(MsgId(id)))
    }

    /// A post whose slot is crowded, mostly with its equals: then these lie in the first cell of it.
    #[inline(never)]
    fn post_equal(
        &mut self,
        first: Place,
        index: usize,
        pair: u64,
        tag: u64,
        spot: Spot,
        id: RecvId,
    ) -> Result<Option<MsgId>, Refused> {
        let head = Head { kind: Kind::Posted, seq: self.posts, id: id.0 };
        match self.table.meet_equal(first, pair, tag, head) {
            None => self.post_second(index, pair, tag, spot, id),
            Some(met) => {
                self.gate |= self.table.note_equal(first);
                self.effort.examined(Queue::Unexpected, 1);
                Ok(self.posted(met, pair))
            }
        }
    }

    /// A post whose key mostly is that of the last two calls, which met equal entries: these are looked at without a hash, and
    /// mostly there is nothing else to do that would take more registers than a function has for nothing.
    #[inline(never)]
    pub(super) fn post_again(&mut self, receive: &Receive) -> Result<Option<MsgId>, Refused> {
        if let Some((pair, tag)) = narrow(receive.selector.exact()) {
            let head = Head { kind: Kind::Posted, seq: self.posts, id: receive.id.0 };
            match self.table.meet_again(pair, tag, head) {
                Again::Queued => {
                    self.effort.examined(Queue::Unexpected, 1);
                    self.contexts.add(pair);
                    self.posts += 2;
                    return Ok(None);
                }
                Again::Took(id) => {
                    self.effort.examined(Queue::Unexpected, 1);
                    self.contexts.remove(pair);
                    return Ok(Some(MsgId(id)));
                }
                Again::Elsewhere => {}
            }
        }
        self.post_further(receive)
    }

    /// The same where it takes another block of equals, or meets none.
    #[inline(never)]
    fn post_further(&mut self, receive: &Receive) -> Result<Option<MsgId>, Refused> {
        if receive.selector.exact().is_none() && self.table.counts > 0 {
            // The equals are still those that the next is likely to meet.
            return self.post_open(receive);
        }
        if let Some((pair, tag)) = narrow(receive.selector.exact()) {
            let head = Head { kind: Kind::Posted, seq: self.posts, id: receive.id.0 };
            if let Some(met) = self.table.meet_equal(self.table.equal, pair, tag, head) {
                self.effort.examined(Queue::Unexpected, 1);
                return Ok(self.posted(met, pair));
            }
        }
        self.post_elsewhere_than_equals(receive)
    }

    #[inline(never)]
    fn post_elsewhere_than_equals(&mut self, receive: &Receive) -> Result<Option<MsgId>, Refused> {
        self.gate &= !EQUAL;
        self.post_plain(receive)
    }

    /// A post whose slot holds something else.
    #[inline(never)]
    pub(super) fn post_second(
        &mut self,
        index: usize,
        pair: u64,
        tag: u64,
        spot: Spot,
        id: RecvId,
    ) -> Result<Option<MsgId>, Refused> {
        let head = Head { kind: Kind::Posted, seq: self.posts, id: id.0 };
        // Each way to its own end: joined, what was met would go through memory.
        let mut examined = 0;
        if self.table.slots[index].is_crowded() {
            if let Some(met) = self.table.meet_cells(index, pair, tag, spot, head, &mut examined) {
                self.effort.examined(Queue::Unexpected, examined);
                return Ok(self.posted(met, pair));
            }
        } else if let Some(met) = self.table.meet_near(index, pair, tag, spot, head) {
            self.effort.examined(Queue::Unexpected, 2);
            return Ok(self.posted(met, pair));
        }
        examined = 0;
        let met = self.table.meet(index, &Key { pair, tag, high: 0 }, spot, head, &mut examined)?;
        self.effort.examined(Queue::Unexpected, examined);
        Ok(self.posted(met, pair))
    }

    /// What became of a receive.
    #[inline(always)]
    fn posted(&mut self, met: Met, pair: u64) -> Option<MsgId> {
        match met {
            Met::Took(id) => {
                self.contexts.remove(pair);
                Some(MsgId(id))
            }
            Met::Queued(_) => {
                self.contexts.add(pair);
                self.posts += 2;
                if self.table.is_growing() {
                    self.gate |= BUSY;
                }
                None
            }
        }
    }

    #[inline(never)]
    pub(super) fn post_gated(&mut self, receive: &Receive) -> Result<Option<MsgId>, Refused> {
        self.hints.admit(&receive.selector)?;
        if self.gate & SHORT != 0 || self.begins_gated() {
            self.tend_short();
            return self.post_short(receive);
        }
        if self.gate & TO_POST & !EQUAL == HINTED {
            self.post_slot(receive)
        } else {
            self.post_general(receive)
        }
    }

    /// A post that finds more than one look at a slot can settle.
    #[inline(never)]
    pub(super) fn post_general(&mut self, receive: &Receive) -> Result<Option<MsgId>, Refused> {
        if self.gate & BUSY != 0 {
            self.tend();
        }
        let posted = match receive.selector.exact() {
            Some(envelope) => self.post_exact(receive.id, &Key::of(&envelope)),
            None => self.post_open(receive),
        };
        if self.gate & BUSY != 0 || self.table.is_growing() {
            self.set_gate();
        }
        posted
    }

    pub(super) fn post_exact(&mut self, id: RecvId, key: &Key) -> Result<Option<MsgId>, Refused> {
        let spot = self.hashing.spot(key);
        let mut examined = 0;
        let queue = self.table.find(key, spot, &mut examined);
        self.effort.examined(Queue::Unexpected, examined);
        if let Some(at) = queue.filter(|&at| self.table.head(at).kind == Kind::Waiting) {
            return Ok(Some(self.take_message(Found::first(at))));
        }
        self.enqueue_exact(id, key, spot, queue).map(|()| None)
    }

    /// Queues a receive that no message waits for, where the queue of its key is known.
    #[inline]
    pub(super) fn enqueue_exact(
        &mut self,
        id: RecvId,
        key: &Key,
        spot: Spot,
        queue: Option<At>,
    ) -> Result<(), Refused> {
        let head = Head { kind: Kind::Posted, seq: self.posts, id: id.0 };
        let entry = match queue {
            Some(at) => self.table.append(at, head)?,
            None => self.table.insert(key, spot, head)?,
        };
        self.posts += 2;
        self.contexts.add(key.pair);
        self.name_receive(id, Named { class: MAIN, entry, seq: head.seq });
        Ok(())
    }

    #[inline(never)]
    pub(super) fn post_open(&mut self, receive: &Receive) -> Result<Option<MsgId>, Refused> {
        if self.gate == 0 && self.table.counts == 0 && self.front.begins(&mut self.table.equals.begun) {
            return self.post_short(receive);
        }
        self.front.note_open();
        if self.table.count(Kind::Waiting) > 0 {
            if let Some(message) = self.take_at_hand(&receive.selector) {
                return Ok(Some(message));
            }
            if let Some(found) = self.find_open(&receive.selector, true) {
                return Ok(Some(self.take_message(found)));
            }
        }
        if self.receives.is_none() && self.classes.post_plainly(receive, self.posts, &self.hashing) {
            self.posts += 2;
            self.contexts.add(u64::from(receive.selector.context().0) << 32);
            return Ok(None);
        }
        self.enqueue_open(receive).map(|()| None)
    }

    /// Takes the message that comes first in an index. Nothing, and nothing done: it takes more than that.
    #[inline(always)]
    fn take_at_hand(&mut self, selector: &Selector) -> Option<MsgId> {
        let (open, rest) = Openness::of(selector);
        let (number, rest) = self.indexes.at_hand(open, &rest, self.table.count(Kind::Waiting))?;
        let mut examined = 0;
        let lookup = self.indexes.lookup(number);
        let queue = lookup.find(self.hashing.spot(&rest).0, &mut examined)?;
        let seq = lookup.first(queue);
        let entry = self.log.find(seq)?;
        let id = match self.table.plain(entry, Kind::Waiting, seq) {
            Some((home, slot)) if self.messages.is_none() => {
                let pair = slot.pair;
                if !selector.matches(&slot.key().envelope()) {
                    return None;
                }
                self.contexts.remove(pair);
                MsgId(self.table.take_plain(home))
            }
            _ => self.take_beside(entry, seq, selector)?,
        };
        self.indexes.note_taken(number, queue, self.arrivals);
        self.effort.examined(Queue::Unexpected, examined);
        Some(id)
    }

    /// Takes a message that does not lie plainly in its slot, if it is there still, and is what is sought.
    #[inline(never)]
    fn take_beside(&mut self, entry: Ref, seq: u64, selector: &Selector) -> Option<MsgId> {
        let found = self.table.resolve(entry, seq, &self.hashing)?;
        let is_it = selector.matches(&self.table.key(found.at).envelope());
        is_it.then(|| self.take_message(found))
    }

    /// Queues a receive that leaves something open, and that no message waits for.
    #[inline(always)]
    pub(super) fn enqueue_open(&mut self, receive: &Receive) -> Result<(), Refused> {
        let named = self.classes.post(receive, self.posts, &self.hashing)?;
        self.gate |= if self.classes.table(named.class).is_growing() { WILD | BUSY } else { WILD };
        self.posts += 2;
        self.contexts.add(u64::from(receive.selector.context().0) << 32);
        self.name_receive(receive.id, named);
        Ok(())
    }

    /// The earliest message that a selector matches, and whether it is to be taken.
    pub(super) fn find_unexpected(&mut self, selector: &Selector, is_taken: bool) -> Option<Found> {
        match selector.exact() {
            Some(envelope) => {
                let key = Key::of(&envelope);
                let mut examined = 0;
                let queue = self.table.find(&key, self.hashing.spot(&key), &mut examined);
                self.effort.examined(Queue::Unexpected, examined);
                let at = queue.filter(|&at| self.table.head(at).kind == Kind::Waiting)?;
                Some(Found::first(at))
            }
            None => self.find_open(selector, is_taken),
        }
    }

    pub(super) fn find_open(&mut self, selector: &Selector, is_taken: bool) -> Option<Found> {
        self.front.note_open();
        if self.table.count(Kind::Waiting) == 0 {
            self.forget_arrivals();
            return None;
        }
        let mut examined = 0;
        let (open, ref rest) = Openness::of(selector);
        let sought = Sought { selector, open, rest, is_shared: false, is_taken };
        let few = if self.indexes.has(sought.open) {
            Search::GivenUp
        } else {
            self.search_few(selector, &mut examined)
        };
        let found = match few {
            Search::Ended(found) => found,
            Search::GivenUp => {
                let unexpected = Unexpected {
                    table: &self.table,
                    log: &self.log,
                    hashing: &self.hashing,
                    clock: self.arrivals,
                    renamed: self.renamed,
                };
                self.indexes.find(&sought, unexpected, &mut examined)
            }
        };
        self.effort.examined(Queue::Unexpected, examined);
        self.gate |= if self.indexes.is_dropping() { BUSY } else { 0 };
        found
    }

    /// Compares one message after the other, in the order of arrival, but only a [few](FEW) of them.
    fn search_few(&mut self, selector: &Selector, examined: &mut u64) -> Search {
        let unexpected = self.unexpected();
        let (mut oldest, mut alive) = (None, 0);
        for (lines, (seq, entry)) in self.log.since(self.oldest).enumerate() {
            if alive == FEW || lines == FEW * FEW_LINES {
                self.oldest = oldest.unwrap_or(seq);
                return Search::GivenUp;
            }
            let Some(found) = unexpected.resolve(entry, seq) else { continue };
            oldest.get_or_insert(seq);
            alive += 1;
            *examined += 1;
            if selector.matches(&self.table.key(found.at).envelope()) {
                self.oldest = oldest.unwrap_or(seq);
                return Search::Ended(Some(found));
            }
        }
        self.oldest = oldest.unwrap_or(self.arrivals);
        Search::Ended(None)
    }

    /// Takes a message out.
    pub(super) fn take_message(&mut self, found: Found) -> MsgId {
        self.contexts.remove(self.table.key(found.at).pair);
        let id = self.table.remove(found).id;
        if let Some(ids) = &mut self.messages {
            ids.remove(id, &self.hashing);
        }
        MsgId(id)
    }

    pub(super) fn name_receive(&mut self, id: RecvId, named: Named) {
        if let Some(ids) = &mut self.receives {
            if !ids.is_wanted(&self.table, &self.classes) || ids.insert(id.0, named, &self.hashing).is_err() {
                let ids = self.receives.take();
                self.forget_names(ids);
            }
        }
    }

    pub(super) fn forget_names(&mut self, ids: Option<Ids>) {
        if let Some(ids) = ids {
            self.note_peak();
            self.grave.names.bury(ids);
        }
    }
}

/// How a search of the log ended.
enum Search {
    /// With this message, or with none at all.
    Ended(Option<Found>),
    /// There are more than it was to look at.
    GivenUp,
}
