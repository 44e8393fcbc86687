//! `--arrivals recorded`: messages under way to one process arrive when they did.
//!
//! The process's list has when, from whom, and with which tag; of one sender's messages with one tag the first to set out
//! is the first to arrive (MPI-4.1 §3.5). A message is kept back until those before it in the list have set out: with
//! clocks of several hosts, that may be later than they arrived. Messages that are not in the list, which nobody
//! received, or which the library matches by itself, arrive as the network's model has it.

use std::collections::VecDeque;
use std::iter::Peekable;

use matchpoint_trace::{Arrival, Arrivals, Trace, TraceError};
use rustc_hash::FxHashMap;

/// Sender and tag.
type Key = (u32, i32);

/// The list of one process, and what is kept back.
pub(crate) struct InOrder<'t> {
    list: Peekable<Arrivals<'t>>,
    /// By key: arrivals in the list for which no message has set out yet.
    to_come: FxHashMap<Key, u64>,
    kept: FxHashMap<Key, VecDeque<u32>>,
    last_ns: i64,
}

fn key(arrival: &Arrival) -> Key {
    (arrival.from, arrival.tag)
}

impl<'t> InOrder<'t> {
    /// The list of this rank; `None` if there is none.
    ///
    /// # Errors
    /// It is damaged.
    pub fn of(trace: &'t dyn Trace, rank: u32) -> Result<Option<Self>, TraceError> {
        let Some(list) = trace.arrivals(rank)? else { return Ok(None) };
        let mut to_come: FxHashMap<Key, u64> = FxHashMap::default();
        for arrival in list {
            *to_come.entry(key(&arrival?)).or_default() += 1;
        }
        let Some(list) = trace.arrivals(rank)? else { return Ok(None) };
        Ok(Some(InOrder { list: list.peekable(), to_come, kept: FxHashMap::default(), last_ns: i64::MIN }))
    }

    /// A message sets out. True: it is kept back until [`next`](Self::next) gives it; else the list does not have it.
    pub fn keep(&mut self, from: u32, tag: i32, place: u32) -> bool {
        let Some(to_come) = self.to_come.get_mut(&(from, tag)).filter(|to_come| **to_come > 0) else {
            return false;
        };
        *to_come -= 1;
        self.kept.entry((from, tag)).or_default().push_back(place);
        true
    }

    /// The next message of the list, if it has set out, and when it arrived, on the clock of the process's calls.
    pub fn next(&mut self) -> Option<(i64, u32)> {
        // It was read to its end before; if it has changed since, it ends here.
        let next = self.list.peek()?.as_ref().ok()?;
        let kept = self.kept.get_mut(&key(next))?;
        let place = kept.pop_front()?;
        if kept.is_empty() {
            self.kept.remove(&key(next));
        }
        self.last_ns = self.last_ns.max(next.at_ns);
        self.list.next();
        Some((self.last_ns, place))
    }

    /// Nothing goes on any more: the next message of the list will not set out. False: it does not keep any back.
    pub fn pass_over(&mut self) -> bool {
        if self.kept.is_empty() {
            return false;
        }
        let Some(Ok(next)) = self.list.next() else { return false };
        if let Some(to_come) = self.to_come.get_mut(&key(&next)) {
            *to_come = to_come.saturating_sub(1);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(arrivals: &[(i64, u32, i32)]) -> InOrder<'static> {
        let arrivals: Vec<Arrival> =
            arrivals.iter().map(|&(at_ns, from, tag)| Arrival { at_ns, from, tag }).collect();
        let mut to_come: FxHashMap<Key, u64> = FxHashMap::default();
        arrivals.iter().for_each(|arrival| *to_come.entry(key(arrival)).or_default() += 1);
        let list: Arrivals<'static> = Box::new(arrivals.into_iter().map(Ok));
        InOrder { list: list.peekable(), to_come, kept: FxHashMap::default(), last_ns: i64::MIN }
    }

    #[test]
    fn messages_wait_for_those_before_them() {
        let mut list = list(&[(10, 1, 7), (20, 2, 7), (30, 1, 7)]);
        assert!(list.keep(2, 7, 100));
        assert_eq!(list.next(), None);
        assert!(list.keep(1, 7, 101) && list.keep(1, 7, 102));
        let order: Vec<_> = std::iter::from_fn(|| list.next()).collect();
        assert_eq!(order, [(10, 101), (20, 100), (30, 102)]);
    }

    #[test]
    fn unlisted_arrivals_are_not_kept() {
        let mut list = list(&[(10, 1, 7)]);
        assert!(!list.keep(1, 8, 100) && !list.keep(0, 7, 101));
        assert!(list.keep(1, 7, 102) && !list.keep(1, 7, 103));
    }

    #[test]
    fn what_never_sets_out_is_passed_over() {
        let mut list = list(&[(10, 1, 7), (20, 2, 7)]);
        assert!(!list.pass_over(), "nobody waits for it");
        assert!(list.keep(2, 7, 100));
        assert!(list.next().is_none() && list.pass_over());
        assert_eq!(list.next(), Some((20, 100)));
        assert!(!list.pass_over());
    }
}
