//! Removal of several entries from the front of a queue, with one update of its links.

use super::{LinkedQueue, NIL, Slab, SlotIndex};

/// Entries at the front of a queue that are removed from the slab but still linked. The caller must
/// [unlink](LinkedQueue::unlink_front) these entries before any other operation.
#[derive(Clone, Copy)]
pub(crate) struct FrontRemoval {
    /// The tail of the queue; [`NIL`] before the first removal.
    tail: SlotIndex,
}

impl Default for FrontRemoval {
    fn default() -> Self {
        FrontRemoval::EMPTY
    }
}

impl FrontRemoval {
    pub(crate) const EMPTY: FrontRemoval = FrontRemoval { tail: NIL };

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.tail == NIL
    }

    #[inline]
    pub(crate) fn take<T: Copy, const L: usize>(&mut self, slab: &mut Slab<T, L>, at: SlotIndex) {
        if self.is_empty() {
            self.tail = slab.slots[at as usize].links[0].prev;
        }
        slab.remove(at);
    }
}

impl LinkedQueue<0> {
    #[inline]
    pub(crate) fn unlink_front<T, const L: usize>(
        &mut self,
        slab: &mut Slab<T, L>,
        front: FrontRemoval,
        head: SlotIndex,
    ) {
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
    fn removed_front_leaves_valid_links() {
        for taken in 1..=4_u8 {
            let (mut slab, mut queue) = (Slab::<u8, 1>::default(), LinkedQueue::<0>::default());
            for value in 0..4 {
                let at = slab.insert(value).unwrap();
                queue.push(&mut slab, at);
            }
            let (mut front, mut at) = (FrontRemoval::default(), queue.head());
            for _ in 0..taken {
                let next = slab.next(at, 0);
                front.take(&mut slab, at);
                at = next;
            }
            queue.unlink_front(&mut slab, front, at);
            assert_eq!(
                slab.iter().map(|(_, &value)| value).collect::<Vec<_>>(),
                (taken..4).collect::<Vec<_>>()
            );
            assert_eq!(slab.len(), 4 - usize::from(taken));
            for value in 4..9 {
                let at = slab.insert(value).unwrap();
                queue.push(&mut slab, at);
            }
            let values = queue.iter(&slab).map(|(_, &value)| value).collect::<Vec<_>>();
            assert_eq!(values, (taken..9).collect::<Vec<_>>(), "new entries are at the tail");
            assert_eq!(slab.slot_count(), 9 - usize::from(taken), "free slots are used first");
            let last = queue.iter(&slab).last().unwrap().0;
            queue.unlink(&mut slab, last);
            assert_eq!(queue.iter(&slab).count(), 8 - usize::from(taken));
        }
    }
}
