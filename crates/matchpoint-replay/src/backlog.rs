//! Compact queue for very many unexpected messages: 16 bytes per message, and 1 to 2 bytes for bins.
//!
//! The record of a message in flight has 56 bytes. The backlog keeps only envelope and number of a plain
//! message, until the simulation requests the record. A message keeps its record if its sender waits for the
//! match, or if the simulation invented the message.
//!
//! Taken messages leave gaps. An empty first block is freed at once; other gaps are closed when a fifth of
//! the queue is gaps.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::entries::{MessageRecord, NIL};
use crate::label::Label;
use crate::slab::Slab;

const BLOCK_BITS: u32 = 8;
const BLOCK: u32 = 1 << BLOCK_BITS;

/// Logarithm of the initial number of bins, and messages per bin before the bins grow.
const FIRST_BITS: u32 = 4;
const BIN_ENTRIES_MAX: usize = 4;

/// Values of [`QueuedMessage::origin`]: `REMOVED` is a taken message. With `HAS_RECORD`, `tag` is the index
/// of the message's record.
const REMOVED: u32 = u32::MAX;
const HAS_RECORD: u32 = u32::MAX - 1;

/// [`MessageRecord::older`] of a message in the backlog; `newer` is its position in the backlog.
pub(crate) const IN_BACKLOG: u32 = u32::MAX - 1;

#[derive(Clone, Copy)]
struct QueuedMessage {
    origin: u32,
    tag: u32,
    number: u32,
    next: u32,
}

/// Position of a queued message, and the predecessor in its bin, if known.
#[derive(Clone, Copy)]
pub(crate) struct QueuePosition {
    at: u32,
    before: u32,
}

pub(crate) struct Backlog {
    blocks: VecDeque<Vec<QueuedMessage>>,
    /// Positions of the first slot, of the oldest message, and after the newest message.
    base: u32,
    first: u32,
    end: u32,
    len: usize,
    bins: Box<[u32]>,
    origins: Vec<(u32, u32)>,
    origin_of: FxHashMap<(u32, u32), u32>,
}

