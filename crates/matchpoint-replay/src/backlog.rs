//! Compact queue for very many unexpected messages: 16 bytes each, and 1 to 2 bytes for bins.
//!
//! The record of a message in flight has 56 bytes. The backlog keeps only envelope and number of a plain
//! message, until the simulation asks for the record. A message keeps its record if its sender waits for it,
//! or if the simulation invented it.
//!
//! Taken messages leave gaps. An empty first block is freed at once; other gaps are closed when they are a
//! fifth of the queue.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::entries::{Flight, NIL};
use crate::label::Label;
use crate::slab::Slab;

/// 4 KiB.
const BLOCK_BITS: u32 = 8;
const BLOCK: u32 = 1 << BLOCK_BITS;

/// Initial bins, as a power of two; messages per bin before they grow.
const FIRST_BITS: u32 = 4;
const CROWD: usize = 4;

/// Values of [`Waiting::origin`]: the message was taken; `tag` is the index of its record.
const GONE: u32 = u32::MAX;
const KEPT: u32 = u32::MAX - 1;

/// Value of [`Flight::older`] in a record; `newer` is the position in the backlog.
pub(crate) const IN_BACKLOG: u32 = u32::MAX - 1;

#[derive(Clone, Copy)]
struct Waiting {
    /// Index in `origins`.
    origin: u32,
    tag: u32,
    number: u32,
    /// Next position in the bin. The last message refers to the first.
    next: u32,
}

/// Position of a message, and of its predecessor in the bin, if known.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    at: u32,
    before: u32,
}

pub(crate) struct Backlog {
    blocks: VecDeque<Vec<Waiting>>,
    /// Positions of the first slot, of the oldest message, and after the newest.
    base: u32,
    first: u32,
    end: u32,
    len: usize,
    /// Position of the newest message of each bin.
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
    pub fn places(&self) -> usize {
        self.blocks.iter().map(Vec::capacity).sum()
    }

    #[inline]
    fn get(&self, at: u32) -> &Waiting {
        let at = at - self.base;
        &self.blocks[(at >> BLOCK_BITS) as usize][(at % BLOCK) as usize]
    }

    #[inline]
    fn get_mut(&mut self, at: u32) -> &mut Waiting {
        let at = at - self.base;
        &mut self.blocks[(at >> BLOCK_BITS) as usize][(at % BLOCK) as usize]
    }

    fn label(&self, waiting: &Waiting, flights: &Slab<Flight>) -> Label {
        if waiting.origin == KEPT {
            return flights[waiting.tag].label;
        }
        let (context, source) = self.origins[waiting.origin as usize];
        Label::exact(context, source, waiting.tag)
    }

    fn bin(&self, label: Label) -> usize {
        (label.hash() >> (64 - self.bins.len().trailing_zeros())) as usize
    }

    /// May remove the message's record.
    pub fn push(&mut self, flights: &mut Slab<Flight>, place: u32) {
        let gaps = (self.end - self.base) as usize - self.len;
        if gaps > self.len / 4 + BLOCK as usize
            || self.end > u32::MAX - 2 * BLOCK
            || self.origins.len() > self.len + BLOCK as usize
        {
            self.move_up(flights);
        }
        let flight = &mut flights[place];
        flight.is_queued = true;
        let (label, number) = (flight.label, flight.number);
        let waiting = if flight.is_plain() {
            flights.remove(place);
            let (source, tag) = label.reported();
            let origin = self.origin(label.context(), source);
            Waiting { origin, tag: tag as u32, number, next: NIL }
        } else {
            Waiting { origin: KEPT, tag: place, number, next: NIL }
        };
        self.append(waiting, label, flights);
        if self.len > CROWD * self.bins.len() {
            self.bins = vec![NIL; 2 * self.bins.len()].into();
            self.link_all(flights);
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

    fn append(&mut self, waiting: Waiting, label: Label, flights: &mut Slab<Flight>) {
        let at = self.end;
        self.end += 1;
        self.len += 1;
        if (at - self.base) % BLOCK == 0 {
            self.blocks.push_back(Vec::new());
        }
        self.blocks.back_mut().expect("one was made at the first message of a block").push(waiting);
        if waiting.origin == KEPT {
            let flight = &mut flights[waiting.tag];
            (flight.older, flight.newer) = (IN_BACKLOG, at);
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
    fn link_all(&mut self, flights: &Slab<Flight>) {
        for at in self.first..self.end {
            let waiting = *self.get(at);
            if waiting.origin != GONE {
                self.link(at, self.label(&waiting, flights));
            }
        }
    }

    /// Also drops unused origins.
    #[cold]
    fn move_up(&mut self, flights: &mut Slab<Flight>) {
        let bins = vec![NIL; self.bins.len()].into();
        let old = std::mem::replace(self, Backlog { bins, ..Backlog::new() });
        for block in old.blocks {
            for mut waiting in block.into_iter().filter(|waiting| waiting.origin != GONE) {
                let label = match waiting.origin {
                    KEPT => flights[waiting.tag].label,
                    origin => {
                        let (context, source) = old.origins[origin as usize];
                        waiting.origin = self.origin(context, source);
                        Label::exact(context, source, waiting.tag)
                    }
                };
                self.append(waiting, label, flights);
            }
        }
    }

    pub fn find(&self, asked: Label, flights: &Slab<Flight>) -> Option<Found> {
        if !asked.is_exact() {
            let accepted =
                |waiting: &Waiting| waiting.origin != GONE && asked.accepts(self.label(waiting, flights));
            return self.search(accepted);
        }
        let last = self.bins[self.bin(asked)];
        if last == NIL {
            return None;
        }
        let mut before = last;
        loop {
            let at = self.get(before).next;
            if self.label(self.get(at), flights) == asked {
                return Some(Found { at, before });
            }
            if at == last {
                return None;
            }
            before = at;
        }
    }

    pub fn numbered(&self, number: u32) -> Option<Found> {
        self.search(|waiting| waiting.origin != GONE && waiting.number == number)
    }

    fn search(&self, accepted: impl Fn(&Waiting) -> bool) -> Option<Found> {
        let found = (self.first..self.end).find(|&at| accepted(self.get(at)));
        found.map(Backlog::at)
    }

    pub fn at(at: u32) -> Found {
        Found { at, before: NIL }
    }

    /// Restores the record of a queued message and returns its index.
    pub fn keep(&mut self, Found { at, .. }: Found, flights: &mut Slab<Flight>) -> u32 {
        let waiting = *self.get(at);
        if waiting.origin == KEPT {
            return waiting.tag;
        }
        let label = self.label(&waiting, flights);
        let flight =
            Flight { is_queued: true, older: IN_BACKLOG, newer: at, ..Flight::of(label, waiting.number) };
        let place = flights.insert(flight);
        let kept = self.get_mut(at);
        (kept.origin, kept.tag) = (KEPT, place);
        place
    }

    /// Removes a message and returns the index of its record.
    pub fn take(&mut self, found: Found, flights: &mut Slab<Flight>) -> u32 {
        let place = self.keep(found, flights);
        self.leave_bin(found, flights[place].label);
        flights[place].is_queued = false;
        self.get_mut(found.at).origin = GONE;
        self.len -= 1;
        while self.first < self.end && self.get(self.first).origin == GONE {
            self.first += 1;
            if (self.first - self.base) == BLOCK {
                self.blocks.pop_front();
                self.base = self.first;
            }
        }
        place
    }

    fn leave_bin(&mut self, Found { at, mut before }: Found, label: Label) {
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
