//! A slab shared by several threads, which remove entries from different queues.
//!
//! One thread uses a queue and the links of its entries, so threads need neither locks nor atomic operations.

#![allow(unsafe_code)]

use std::marker::PhantomData;

use super::{Aged, LinkedQueue, Links, NIL, Slab, Slot, SlotIndex, VACANT};

pub(crate) struct SharedSlab<'a, T> {
    slots: *mut [Slot<Aged<T>, 1>],
    queues: *mut [LinkedQueue],
    borrow: PhantomData<&'a mut T>,
}

// SAFETY: only values of `T: Send` are reachable. The callers of `take_first` guarantee that no two threads
// use the same queue.
unsafe impl<T: Send> Sync for SharedSlab<'_, T> {}

/// Slots that one thread removed, linked as free slots.
#[derive(Clone, Copy)]
pub(crate) struct RemovedEntries {
    first: SlotIndex,
    last: SlotIndex,
    count: u32,
    pub(crate) emptied: u32,
    pub(crate) examined: u64,
}

impl Default for RemovedEntries {
    fn default() -> Self {
        RemovedEntries { first: NIL, last: NIL, count: 0, emptied: 0, examined: 0 }
    }
}

impl<T: Copy> Slab<Aged<T>, 1> {
    pub(crate) fn share<'a>(&'a mut self, queues: &'a mut [LinkedQueue]) -> SharedSlab<'a, T> {
        SharedSlab { slots: &raw mut *self.slots, queues: &raw mut *queues, borrow: PhantomData }
    }

    pub(crate) fn reclaim(&mut self, taken: &RemovedEntries) {
        if taken.count > 0 {
            self.slots[taken.last as usize].links[0].next = self.vacant;
            self.vacant = taken.first;
            self.len -= taken.count;
        }
    }
}

impl<T: Copy> SharedSlab<'_, T> {
    fn slot(&self, at: SlotIndex) -> *mut Slot<Aged<T>, 1> {
        assert!((at as usize) < self.slots.len(), "links lead to entries");
        self.slots.cast::<Slot<Aged<T>, 1>>().wrapping_add(at as usize)
    }

    /// Removes the oldest entry of a queue for which `accept` returns a value.
    ///
    /// # Safety
    /// No other thread is in a call with the same `queue`.
    #[inline]
    pub(crate) unsafe fn take_first<A>(
        &self,
        queue: usize,
        taken: &mut RemovedEntries,
        accept: impl Fn(&T) -> Option<A>,
    ) -> Option<A> {
        assert!(queue < self.queues.len(), "the queue was passed to `share`");
        // SAFETY: in bounds by the assertion; the caller guarantees that only this thread uses the queue.
        let head = unsafe { &mut *self.queues.cast::<LinkedQueue>().wrapping_add(queue) };
        let mut at = head.head;
        while at != NIL {
            // SAFETY: an entry of this queue, which only this thread uses.
            let slot = unsafe { &mut *self.slot(at) };
            taken.examined += 1;
            let next = slot.links[0].next;
            if let Some(found) = accept(&slot.value.value) {
                let prev = slot.links[0].prev;
                slot.links[0] = Links { prev: VACANT, next: taken.first };
                if taken.count == 0 {
                    taken.last = at;
                }
                taken.first = at;
                taken.count += 1;
                // SAFETY: the neighbours of the entry in this queue.
                unsafe { self.close_gap(head, at, prev, next) };
                taken.emptied += u32::from(head.head == NIL);
                return Some(found);
            }
            at = next;
        }
        None
    }

    /// As [`LinkedQueue::unlink`].
    ///
    /// # Safety
    /// Only this thread uses the queue.
    #[inline]
    unsafe fn close_gap(&self, queue: &mut LinkedQueue, at: SlotIndex, prev: SlotIndex, next: SlotIndex) {
        if queue.head == at {
            queue.head = next;
        } else {
            // SAFETY: the previous entry of the queue, which only this thread uses.
            unsafe { (*self.slot(prev)).links[0].next = next };
        }
        let neighbour = if next == NIL { queue.head } else { next };
        if neighbour != NIL {
            // SAFETY: the next entry or the head of the queue, which only this thread uses.
            unsafe { (*self.slot(neighbour)).links[0].prev = prev };
        }
    }

    /// Loads the first entry into the cache, so that the loads of many queues overlap.
    ///
    /// # Safety
    /// No other thread is in a call with the same `queue`.
    #[inline]
    pub(crate) unsafe fn prefetch_head(&self, queue: usize) -> u64 {
        assert!(queue < self.queues.len(), "the queue was passed to `share`");
        // SAFETY: in bounds; the caller guarantees that only this thread uses the queue.
        let head = unsafe { (*self.queues.cast::<LinkedQueue>().wrapping_add(queue)).head };
        // SAFETY: an entry of this queue, which only this thread uses.
        if head == NIL { 0 } else { unsafe { (*self.slot(head)).value.age } }
    }
}
