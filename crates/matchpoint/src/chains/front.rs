//! Removal of several entries from the front of a queue, with one update of its links.

use super::{Chain, NIL, Place, Slab};

/// Entries removed from the slab but still linked at the front of a queue. [Cut](Chain::cut) the queue before
/// any other operation.
#[derive(Clone, Copy)]
pub(crate) struct Front {
    /// Tail of the queue; [`NIL`] if no entry was removed.
    tail: Place,
}

impl Default for Front {
    fn default() -> Self {
        Front::NOTHING
    }
}

impl Front {
    pub(crate) const NOTHING: Front = Front { tail: NIL };

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.tail == NIL
    }

    /// Removes an entry from the slab: the oldest, or the one after the last removed.
    #[inline]
    pub(crate) fn take<T: Copy, const L: usize>(&mut self, slab: &mut Slab<T, L>, at: Place) {
        if self.is_empty() {
            self.tail = slab.slots[at as usize].links[0].prev;
        }
        slab.remove(at);
    }
}

impl Chain<0> {
    /// Unlinks the removed entries. `head` is the entry after the last removed.
    #[inline]
    pub(crate) fn cut<T, const L: usize>(&mut self, slab: &mut Slab<T, L>, front: Front, head: Place) {
        self.head = head;
        if head != NIL {
            slab.slots[head as usize].links[0].prev = front.tail;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_slots_form_chain() {
        for taken in 1..=4_u8 {
            let (mut slab, mut chain) = (Slab::<u8, 1>::default(), Chain::<0>::default());
            for value in 0..4 {
                let at = slab.insert(value).unwrap();
                chain.push(&mut slab, at);
            }
            let (mut front, mut at) = (Front::default(), chain.head());
            for _ in 0..taken {
                let next = slab.next(at, 0);
                front.take(&mut slab, at);
                at = next;
            }
            chain.cut(&mut slab, front, at);
            assert_eq!(
                slab.iter().map(|(_, &value)| value).collect::<Vec<_>>(),
                (taken..4).collect::<Vec<_>>()
            );
            assert_eq!(slab.len(), 4 - usize::from(taken));
            for value in 4..9 {
                let at = slab.insert(value).unwrap();
                chain.push(&mut slab, at);
            }
            let values = chain.iter(&slab).map(|(_, &value)| value).collect::<Vec<_>>();
            assert_eq!(values, (taken..9).collect::<Vec<_>>(), "the tail is known");
            assert_eq!(slab.places(), 9 - usize::from(taken), "vacant places are used first");
            let last = chain.iter(&slab).last().unwrap().0;
            chain.unlink(&mut slab, last);
            assert_eq!(chain.iter(&slab).count(), 8 - usize::from(taken));
        }
    }
}
