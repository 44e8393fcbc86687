//! Arrivals: what looks for a receive.

use super::again::Again;
use super::class::NotOne;
use super::entry::{At, Head, Kind, Ref, Slot};
use super::found::Found;
use super::ids::{MAIN, Named};
use super::key::{Key, Spot, narrow};
use super::pool::Place;
use super::table::Met;
use super::{BUSY, EQUAL, HINTED, Hybrid, SWEEPING, WILD};
use crate::effort::Effort;
use crate::engine::{Message, MsgId, Queue, RecvId, Refused};

impl<E: Effort> Hybrid<E> {
    /// An arrival that nothing stands in the way of.
    #[inline(always)]
    pub(super) fn arrive_plain(&mut self, message: &Message) -> Result<Option<RecvId>, Refused> {
        if self.table.counts == 0 {
            return self.arrive_first(message);
        }
        self.arrive_slot(message)
    }

    /// An arrival to which nothing but its slot matters.
    #[inline(always)]
    pub(super) fn arrive_slot(&mut self, message: &Message) -> Result<Option<RecvId>, Refused> {
        let envelope = &message.envelope;
        if envelope.source.0 >> 32 != 0 {
            return self.arrive_general(message);
        }
        let pair = u64::from(envelope.context.0) << 32 | envelope.source.0;
        let tag = envelope.tag.0;
        let spot = self.hashing.narrow(pair, tag);
        let index = (spot.0 & self.table.mask) as usize;
        let Some(slot) = self.table.slots.get_mut(index) else { return self.arrive_general(message) };
        if slot.is_empty() {
            if self.table.counts >> Kind::Waiting.shift() == 0 && !self.log.restart(self.arrivals) {
                return self.arrive_general(message);
            }
            if !self.log.push(Ref::inline(spot)) {
                return self.arrive_general(message);
            }
            *slot = Slot { tag, pair, id: message.id.0, mark: Slot::mark(Kind::Waiting, self.arrivals) };
            self.arrivals += 2;
            self.table.counts += Kind::Waiting.unit();
            self.contexts.add(pair);
            return Ok(None);
        }
        if slot.tag != tag || slot.pair != pair || !slot.holds_plainly(Kind::Posted) {
            if slot.is_crowded() {
                let first = slot.first_cell();
                return self.arrive_equal(first, index, pair, tag, spot, message.id);
            }
            return self.arrive_second(index, pair, tag, spot, message.id);
        }
        slot.vacate();
        let id = slot.id;
        self.effort.examined(Queue::Posted, 1);
        self.table.counts -= Kind::Posted.unit();
        self.contexts.remove(pair);
        Ok(Some(RecvId(id)))
    }

    /// An arrival whose slot is crowded, mostly with receives that are equal: then these lie in the first cell of it.
    #[inline(never)]
    fn arrive_equal(
        &mut self,
        first: Place,
        index: usize,
        pair: u64,
        tag: u64,
        spot: Spot,
        id: MsgId,
    ) -> Result<Option<RecvId>, Refused> {
        if !self.log.has_room() {
            return self.arrive_second(index, pair, tag, spot, id);
        }
        let head = Head { kind: Kind::Waiting, seq: self.arrivals, id: id.0 };
        match self.table.meet_equal(first, pair, tag, head) {
            None => self.arrive_second(index, pair, tag, spot, id),
            Some(met) => {
                self.gate |= self.table.note_equal(first);
                self.effort.examined(Queue::Posted, 1);
                Ok(self.arrived(met, pair))
            }
        }
    }

    /// An arrival whose key mostly is that of the last two calls, which met equal entries: these are looked at without a hash.
    /// As for [posts](Self::post_again).
    #[inline(never)]
    pub(super) fn arrive_again(&mut self, message: &Message) -> Result<Option<RecvId>, Refused> {
        if let Some((pair, tag)) = narrow(Some(message.envelope)).filter(|_| self.log.has_room()) {
            let head = Head { kind: Kind::Waiting, seq: self.arrivals, id: message.id.0 };
            match self.table.meet_again(pair, tag, head) {
                Again::Queued => {
                    self.effort.examined(Queue::Posted, 1);
                    self.contexts.add(pair);
                    self.log.push(self.table.last_equal());
                    self.arrivals += 2;
                    return Ok(None);
                }
                Again::Took(id) => {
                    self.effort.examined(Queue::Posted, 1);
                    self.contexts.remove(pair);
                    return Ok(Some(RecvId(id)));
                }
                Again::Elsewhere => {}
            }
        }
        self.arrive_further(message)
    }