impl Backlog {
    pub fn new() -> Self {
        Backlog {
            blocks: VecDeque::new(),
            base: 0,
            first: 0,
            end: 0,
            len: 0,
            bins: vec![NIL; 1 << FIRST_BITS].into(),
            origins: Vec::new(),
            origin_of: FxHashMap::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    #[cfg(test)]
    pub fn slots(&self) -> usize {
        self.blocks.iter().map(Vec::capacity).sum()
    }

    #[inline]
    fn get(&self, at: u32) -> &QueuedMessage {
        let at = at - self.base;
        &self.blocks[(at >> BLOCK_BITS) as usize][(at % BLOCK) as usize]
    }

    #[inline]
    fn get_mut(&mut self, at: u32) -> &mut QueuedMessage {
        let at = at - self.base;
        &mut self.blocks[(at >> BLOCK_BITS) as usize][(at % BLOCK) as usize]
    }

    fn label(&self, queued: &QueuedMessage, records: &Slab<MessageRecord>) -> Label {
        if queued.origin == HAS_RECORD {
            return records[queued.tag].label;
        }
        let (context, source) = self.origins[queued.origin as usize];
        Label::exact(context, source, queued.tag)
    }

    fn bin(&self, label: Label) -> usize {
        (label.hash() >> (64 - self.bins.len().trailing_zeros())) as usize
    }

    /// May move the message's record out of `records`.
    pub fn push(&mut self, records: &mut Slab<MessageRecord>, slot: u32) {
        let gaps = (self.end - self.base) as usize - self.len;
        if gaps > self.len / 4 + BLOCK as usize
            || self.end > u32::MAX - 2 * BLOCK
            || self.origins.len() > self.len + BLOCK as usize
        {
            self.compact(records);
        }
        let record = &mut records[slot];
        record.is_queued = true;
        let (label, number) = (record.label, record.number);
        let queued = if record.is_plain() {
            records.remove(slot);
            let (source, tag) = label.source_and_tag();
            let origin = self.origin(label.context(), source);
            QueuedMessage { origin, tag: tag as u32, number, next: NIL }
        } else {
            QueuedMessage { origin: HAS_RECORD, tag: slot, number, next: NIL }
        };
        self.append(queued, label, records);
        if self.len > BIN_ENTRIES_MAX * self.bins.len() {
            self.bins = vec![NIL; 2 * self.bins.len()].into();
            self.link_all(records);
        }
    }

    fn origin(&mut self, context: u32, source: u32) -> u32 {
        let next = self.origins.len() as u32;
        let origin = *self.origin_of.entry((context, source)).or_insert(next);
        if origin == next {
            self.origins.push((context, source));
        }
        origin
    }

    fn append(&mut self, queued: QueuedMessage, label: Label, records: &mut Slab<MessageRecord>) {
        let at = self.end;
        self.end += 1;
        self.len += 1;
        if (at - self.base) % BLOCK == 0 {
            self.blocks.push_back(Vec::new());
        }
        self.blocks.back_mut().expect("a block starts with its first message").push(queued);
        if queued.origin == HAS_RECORD {
            let record = &mut records[queued.tag];
            (record.older, record.newer) = (IN_BACKLOG, at);
        }
        self.link(at, label);
    }

    fn link(&mut self, at: u32, label: Label) {
        let bin = self.bin(label);
        let last = std::mem::replace(&mut self.bins[bin], at);
        let first = if last == NIL { at } else { std::mem::replace(&mut self.get_mut(last).next, at) };
        self.get_mut(at).next = first;
    }

    #[cold]
    fn link_all(&mut self, records: &Slab<MessageRecord>) {
        for at in self.first..self.end {
            let queued = *self.get(at);
            if queued.origin != REMOVED {
                self.link(at, self.label(&queued, records));
            }
        }
    }

    #[cold]
    fn compact(&mut self, records: &mut Slab<MessageRecord>) {
        let bins = vec![NIL; self.bins.len()].into();
        let old = std::mem::replace(self, Backlog { bins, ..Backlog::new() });
        for block in old.blocks {
            for mut queued in block.into_iter().filter(|queued| queued.origin != REMOVED) {
                let label = match queued.origin {
                    HAS_RECORD => records[queued.tag].label,
                    origin => {
                        let (context, source) = old.origins[origin as usize];
                        queued.origin = self.origin(context, source);
                        Label::exact(context, source, queued.tag)
                    }
                };
                self.append(queued, label, records);
            }
        }
    }

    pub fn find(&self, selector: Label, records: &Slab<MessageRecord>) -> Option<QueuePosition> {
        if !selector.is_exact() {
            let accepted = |queued: &QueuedMessage| {
                queued.origin != REMOVED && selector.accepts(self.label(queued, records))
            };
            return self.search(accepted);
        }
        let last = self.bins[self.bin(selector)];
        if last == NIL {
            return None;
        }
        let mut before = last;
        loop {
            let at = self.get(before).next;
            if self.label(self.get(at), records) == selector {
                return Some(QueuePosition { at, before });
            }
            if at == last {
                return None;
            }
            before = at;
        }
    }

    pub fn find_number(&self, number: u32) -> Option<QueuePosition> {
        self.search(|queued| queued.origin != REMOVED && queued.number == number)
    }

    fn search(&self, accepted: impl Fn(&QueuedMessage) -> bool) -> Option<QueuePosition> {
        let found = (self.first..self.end).find(|&at| accepted(self.get(at)));
        found.map(Backlog::position)
    }

    pub fn position(at: u32) -> QueuePosition {
        QueuePosition { at, before: NIL }
    }

    pub fn restore_record(
        &mut self,
        QueuePosition { at, .. }: QueuePosition,
        records: &mut Slab<MessageRecord>,
    ) -> u32 {
        let queued = *self.get(at);
        if queued.origin == HAS_RECORD {
            return queued.tag;
        }
        let label = self.label(&queued, records);
        let record = MessageRecord {
            is_queued: true,
            older: IN_BACKLOG,
            newer: at,
            ..MessageRecord::of(label, queued.number)
        };
        let slot = records.insert(record);
        let queued = self.get_mut(at);
        (queued.origin, queued.tag) = (HAS_RECORD, slot);
        slot
    }

    pub fn take(&mut self, found: QueuePosition, records: &mut Slab<MessageRecord>) -> u32 {
        let slot = self.restore_record(found, records);
        self.unlink_from_bin(found, records[slot].label);
        records[slot].is_queued = false;
        self.get_mut(found.at).origin = REMOVED;
        self.len -= 1;
        while self.first < self.end && self.get(self.first).origin == REMOVED {
            self.first += 1;
            if (self.first - self.base) == BLOCK {
                self.blocks.pop_front();
                self.base = self.first;
            }
        }
        slot
    }

    fn unlink_from_bin(&mut self, QueuePosition { at, mut before }: QueuePosition, label: Label) {
        let bin = self.bin(label);
        let last = self.bins[bin];
        if before == NIL {
            before = last;
            while self.get(before).next != at {
                before = self.get(before).next;
            }
        }
        if before == at {
            self.bins[bin] = NIL;
            return;
        }
        self.get_mut(before).next = self.get(at).next;
        if last == at {
            self.bins[bin] = before;
        }
    }
}
