//! The messages that wait: 40 bytes each, and 4 a bin.
//!
//! A message lies in a bin *and* in one list of all arrivals. Half a million of them are no rarity where a gather runs
//! ahead of its root, so it has no link that can be done without: its age is its place in the list, and bins are linked
//! one way, from the tail round to the head. Who takes a message out of a bin knows the one before it there, or has
//! examined it a moment ago: those before it in its bin arrived before it.
//!
//! What searches compare takes half a cache line; the list's links, which only wildcards follow, lie by themselves.

use crate::chains::{NIL, Place};
use crate::engine::{Message, MsgId, Refused};
use crate::envelope::{ContextId, Envelope, Rank, Selector, Tag};

/// What a search compares, and the next in the bin: of the last one, the first. Of a vacant place, the next vacant.
///
/// 32 bytes, but not aligned so: a table of types that ask for more than malloc gives is copied where it grows, and for a
/// while takes twice its memory, where another has its pages moved. Of ten million messages that was 27 bytes each.
#[derive(Clone, Copy)]
struct Slot {
    id: MsgId,
    source: Rank,
    tag: Tag,
    context: ContextId,
    next: Place,
}

/// Neighbours in the list of arrivals.
#[derive(Clone, Copy)]
struct Neighbours {
    older: Place,
    newer: Place,
}

/// In `older`: nothing waits here.
const VACANT: Place = u32::MAX - 1;

/// A message that was found, and, if that is known, the one before it in its bin: itself, where it is alone.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(super) at: Place,
    before: Place,
}

/// See the [module's documentation](self).
pub(super) struct Messages {
    slots: Vec<Slot>,
    order: Vec<Neighbours>,
    /// The last of each bin; none before the first message.
    bins: Box<[Place]>,
    count: u32,
    oldest: Place,
    newest: Place,
    vacant: Place,
    len: u32,
}

impl Slot {
    #[inline]
    fn envelope(&self) -> Envelope {
        Envelope { context: self.context, source: self.source, tag: self.tag }
    }
}