    /// The same where it takes another block of equals, or meets none.
    #[inline(never)]
    fn arrive_further(&mut self, message: &Message) -> Result<Option<RecvId>, Refused> {
        if let Some((pair, tag)) = narrow(Some(message.envelope)).filter(|_| self.log.has_room()) {
            let head = Head { kind: Kind::Waiting, seq: self.arrivals, id: message.id.0 };
            if let Some(met) = self.table.meet_equal(self.table.equal, pair, tag, head) {
                self.effort.examined(Queue::Posted, 1);
                return Ok(self.arrived(met, pair));
            }
        }
        self.arrive_elsewhere_than_equals(message)
    }

    #[inline(never)]
    fn arrive_elsewhere_than_equals(&mut self, message: &Message) -> Result<Option<RecvId>, Refused> {
        self.gate &= !EQUAL;
        self.arrive_plain(message)
    }

    /// An arrival whose slot holds something else.
    #[inline(never)]
    pub(super) fn arrive_second(
        &mut self,
        index: usize,
        pair: u64,
        tag: u64,
        spot: Spot,
        id: MsgId,
    ) -> Result<Option<RecvId>, Refused> {
        let key = Key { pair, tag, high: 0 };
        if !self.log.has_room() && self.make_room_in_log().is_err() {
            // It may find a receive all the same.
            return self.arrive_general(&Message::new(id, key.envelope()));
        }
        let head = Head { kind: Kind::Waiting, seq: self.arrivals, id: id.0 };
        let mut examined = 0;
        if self.table.slots[index].is_crowded() {
            if let Some(met) = self.table.meet_cells(index, pair, tag, spot, head, &mut examined) {
                self.effort.examined(Queue::Posted, examined);
                return Ok(self.arrived(met, pair));
            }
        } else if let Some(met) = self.table.meet_near(index, pair, tag, spot, head) {
            self.effort.examined(Queue::Posted, 2);
            return Ok(self.arrived(met, pair));
        }
        examined = 0;
        let met = self.table.meet(index, &key, spot, head, &mut examined)?;
        self.effort.examined(Queue::Posted, examined);
        Ok(self.arrived(met, pair))
    }

    /// What became of a message.
    #[inline(always)]
    fn arrived(&mut self, met: Met, pair: u64) -> Option<RecvId> {
        match met {
            Met::Took(id) => {
                self.contexts.remove(pair);
                Some(RecvId(id))
            }
            Met::Queued(entry) => {
                self.contexts.add(pair);
                self.log.push(entry);
                self.arrivals += 2;
                if self.table.is_growing() {
                    self.gate |= BUSY;
                }
                None
            }
        }
    }

    #[inline(never)]
    pub(super) fn arrive_gated(&mut self, message: &Message) -> Result<Option<RecvId>, Refused> {
        if self.gate & WILD == 0 && self.begins_gated() {
            return self.arrive_short(message);
        }
        if self.gate & WILD != 0 {
            let key = Key::of(&message.envelope);
            if self.classes.is_again() {
                if let Some(receive) = self.take_again(&key) {
                    return Ok(Some(receive));
                }
            }
            if let Some(receive) = self.take_open(&key) {
                return Ok(Some(receive));
            }
        }
        let is_refused =
            self.gate & HINTED != 0 && self.hints.admit_unexpected(message.envelope.context).is_err();
        if is_refused || self.gate & BUSY != 0 {
            return self.arrive_general(message);
        }
        if self.gate & SWEEPING != 0 {
            self.sweep();
        }
        self.arrive_slot(message)
    }

    /// Takes the earliest receive that matches, where some do that are equal, leave something open, and are those that the last call
    /// met which met such: of a pool of receives from any source, the first. Nothing, and nothing done: it takes more than that.
    #[inline(never)]
    fn take_again(&mut self, key: &Key) -> Option<RecvId> {
        let open = self.classes.first_again(key)?;
        let mut examined = 1;
        let id = if self.table.count(Kind::Posted) == 0 {
            self.classes.take_again()
        } else if let Some(exact) = self.table.first_again(key) {
            examined = 2;
            if exact < open { self.table.take_again() } else { self.classes.take_again() }
        } else {
            let exact = self.table.find(key, self.hashing.spot(key), &mut examined);
            let is_older = |head: Head| head.kind == Kind::Posted && head.seq < open;
            match exact.filter(|&at| is_older(self.table.head(at))) {
                Some(at) => self.table.pop(at).id,
                None => self.classes.take_again(),
            }
        };
        self.effort.examined(Queue::Posted, examined);
        self.contexts.remove(key.pair);
        self.unname_receive(id);
        Some(RecvId(id))
    }

