//! Unexpected messages of `bins`: 40 bytes per message, 4 bytes per bin.
//!
//! A message is in a bin *and* in a list of all messages in arrival order, where its position is its age. A
//! gather can queue half a million messages at its root, so links take few bytes: a bin is a circular list
//! with links in one direction, found by its last message. A removal needs the previous message of the bin,
//! which the search has just examined.
//!
//! The compared fields take half a cache line. A separate array has the links of the list, because only
//! wildcard searches use the list.

use crate::engine::{Message, MsgId, Refused};
use crate::envelope::{ContextId, Envelope, Rank, Selector, Tag};
use crate::linked::{NIL, SlotIndex};

/// Compared fields, and the next message of the bin. The last message of a bin links to the first; a free
/// slot links to the next free slot.
///
/// The 32 bytes have no alignment attribute: a growing vector with such an attribute is copied, not remapped,
/// which cost 27 bytes per message for ten million messages.
#[derive(Clone, Copy)]
struct Slot {
    id: MsgId,
    source: Rank,
    tag: Tag,
    context: ContextId,
    next: SlotIndex,
}

#[derive(Clone, Copy)]
struct Neighbours {
    older: SlotIndex,
    newer: SlotIndex,
}

/// Value of `older` in a free slot.
const VACANT: SlotIndex = u32::MAX - 1;

/// `before` is the previous message of the bin (the message itself in a bin of one), or `NIL` if unknown.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(super) at: SlotIndex,
    before: SlotIndex,
}

pub(super) struct Messages {
    slots: Vec<Slot>,
    order: Vec<Neighbours>,
    /// The last message of each bin, allocated before the first message.
    bins: Box<[SlotIndex]>,
    count: u32,
    oldest: SlotIndex,
    newest: SlotIndex,
    vacant: SlotIndex,
    len: u32,
}

impl Slot {
    #[inline]
    fn envelope(&self) -> Envelope {
        Envelope { context: self.context, source: self.source, tag: self.tag }
    }
}

impl Messages {
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

    /// Bytes allocated for messages, and for bins. The memory never shrinks.
    pub fn bytes(&self) -> (u64, u64) {
        let slots = self.slots.capacity() * size_of::<Slot>();
        let order = self.order.capacity() * size_of::<Neighbours>();
        ((slots + order) as u64, size_of_val(&*self.bins) as u64)
    }

    #[inline]
    pub fn get(&self, at: SlotIndex) -> Message {
        let slot = &self.slots[at as usize];
        Message::new(slot.id, slot.envelope())
    }

    #[inline]
    pub fn envelope(&self, at: SlotIndex) -> Envelope {
        self.slots[at as usize].envelope()
    }

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

    #[cold]
    fn grow(&mut self) -> Result<SlotIndex, Refused> {
        let at = self.slots.len() as SlotIndex;
        if at >= VACANT {
            return Err(Refused::Full);
        }
        if self.bins.is_empty() {
            self.bins = allocate_bins(self.count, NIL)?;
        }
        self.slots.try_reserve(1).map_err(|_| Refused::Memory)?;
        self.order.try_reserve(1).map_err(|_| Refused::Memory)?;
        let (source, tag, context) = (Rank(0), Tag(0), ContextId(0));
        self.slots.push(Slot { id: MsgId(0), source, tag, context, next: NIL });
        self.order.push(Neighbours { older: VACANT, newer: NIL });
        Ok(at)
    }

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

    /// As [`search_bin`](Self::search_bin), but searches the list of all messages.
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

    pub fn iter(&self) -> impl Iterator<Item = SlotIndex> {
        let is_one = |at: &SlotIndex| *at != NIL;
        let older = move |&at: &SlotIndex| Some(self.order[at as usize].older).filter(is_one);
        std::iter::successors(Some(self.newest).filter(is_one), older)
    }

    pub fn find_by_id(&self, id: MsgId) -> Option<Found> {
        let mut all = (0..).zip(self.slots.iter().zip(&self.order));
        let named = all.find(|(_, (slot, order))| slot.id == id && order.older != VACANT);
        named.map(|(at, _)| Found { at, before: NIL })
    }

    /// The message in slot `at`, with unknown predecessor in its bin.
    pub fn at_place(at: SlotIndex) -> Found {
        Found { at, before: NIL }
    }

    #[inline]
    pub fn take(&mut self, found: Found, bin: usize) {
        self.unlink_from_bin(found, bin);
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
    fn unlink_from_bin(&mut self, Found { at, mut before }: Found, bin: usize) {
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

    /// Moves the message to the new bin, at its age. O(older messages).
    pub fn set_envelope(&mut self, at: SlotIndex, named: Envelope, bin: impl Fn(&Envelope) -> usize) {
        self.unlink_from_bin(Messages::at_place(at), bin(&self.envelope(at)));
        let slot = &mut self.slots[at as usize];
        (slot.context, slot.source, slot.tag) = (named.context, named.source, named.tag);
        let to = bin(&named);
        let last = self.bins[to];
        let mut older = if last == NIL { NIL } else { self.order[at as usize].older };
        while older != NIL && bin(&self.envelope(older)) != to {
            older = self.order[older as usize].older;
        }
        let before = if older == NIL { last } else { older };
        let next =
            if last == NIL { at } else { std::mem::replace(&mut self.slots[before as usize].next, at) };
        self.slots[at as usize].next = next;
        if older == last {
            self.bins[to] = at;
        }
    }
}

pub(super) fn allocate_bins<T: Clone>(n: u32, nothing: T) -> Result<Box<[T]>, Refused> {
    let mut bins = Vec::new();
    bins.try_reserve_exact(n as usize).map_err(|_| Refused::Memory)?;
    bins.resize(n as usize, nothing);
    Ok(bins.into_boxed_slice())
}
