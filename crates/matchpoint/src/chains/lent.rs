//! A slab lent to several threads at once, of which each takes entries out of chains of its own.
//!
//! Nothing is shared between two chains of the same links: an entry is in one of them, and what is taken out of it is linked
//! up by the thread that took it. So threads that keep to their chains need no atomic operation, and no lock.

#![allow(unsafe_code)]

use std::marker::PhantomData;

use super::{Aged, Chain, Links, NIL, Place, Slab, Slot, VACANT};

/// A slab and chains of it, lent. See the [module's documentation](self).
pub(crate) struct Lent<'a, T> {
    slots: *mut [Slot<Aged<T>, 1>],
    chains: *mut [Chain],
    lender: PhantomData<&'a mut T>,
}

// SAFETY: what is reached through it is `T`s, which may go to other threads; that no two threads reach the same one is
// what the callers of `take_first` guarantee.
unsafe impl<T: Send> Sync for Lent<'_, T> {}

/// What one thread took: entries that are in no chain any more, linked as vacant places are.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    first: Place,
    last: Place,
    count: u32,
    /// Chains of which it took the last entry.
    pub(crate) emptied: u32,
    /// Entries compared.
    pub(crate) examined: u64,
}

impl Default for Taken {
    fn default() -> Self {
        Taken { first: NIL, last: NIL, count: 0, emptied: 0, examined: 0 }
    }
}

impl<T: Copy> Slab<Aged<T>, 1> {
    /// Lends entries and the chains they are in.
    pub(crate) fn lend<'a>(&'a mut self, chains: &'a mut [Chain]) -> Lent<'a, T> {
        Lent { slots: &raw mut *self.slots, chains: &raw mut *chains, lender: PhantomData }
    }

    /// Has the places of what was taken again.
    pub(crate) fn take_back(&mut self, taken: &Taken) {
        if taken.count > 0 {
            self.slots[taken.last as usize].links[0].next = self.vacant;
            self.vacant = taken.first;
            self.len -= taken.count;
        }
    }
}

impl<T: Copy> Lent<'_, T> {
    /// An entry's place in memory.
    fn slot(&self, at: Place) -> *mut Slot<Aged<T>, 1> {
        assert!((at as usize) < self.slots.len(), "links lead to entries");
        // Not dereferenced here, and within the slab by the assertion.
        self.slots.cast::<Slot<Aged<T>, 1>>().wrapping_add(at as usize)
    }

    /// Takes the oldest entry of a chain of which `accept` gives something out of it.
    ///
    /// # Safety
    /// No other thread is in a call with the same `chain`.
    #[inline]
    pub(crate) unsafe fn take_first<A>(
        &self,
        chain: usize,
        taken: &mut Taken,
        accept: impl Fn(&T) -> Option<A>,
    ) -> Option<A> {
        assert!(chain < self.chains.len(), "a chain that was lent");
        // SAFETY: it is one of the chains, by the assertion, and only this thread has it: so says the caller.
        let head = unsafe { &mut *self.chains.cast::<Chain>().wrapping_add(chain) };
        let mut at = head.head;
        while at != NIL {
            // SAFETY: an entry of this chain, which no other chain has, and no other thread.
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
                // SAFETY: neighbours of that entry, in the same chain.
                unsafe { self.close_gap(head, at, prev, next) };
                taken.emptied += u32::from(head.head == NIL);
                return Some(found);
            }
            at = next;
        }
        None
    }

    /// Links the neighbours of the entry that was at `at`, as [`Chain::unlink`] does.
    ///
    /// # Safety
    /// They are in a chain that only this thread has.
    #[inline]
    unsafe fn close_gap(&self, chain: &mut Chain, at: Place, prev: Place, next: Place) {
        if chain.head == at {
            chain.head = next;
        } else {
            // SAFETY: the entry before it, by the caller's word.
            unsafe { (*self.slot(prev)).links[0].next = next };
        }
        let heir = if next == NIL { chain.head } else { next };
        if heir != NIL {
            // SAFETY: the entry behind it, or the first, by the caller's word.
            unsafe { (*self.slot(heir)).links[0].prev = prev };
        }
    }

    /// The first entry's memory is looked at, so that it is near when it is taken: those of many chains come at once.
    ///
    /// # Safety
    /// No other thread is in a call with the same `chain`.
    #[inline]
    pub(crate) unsafe fn approach(&self, chain: usize) -> u64 {
        assert!(chain < self.chains.len(), "a chain that was lent");
        // SAFETY: as in `take_first`.
        let head = unsafe { (*self.chains.cast::<Chain>().wrapping_add(chain)).head };
        // SAFETY: an entry of this chain.
        if head == NIL { 0 } else { unsafe { (*self.slot(head)).value.age } }
    }
}
