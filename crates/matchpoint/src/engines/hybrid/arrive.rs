//! Arrivals: what looks for a receive.

use super::class::Unexpected;
use super::entry::{At, Head, Kind, Ref, Slot};
use super::ids::{MAIN, Named};
use super::key::{Key, Spot};
use super::table::Met;
use super::{BUSY, HINTED, Hybrid, INDEXED, WILD};
use crate::effort::Effort;
use crate::engine::{Message, MsgId, Queue, RecvId, Refused};

impl<E: Effort> Hybrid<E> {
    /// An arrival to which nothing but its slot matters.
    #[inline(always)]
    pub(super) fn arrive_plain(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
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
    pub(super) fn arrive_second(
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
    pub(super) fn arrive_gated(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
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
    pub(super) fn take_open(&mut self, (number, at): (usize, At)) -> RecvId {
        let id = self.classes[number].posted.pop(at).id;
        self.wild -= 1;
        if self.wild == 0 {
            self.gate &= !WILD;
        }
        self.unname_receive(id);
        RecvId(id)
    }

    /// An arrival that meets more than one look at a slot can settle.
    #[inline(never)]
    pub(super) fn arrive_general(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
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
    pub(super) fn find_posted_open(&self, key: &Key, examined: &mut u64) -> Option<(usize, At)> {
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

    pub(super) fn unname_receive(&mut self, id: u64) {
        if let Some(ids) = &mut self.receives {
            ids.remove(id, &self.hashing);
        }
    }
}
