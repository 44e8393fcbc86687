//! Linked queues with 32-bit links in one allocation, for engines with many short queues.
//!
//! ```text
//! slots     [a|b|c|d|–]                one Vec, grown by try_reserve, never shrunk
//! queue 0   head → a → c               a queue is one u32; `prev` of the head is the tail,
//! queue 1   head → b → d               so an empty queue takes 4 bytes
//! ```
//!
//! An entry has `L` pairs of links, so it can be in `L` queues. Push, unlink and removal are O(1).

mod front_removal;
mod shared;

pub(crate) use self::front_removal::FrontRemoval;
pub(crate) use self::shared::{RemovedEntries, SharedSlab};
use crate::engine::Refused;

pub(crate) type SlotIndex = u32;

/// The end of a queue.
pub(crate) const NIL: SlotIndex = u32::MAX;

/// `prev` in the first pair of links of a free slot.
const VACANT: SlotIndex = u32::MAX - 1;

/// A number in the order of posts or arrivals.
#[derive(Clone, Copy)]
pub(crate) struct Aged<T> {
    pub(crate) value: T,
    pub(crate) age: u64,
}

#[derive(Clone, Copy)]
struct Links {
    prev: SlotIndex,
    next: SlotIndex,
}

/// Aligned to a cache line: an unaligned receive of 56 bytes takes 4 ns more per post and arrival.
#[repr(align(64))]
struct Slot<T, const L: usize> {
    value: T,
    links: [Links; L],
}

/// A free slot keeps its last value, and links to the next free slot.
pub(crate) struct Slab<T, const L: usize> {
    slots: Vec<Slot<T, L>>,
    vacant: SlotIndex,
    len: u32,
}

impl<T, const L: usize> Default for Slab<T, L> {
    fn default() -> Self {
        Slab { slots: Vec::new(), vacant: NIL, len: 0 }
    }
}

impl<T: Copy, const L: usize> Slab<T, L> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.slots.capacity() * size_of::<Slot<T, L>>()) as u64
    }

    pub(crate) fn reserve(&mut self, more: usize) -> Result<(), Refused> {
        let vacant = self.slots.len() - self.len();
        self.slots.try_reserve(more.saturating_sub(vacant)).map_err(|_| Refused::Memory)
    }

    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> Result<SlotIndex, Refused> {
        let links = [Links { prev: NIL, next: NIL }; L];
        let at = self.vacant;
        if at == NIL {
            return self.grow(Slot { value, links });
        }
        let slot = &mut self.slots[at as usize];
        self.vacant = slot.links[0].next;
        *slot = Slot { value, links };
        self.len += 1;
        Ok(at)
    }

    #[cold]
    fn grow(&mut self, slot: Slot<T, L>) -> Result<SlotIndex, Refused> {
        let at = self.slots.len() as SlotIndex;
        if at >= VACANT {
            return Err(Refused::Full);
        }
        self.slots.try_reserve(1).map_err(|_| Refused::Memory)?;
        self.slots.push(slot);
        self.len += 1;
        Ok(at)
    }

    #[inline]
    pub(crate) fn remove(&mut self, at: SlotIndex) -> T {
        let slot = &mut self.slots[at as usize];
        slot.links[0] = Links { prev: VACANT, next: self.vacant };
        self.vacant = at;
        self.len -= 1;
        slot.value
    }

    /// Removes all entries and keeps the memory. The caller discards all queues of this slab.
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.vacant = NIL;
        self.len = 0;
    }

    #[inline]
    pub(crate) fn next(&self, at: SlotIndex, which: usize) -> SlotIndex {
        self.slots[at as usize].links[which].next
    }

    #[inline]
    pub(crate) fn get_and_next(&self, at: SlotIndex) -> (&T, SlotIndex) {
        let slot = &self.slots[at as usize];
        (&slot.value, slot.links[0].next)
    }

    #[inline]
    pub(crate) fn get(&self, at: SlotIndex) -> &T {
        &self.slots[at as usize].value
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: SlotIndex) -> &mut T {
        &mut self.slots[at as usize].value
    }

    /// All entries in memory order. O(slots used so far).
    pub(crate) fn iter(&self) -> impl Iterator<Item = (SlotIndex, &T)> {
        let kept = |slot: &&Slot<T, L>| slot.links[0].prev != VACANT;
        (0..).zip(&self.slots).filter(move |(_, slot)| kept(slot)).map(|(at, slot)| (at, &slot.value))
    }
}

/// Oldest entry first, connected by the links number `W`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkedQueue<const W: usize = 0> {
    head: SlotIndex,
}

impl<const W: usize> Default for LinkedQueue<W> {
    fn default() -> Self {
        LinkedQueue { head: NIL }
    }
}

impl<const W: usize> LinkedQueue<W> {
    /// The oldest entry, or [`NIL`].
    #[inline]
    pub(crate) fn head(self) -> SlotIndex {
        self.head
    }

    /// The entry is in no other queue with links `W`.
    #[inline]
    pub(crate) fn push<T, const L: usize>(&mut self, slab: &mut Slab<T, L>, at: SlotIndex) {
        if self.head == NIL {
            slab.slots[at as usize].links[W] = Links { prev: at, next: NIL };
            self.head = at;
            return;
        }
        let head = &mut slab.slots[self.head as usize].links[W];
        let tail = std::mem::replace(&mut head.prev, at);
        slab.slots[tail as usize].links[W].next = at;
        slab.slots[at as usize].links[W] = Links { prev: tail, next: NIL };
    }