    /// Takes the earliest receive that leaves something open and matches, if it is older than the one that does not.
    #[inline]
    fn take_open(&mut self, key: &Key) -> Option<RecvId> {
        let mut examined = 0;
        let mut one = Err(NotOne);
        if self.table.count(Kind::Posted) == 0 {
            one = self.classes.take_of_one(key, &self.hashing, &mut examined);
        }
        let taken = match one {
            Ok(taken) => taken,
            Err(NotOne) => self
                .find_posted_open(key, &mut examined)
                .map(|(number, found)| self.classes.take(number, found)),
        };
        self.effort.examined(Queue::Posted, examined);
        let id = taken?;
        if self.classes.posted == 0 {
            self.gate &= !WILD;
        }
        self.contexts.remove(key.pair);
        self.unname_receive(id);
        Some(RecvId(id))
    }

    /// The same, left in place.
    // Always: what it found lies in several registers, and comes back through memory as one piece, which takes longer
    // than finding it.
    #[inline(always)]
    pub(super) fn find_posted_open(&self, key: &Key, examined: &mut u64) -> Option<(u32, Found)> {
        let (seq, number, found) = self.classes.find(key, &self.hashing, examined)?;
        if self.table.count(Kind::Posted) > 0 {
            let exact = self.table.find(key, self.hashing.spot(key), examined);
            let exact = exact.map(|at| self.table.head(at));
            if exact.is_some_and(|head| head.kind == Kind::Posted && head.seq < seq) {
                return None;
            }
        }
        Some((number, found))
    }

    /// An arrival that meets more than one look at a slot can settle, and no receive that leaves something open.
    #[inline(never)]
    pub(super) fn arrive_general(&mut self, message: &Message) -> Result<Option<RecvId>, Refused> {
        let has_room = self.log.has_room();
        let key = Key::of(&message.envelope);
        let spot = self.hashing.spot(&key);
        let mut examined = 0;
        let queue = self.table.find(&key, spot, &mut examined);
        self.effort.examined(Queue::Posted, examined);
        let arrived = match queue.filter(|&at| self.table.head(at).kind == Kind::Posted) {
            Some(at) => {
                let id = self.table.pop(at).id;
                self.contexts.remove(key.pair);
                self.unname_receive(id);
                Ok(Some(RecvId(id)))
            }
            None => self.enqueue_message(message, &key, spot, queue).map(|()| None),
        };
        // Where the log had to grow, tables wait for the next call: one new page at a time.
        if has_room || arrived != Ok(None) {
            self.tend();
        }
        self.set_gate();
        arrived
    }

    pub(super) fn enqueue_message(
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
            self.make_room_in_log()?;
        }
        let head = Head { kind: Kind::Waiting, seq: self.arrivals, id: message.id.0 };
        let entry = match queue {
            Some(at) => self.table.append(at, head)?,
            None => self.table.insert(key, spot, head)?,
        };
        self.log.push(entry);
        self.contexts.add(key.pair);
        self.arrivals += 2;
        if let Some(ids) = &mut self.messages {
            let named = Named { class: MAIN, entry, seq: head.seq };
            if !ids.is_wanted(&self.table, &self.classes)
                || ids.insert(message.id.0, named, &self.hashing).is_err()
            {
                let ids = self.messages.take();
                self.forget_names(ids);
            }
        }
        Ok(())
    }

    /// Every so many arrivals, where what is of no use any more can be looked for.
    #[cold]
    fn make_room_in_log(&mut self) -> Result<(), Refused> {
        self.log.make_room(self.table.count(Kind::Waiting))?;
        self.indexes.drop_idle(self.arrivals);
        self.gate |= if self.indexes.is_dropping() { BUSY } else { 0 };
        if self.log.is_sweeping() {
            self.gate |= SWEEPING;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn unname_receive(&mut self, id: u64) {
        if let Some(ids) = &mut self.receives {
            ids.remove(id, &self.hashing);
        }
    }
}
