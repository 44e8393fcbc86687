//! `--arrivals recorded`: messages in flight to a process arrive at their recorded times.
//!
//! Messages with one sender and tag arrive in the order of their sends (MPI-4.1 §3.5). A recorded message
//! arrives only after all earlier recorded messages were sent; with several clocks, this may be after the
//! recorded arrival. Other messages arrive at the time of the network model: the program did not receive
//! them, or the library matched them internally.

use std::collections::VecDeque;
use std::iter::Peekable;

use matchpoint_trace::{Arrival, Arrivals, Trace, TraceError};
use rustc_hash::FxHashMap;

type Key = (u32, i32);

pub(crate) struct RecordedArrivals<'t> {
    list: Peekable<Arrivals<'t>>,
    /// Number of recorded arrivals of messages that have not been sent yet.
    unsent: FxHashMap<Key, u64>,
    waiting: FxHashMap<Key, VecDeque<u32>>,
    last_ns: i64,
}

fn key(arrival: &Arrival) -> Key {
    (arrival.from, arrival.tag)
}

impl<'t> RecordedArrivals<'t> {
    pub fn of(trace: &'t dyn Trace, rank: u32) -> Result<Option<Self>, TraceError> {
        let Some(list) = trace.arrivals(rank)? else { return Ok(None) };
        let mut unsent: FxHashMap<Key, u64> = FxHashMap::default();
        for arrival in list {
            *unsent.entry(key(&arrival?)).or_default() += 1;
        }
        let Some(list) = trace.arrivals(rank)? else { return Ok(None) };
        Ok(Some(RecordedArrivals {
            list: list.peekable(),
            unsent,
            waiting: FxHashMap::default(),
            last_ns: i64::MIN,
        }))
    }

    /// Adds a sent message. Returns true if the message has a recorded arrival.
    pub fn add_sent(&mut self, from: u32, tag: i32, slot: u32) -> bool {
        let Some(unsent) = self.unsent.get_mut(&(from, tag)).filter(|unsent| **unsent > 0) else {
            return false;
        };
        *unsent -= 1;
        self.waiting.entry((from, tag)).or_default().push_back(slot);
        true
    }

    pub fn next(&mut self) -> Option<(i64, u32)> {
        // The constructor read all arrivals without errors. The arrivals of a file damaged later end here.
        let next = self.list.peek()?.as_ref().ok()?;
        let waiting = self.waiting.get_mut(&key(next))?;
        let slot = waiting.pop_front()?;
        if waiting.is_empty() {
            self.waiting.remove(&key(next));
        }
        self.last_ns = self.last_ns.max(next.at_ns);
        self.list.next();
        Some((self.last_ns, slot))
    }

    pub fn skip_next(&mut self) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        let Some(Ok(next)) = self.list.next() else { return false };
        if let Some(unsent) = self.unsent.get_mut(&key(&next)) {
            *unsent = unsent.saturating_sub(1);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals_of(arrivals: &[(i64, u32, i32)]) -> RecordedArrivals<'static> {
        let arrivals: Vec<Arrival> =
            arrivals.iter().map(|&(at_ns, from, tag)| Arrival { at_ns, from, tag }).collect();
        let mut unsent: FxHashMap<Key, u64> = FxHashMap::default();
        arrivals.iter().for_each(|arrival| *unsent.entry(key(arrival)).or_default() += 1);
        let list: Arrivals<'static> = Box::new(arrivals.into_iter().map(Ok));
        RecordedArrivals { list: list.peekable(), unsent, waiting: FxHashMap::default(), last_ns: i64::MIN }
    }

    #[test]
    fn message_waits_for_earlier_arrivals() {
        let mut list = arrivals_of(&[(10, 1, 7), (20, 2, 7), (30, 1, 7)]);
        assert!(list.add_sent(2, 7, 100));
        assert_eq!(list.next(), None);
        assert!(list.add_sent(1, 7, 101) && list.add_sent(1, 7, 102));
        let order: Vec<_> = std::iter::from_fn(|| list.next()).collect();
        assert_eq!(order, [(10, 101), (20, 100), (30, 102)]);
    }

    #[test]
    fn unlisted_message_is_not_held() {
        let mut list = arrivals_of(&[(10, 1, 7)]);
        assert!(!list.add_sent(1, 8, 100) && !list.add_sent(0, 7, 101));
        assert!(list.add_sent(1, 7, 102) && !list.add_sent(1, 7, 103));
    }

    #[test]
    fn unsent_arrival_is_skipped() {
        let mut list = arrivals_of(&[(10, 1, 7), (20, 2, 7)]);
        assert!(!list.skip_next(), "no message waits");
        assert!(list.add_sent(2, 7, 100));
        assert!(list.next().is_none() && list.skip_next());
        assert_eq!(list.next(), Some((20, 100)));
        assert!(!list.skip_next());
    }
}