    /// Inserts an entry before `after`, or at the end if `after` is [`NIL`].
    fn insert_before<T, const L: usize>(&mut self, slab: &mut Slab<T, L>, at: SlotIndex, after: SlotIndex) {
        if after == NIL {
            return self.push(slab, at);
        }
        let prev = std::mem::replace(&mut slab.slots[after as usize].links[W].prev, at);
        slab.slots[at as usize].links[W] = Links { prev, next: after };
        if after == self.head {
            self.head = at;
        } else {
            slab.slots[prev as usize].links[W].next = at;
        }
    }

    /// The entry stays in the slab.
    #[inline]
    pub(crate) fn unlink<T, const L: usize>(&mut self, slab: &mut Slab<T, L>, at: SlotIndex) {
        let Links { prev, next } = slab.slots[at as usize].links[W];
        if self.head == at {
            self.head = next;
        } else {
            slab.slots[prev as usize].links[W].next = next;
        }
        let neighbour = if next == NIL { self.head } else { next };
        if neighbour != NIL {
            slab.slots[neighbour as usize].links[W].prev = prev;
        }
    }

    /// The first match older than `age`. Adds compared entries to `examined`.
    #[inline]
    pub(crate) fn search<T: Copy, const L: usize>(
        self,
        slab: &Slab<Aged<T>, L>,
        age: u64,
        examined: &mut u64,
        matches: impl Fn(SlotIndex, &T) -> bool,
    ) -> Option<SlotIndex> {
        let mut at = self.head;
        while at != NIL && slab.get(at).age < age {
            *examined += 1;
            if matches(at, &slab.get(at).value) {
                return Some(at);
            }
            at = slab.next(at, W);
        }
        None
    }

    /// The oldest match of both queues; true if the match is in `other`. Searches this queue, then older
    /// entries of `other`. Adds compared entries to `examined`.
    #[inline]
    pub(crate) fn search_both<T: Copy, const L: usize>(
        self,
        other: Self,
        slab: &Slab<Aged<T>, L>,
        examined: &mut u64,
        matches: impl Fn(&T) -> bool,
    ) -> Option<(SlotIndex, bool)> {
        let own = self.search(slab, u64::MAX, examined, |_, value| matches(value));
        let age = own.map_or(u64::MAX, |at| slab.get(at).age);
        let older = other.search(slab, age, examined, |_, value| matches(value));
        older.map(|at| (at, true)).or(own.map(|at| (at, false)))
    }

    /// As [`search_both`](Self::search_both), but compares the entries of both queues in one order, by age.
    #[inline]
    pub(crate) fn search_merged<T: Copy, const L: usize>(
        self,
        other: Self,
        slab: &Slab<Aged<T>, L>,
        examined: &mut u64,
        matches: impl Fn(&T) -> bool,
    ) -> Option<(SlotIndex, bool)> {
        for (queue, is_empty, is_other) in [(self, other.head == NIL, false), (other, self.head == NIL, true)]
        {
            if is_empty {
                let found = queue.search(slab, u64::MAX, examined, |_, value| matches(value));
                return found.map(|at| (at, is_other));
            }
        }
        let (mut at, mut at_other) = (self.head, other.head);
        let age = |at: SlotIndex| if at == NIL { u64::MAX } else { slab.get(at).age };
        loop {
            let is_other = age(at_other) < age(at);
            let next = if is_other { &mut at_other } else { &mut at };
            if *next == NIL {
                return None;
            }
            *examined += 1;
            if matches(&slab.get(*next).value) {
                return Some((*next, is_other));
            }
            *next = slab.next(*next, W);
        }
    }

    pub(crate) fn insert<T: Copy, const L: usize>(&mut self, slab: &mut Slab<Aged<T>, L>, at: SlotIndex) {
        let age = slab.get(at).age;
        let younger = self.iter(slab).find(|(_, entry)| entry.age > age).map_or(NIL, |(slot, _)| slot);
        self.insert_before(slab, at, younger);
    }

    pub(crate) fn iter<T: Copy, const L: usize>(
        self,
        slab: &Slab<T, L>,
    ) -> impl Iterator<Item = (SlotIndex, &T)> {
        let mut at = self.head;
        std::iter::from_fn(move || {
            let slot = (at != NIL).then_some(at)?;
            at = slab.next(slot, W);
            Some((slot, slab.get(slot)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(queue: LinkedQueue, slab: &Slab<u8, 1>) -> Vec<u8> {
        queue.iter(slab).map(|(_, &value)| value).collect()
    }

    #[test]
    fn entries_are_removed_at_any_position() {
        for removed in 0..3 {
            let (mut slab, mut queue) = (Slab::<u8, 1>::default(), LinkedQueue::<0>::default());
            for value in 0..3 {
                let at = slab.insert(value).unwrap();
                queue.push(&mut slab, at);
            }
            queue.unlink(&mut slab, removed);
            assert_eq!(slab.remove(removed), removed as u8);
            let at = slab.insert(9).unwrap();
            assert_eq!(at, removed, "the free slot is used first");
            queue.push(&mut slab, at);
            let expected: Vec<u8> = (0..3).filter(|&value| u32::from(value) != removed).chain([9]).collect();
            assert_eq!(values(queue, &slab), expected);
        }
    }

    #[test]
    fn insert_before_keeps_order() {
        for before in [0, 1, 2, NIL] {
            let (mut slab, mut queue) = (Slab::<u8, 1>::default(), LinkedQueue::<0>::default());
            for value in 0..3 {
                let at = slab.insert(value).unwrap();
                queue.push(&mut slab, at);
            }
            let at = slab.insert(9).unwrap();
            queue.insert_before(&mut slab, at, before);
            let mut expected = vec![0, 1, 2];
            expected.insert(before.min(3) as usize, 9);
            assert_eq!(values(queue, &slab), expected);
            let at = slab.insert(10).unwrap();
            queue.push(&mut slab, at);
            assert_eq!(values(queue, &slab)[4], 10, "the new entry is at the tail");
        }
    }
}