impl Messages {
    /// With so many bins.
    pub fn new(count: u32) -> Self {
        Messages {
            slots: Vec::new(),
            order: Vec::new(),
            bins: Box::default(),
            count,
            oldest: NIL,
            newest: NIL,
            vacant: NIL,
            len: 0,
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Bytes allocated for messages, and for bins. Never fewer than before.
    pub fn bytes(&self) -> (u64, u64) {
        let slots = self.slots.capacity() * size_of::<Slot>();
        let order = self.order.capacity() * size_of::<Neighbours>();
        ((slots + order) as u64, size_of_val(&*self.bins) as u64)
    }

    #[inline]
    pub fn get(&self, at: Place) -> Message {
        let slot = &self.slots[at as usize];
        Message::new(slot.id, slot.envelope())
    }

    #[inline]
    pub fn envelope(&self, at: Place) -> Envelope {
        self.slots[at as usize].envelope()
    }

    /// A message joins the list, and that bin.
    #[inline]
    pub fn push(&mut self, message: Message, bin: usize) -> Result<(), Refused> {
        let at = if self.vacant == NIL { self.grow()? } else { self.vacant };
        let last = self.bins[bin];
        let place = &mut self.slots[at as usize];
        self.vacant = place.next;
        let Envelope { context, source, tag } = message.envelope;
        *place = Slot { id: message.id, source, tag, context, next: at };
        self.bins[bin] = at;
        if last != NIL {
            let first = std::mem::replace(&mut self.slots[last as usize].next, at);
            self.slots[at as usize].next = first;
        }
        let older = std::mem::replace(&mut self.newest, at);
        self.order[at as usize] = Neighbours { older, newer: NIL };
        if older == NIL {
            self.oldest = at;
        } else {
            self.order[older as usize].newer = at;
        }
        self.len += 1;
        Ok(())
    }

    /// One more place, vacant.
    #[cold]
    fn grow(&mut self) -> Result<Place, Refused> {
        let at = self.slots.len() as Place;
        if at >= VACANT {
            return Err(Refused::Full);
        }
        if self.bins.is_empty() {
            self.bins = empty(self.count, NIL)?;
        }
        self.slots.try_reserve(1).map_err(|_| Refused::Memory)?;
        self.order.try_reserve(1).map_err(|_| Refused::Memory)?;
        let (source, tag, context) = (Rank(0), Tag(0), ContextId(0));
        self.slots.push(Slot { id: MsgId(0), source, tag, context, next: NIL });
        self.order.push(Neighbours { older: VACANT, newer: NIL });
        Ok(at)
    }

    /// The first in that bin that `selector` matches. Adds the messages compared to `examined`.
    #[inline]
    pub fn search_bin(&self, bin: usize, selector: &Selector, examined: &mut u64) -> Option<Found> {
        let last = self.bins[bin];
        if last == NIL {
            return None;
        }
        let mut before = last;
        loop {
            let at = self.slots[before as usize].next;
            *examined += 1;
            if selector.matches(&self.slots[at as usize].envelope()) {
                return Some(Found { at, before });
            }
            if at == last {
                return None;
            }
            before = at;
        }
    }

    /// The earliest of all that `selector` matches. Adds the messages compared to `examined`.
    #[inline]
    pub fn search_all(&self, selector: &Selector, examined: &mut u64) -> Option<Found> {
        let mut at = self.oldest;
        while at != NIL {
            *examined += 1;
            if selector.matches(&self.slots[at as usize].envelope()) {
                return Some(Found { at, before: NIL });
            }
            at = self.order[at as usize].newer;
        }
        None
    }

    /// All that wait, from the newest on.
    pub fn iter(&self) -> impl Iterator<Item = Place> {
        let is_one = |at: &Place| *at != NIL;
        let older = move |&at: &Place| Some(self.order[at as usize].older).filter(is_one);
        std::iter::successors(Some(self.newest).filter(is_one), older)
    }

    /// The message of that name. Compares all, in the order of memory.
    pub fn named(&self, id: MsgId) -> Option<Found> {
        let mut all = (0..).zip(self.slots.iter().zip(&self.order));
        let named = all.find(|(_, (slot, order))| slot.id == id && order.older != VACANT);
        named.map(|(at, _)| Found { at, before: NIL })
    }

    /// One that was found, by its place alone.
    pub fn found(at: Place) -> Found {
        Found { at, before: NIL }
    }

    /// Takes a message out of the list, and out of that bin, which is its own.
    #[inline]
    pub fn take(&mut self, found: Found, bin: usize) {
        self.leave_bin(found, bin);
        let at = found.at;
        let Neighbours { older, newer } = self.order[at as usize];
        match older {
            NIL => self.oldest = newer,
            older => self.order[older as usize].newer = newer,
        }
        match newer {
            NIL => self.newest = older,
            newer => self.order[newer as usize].older = older,
        }
        self.order[at as usize].older = VACANT;
        self.slots[at as usize].next = std::mem::replace(&mut self.vacant, at);
        self.len -= 1;
    }

    #[inline]
    fn leave_bin(&mut self, Found { at, mut before }: Found, bin: usize) {
        let last = self.bins[bin];
        if before == NIL {
            before = last;
            while self.slots[before as usize].next != at {
                before = self.slots[before as usize].next;
            }
        }
        if before == at {
            self.bins[bin] = NIL;
            return;
        }
        self.slots[before as usize].next = self.slots[at as usize].next;
        if last == at {
            self.bins[bin] = before;
        }
    }

    /// Gives a message another envelope, which may be in another bin. The message keeps its age. O(older messages).
    pub fn rename(&mut self, at: Place, named: Envelope, bin: impl Fn(&Envelope) -> usize) {
        self.leave_bin(Messages::found(at), bin(&self.envelope(at)));
        let slot = &mut self.slots[at as usize];
        (slot.context, slot.source, slot.tag) = (named.context, named.source, named.tag);
        let to = bin(&named);
        let last = self.bins[to];
        let mut older = if last == NIL { NIL } else { self.order[at as usize].older };
        while older != NIL && bin(&self.envelope(older)) != to {
            older = self.order[older as usize].older;
        }
        // The first of a bin follows its last.
        let before = if older == NIL { last } else { older };
        let next =
            if last == NIL { at } else { std::mem::replace(&mut self.slots[before as usize].next, at) };
        self.slots[at as usize].next = next;
        if older == last {
            self.bins[to] = at;
        }
    }
}

/// So many bins with nothing in them.
pub(super) fn empty<T: Clone>(n: u32, nothing: T) -> Result<Box<[T]>, Refused> {
    let mut bins = Vec::new();
    bins.try_reserve_exact(n as usize).map_err(|_| Refused::Memory)?;
    bins.resize(n as usize, nothing);
    Ok(bins.into_boxed_slice())
}
