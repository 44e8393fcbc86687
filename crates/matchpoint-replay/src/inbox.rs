//! Messages under way to one process, by time of arrival.

use std::collections::VecDeque;

/// Messages mostly set out in the order in which they will arrive, so a sorted queue that is searched from its end
/// beats a heap.
#[derive(Default)]
pub(crate) struct Inbox(VecDeque<(i64, u32)>);

impl Inbox {
    /// A message sets out; of two that arrive at once, the one that set out first arrives first.
    pub fn push(&mut self, at_ns: i64, place: u32) {
        let mut at = self.0.len();
        while at > 0 && self.0[at - 1].0 > at_ns {
            at -= 1;
        }
        self.0.insert(at, (at_ns, place));
    }

    /// When the next message arrives.
    #[inline]
    pub fn next_ns(&self) -> Option<i64> {
        self.0.front().map(|&(at_ns, _)| at_ns)
    }

    /// The next message arrives.
    #[inline]
    pub fn pop(&mut self) -> Option<(i64, u32)> {
        self.0.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::Inbox;

    #[test]
    fn messages_arrive_by_time_then_by_departure() {
        let mut inbox = Inbox::default();
        for (at_ns, place) in [(5, 0), (3, 1), (5, 2), (4, 3), (3, 4)] {
            inbox.push(at_ns, place);
        }
        let order: Vec<_> = std::iter::from_fn(|| inbox.pop()).collect();
        assert_eq!(order, [(3, 1), (3, 4), (4, 3), (5, 0), (5, 2)]);
    }
}
