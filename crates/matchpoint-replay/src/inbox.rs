//! Messages in flight to one process, in order of arrival.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::schedule::NEVER;

const NEAR: usize = 8;

/// Arrival time, number in the order of sends, and slot.
type Due = (i64, u32, u32);

/// A sorted queue, faster than a heap because messages usually arrive in the order of sends. Messages that overtake
/// more than [`NEAR`] others go to a heap.
pub(crate) struct Inbox {
    sorted: VecDeque<Due>,
    overtaking: BinaryHeap<Reverse<Due>>,
    pushed: u32,
    next_ns: i64,
}

impl Default for Inbox {
    fn default() -> Self {
        Inbox { sorted: VecDeque::new(), overtaking: BinaryHeap::new(), pushed: 0, next_ns: NEVER }
    }
}

impl Inbox {
    /// Of messages with equal arrival times, the message sent first is first.
    #[inline]
    pub fn push(&mut self, at_ns: i64, slot: u32) {
        let due = (at_ns, self.pushed, slot);
        self.pushed = self.pushed.wrapping_add(1);
        self.next_ns = self.next_ns.min(at_ns);
        if self.sorted.back().is_none_or(|last| last.0 <= at_ns) {
            self.sorted.push_back(due);
            return;
        }
        let mut at = self.sorted.len();
        let nearest = at.saturating_sub(NEAR);
        while at > nearest && self.sorted[at - 1].0 > at_ns {
            at -= 1;
        }
        if at > 0 && at == nearest && self.sorted[at - 1].0 > at_ns {
            self.overtaking.push(Reverse(due));
        } else {
            self.sorted.insert(at, due);
        }
    }

    #[inline]
    pub fn next_ns(&self) -> i64 {
        self.next_ns
    }

    #[inline]
    fn update_next(&mut self) {
        let first_ns = self.sorted.front().map_or(NEVER, |due| due.0);
        self.next_ns = match self.overtaking.peek() {
            None => first_ns,
            Some(Reverse(other)) => first_ns.min(other.0),
        };
    }

    /// The first message for which `is_wanted(arrival time, slot)` returns true.
    pub fn first(&self, is_wanted: impl Fn(i64, u32) -> bool) -> Option<u32> {
        let is_wanted = |due: &&Due| is_wanted(due.0, due.2);
        let sorted = self.sorted.iter().find(is_wanted);
        let overtaking = self.overtaking.iter().map(|Reverse(due)| due).filter(is_wanted).min();
        sorted.into_iter().chain(overtaking).min().map(|due| due.2)
    }

    pub fn take(&mut self, slot: u32) {
        match self.sorted.iter().position(|due| due.2 == slot) {
            Some(at) => drop(self.sorted.remove(at)),
            None => self.overtaking.retain(|Reverse(due)| due.2 != slot),
        }
        self.update_next();
    }

    #[inline]
    pub fn pop(&mut self) -> Option<(i64, u32)> {
        let is_overtaken = match (self.sorted.front(), self.overtaking.peek()) {
            (_, None) => false,
            (None, Some(_)) => true,
            // Numbers wrap after 2^32 messages, but fewer than half as many are in flight at a time.
            (Some(first), Some(Reverse(other))) => {
                other.0 < first.0 || (other.0 == first.0 && (other.1.wrapping_sub(first.1) as i32) < 0)
            }
        };
        let next =
            if is_overtaken { self.overtaking.pop().map(|next| next.0) } else { self.sorted.pop_front() };
        self.update_next();
        next.map(|(at_ns, _, slot)| (at_ns, slot))
    }
}

#[cfg(test)]
mod tests {
    use super::{Inbox, NEVER};

    #[test]
    fn messages_arrive_by_time_then_by_departure() {
        let mut inbox = Inbox::default();
        for (at_ns, slot) in [(5, 0), (3, 1), (5, 2), (4, 3), (3, 4)] {
            inbox.push(at_ns, slot);
        }
        let order: Vec<_> = std::iter::from_fn(|| inbox.pop()).collect();
        assert_eq!(order, [(3, 1), (3, 4), (4, 3), (5, 0), (5, 2)]);
    }

    #[test]
    fn message_is_taken_by_slot() {
        let mut inbox = Inbox::default();
        for slot in 0..20 {
            inbox.push(100 + i64::from(slot), slot);
        }
        inbox.push(50, 20);
        assert_eq!(inbox.first(|_, slot| slot >= 5), Some(20));
        assert_eq!(inbox.first(|at_ns, slot| at_ns > 50 && slot >= 5), Some(5));
        inbox.take(20);
        inbox.take(5);
        let order: Vec<u32> = std::iter::from_fn(|| inbox.pop()).map(|(_, slot)| slot).collect();
        assert_eq!(order, (0..20).filter(|slot| *slot != 5).collect::<Vec<_>>());
    }

    #[test]
    fn overtaking_messages_arrive_in_same_order() {
        let (mut inbox, mut expected) = (Inbox::default(), Vec::new());
        let mut state = 1u64;
        for slot in 0..5000u32 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at_ns = (state >> 33) as i64 % 500;
            inbox.push(at_ns, slot);
            expected.push((at_ns, slot));
        }
        assert!(!inbox.overtaking.is_empty());
        expected.sort_unstable();
        let order: Vec<_> = std::iter::from_fn(|| {
            let next_ns = inbox.next_ns();
            let next = inbox.pop();
            assert_eq!(next_ns, next.map_or(NEVER, |next| next.0));
            next
        })
        .collect();
        assert_eq!(order, expected);
    }
}
