//! Posts and probes: what looks for a message.

use super::class::Class;
use super::class::{Openness, Unexpected};
use super::entry::{Head, Kind, Slot};
use super::found::Found;
use super::ids::{MAIN, Named};
use super::key::{Key, Spot};
use super::table::Met;
use super::{BUSY, FEW, FEW_LINES, HINTED, Hybrid, TO_POST, WILD};
use crate::effort::Effort;
use crate::engine::{MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::Selector;

impl<E: Effort> Hybrid<E> {
    /// A post to which nothing but its slot matters, unless it leaves something open.
    #[inline(always)]
    pub(super) fn post_plain(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
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
    pub(super) fn post_second(
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

    #[inline(never)]
    pub(super) fn post_gated(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        self.hints.admit(&receive.selector)?;
        if self.gate & TO_POST == HINTED { self.post_plain(receive) } else { self.post_general(receive) }
    }

    /// A post that finds more than one look at a slot can settle.
    #[inline(never)]
    pub(super) fn post_general(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
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

    pub(super) fn post_exact(&mut self, id: RecvId, key: &Key) -> Result<Option<MsgId>, Refused> {
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

    pub(super) fn post_open(&mut self, receive: &Receive) -> Result<Option<MsgId>, Refused> {
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
    pub(super) fn class(&mut self, open: Openness) -> Result<usize, Refused> {
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
    pub(super) fn find_unexpected(&mut self, selector: &Selector) -> Option<Found> {
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

    pub(super) fn find_open(&mut self, selector: &Selector) -> Option<Found> {
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
    pub(super) fn search_log(&mut self, selector: &Selector, examined: &mut u64) -> Option<Found> {
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

    /// Takes a message out.
    pub(super) fn take_message(&mut self, found: Found) -> MsgId {
        let id = self.table.remove(found).id;
        if let Some(ids) = &mut self.messages {
            ids.remove(id, &self.hashing);
        }
        MsgId(id)
    }

    pub(super) fn name_receive(&mut self, id: RecvId, named: Named) {
        if let Some(ids) = &mut self.receives {
            if !ids.is_wanted() || ids.insert(id.0, named, &self.hashing).is_err() {
                self.receives = None;
            }
        }
    }
}
