//! Two short queues, searched linearly.
//!
//! A linear search of a few adjacent entries is faster than an engine. Entries move to the engine when a
//! queue exceeds [`CAPACITY`], or when a search compares [`SEARCH_MAX`] entries without a match. The matching
//! rule is that of `matchpoint::engines::list`.

use crate::abi::{ADDR_UNSPEC, Addr};
use crate::criteria::Criteria;

/// Maximum number of entries per queue. Moving all entries to an engine takes about a microsecond.
pub const CAPACITY: usize = 64;
/// Maximum number of attempts per search. A longer search loads more cache lines than a search in an engine.
const SEARCH_MAX: usize = 8;

/// A receive or a message. A message has no ignore mask.
#[derive(Clone, Copy)]
pub struct ShortEntry {
    pub id: u64,
    pub criteria: Criteria,
}

/// The queue is too long to search or extend: the caller must move the entries to the engine.
#[derive(Debug)]
pub struct TooLong;

struct ShortQueue {
    entries: [ShortEntry; CAPACITY],
    head: usize,
    tail: usize,
}

impl ShortQueue {
    const fn new() -> Self {
        let empty = ShortEntry { id: 0, criteria: Criteria { addr: 0, tag: 0, ignore: 0 } };
        ShortQueue { entries: [empty; CAPACITY], head: 0, tail: 0 }
    }

    fn entries(&self) -> &[ShortEntry] {
        &self.entries[self.head..self.tail]
    }

    /// The first match, from the front.
    #[inline(always)]
    fn find(&self, is_match: impl Fn(&Criteria) -> bool) -> Result<Option<usize>, TooLong> {
        if self.head == self.tail {
            return Ok(None);
        }
        // Most messages match in order.
        if is_match(&self.entries[self.head].criteria) {
            return Ok(Some(0));
        }
        self.find_after_first(is_match)
    }

    #[inline(never)]
    fn find_after_first(&self, is_match: impl Fn(&Criteria) -> bool) -> Result<Option<usize>, TooLong> {
        let entries = self.entries();
        let found = entries.iter().take(SEARCH_MAX).position(|entry| is_match(&entry.criteria));
        if found.is_none() && entries.len() > SEARCH_MAX { Err(TooLong) } else { Ok(found) }
    }

    #[inline(always)]
    fn push(&mut self, entry: ShortEntry) -> Result<(), TooLong> {
        if self.tail == CAPACITY {
            self.compact()?;
        }
        self.entries[self.tail] = entry;
        self.tail += 1;
        Ok(())
    }

    #[cold]
    fn compact(&mut self) -> Result<(), TooLong> {
        if self.head == 0 {
            return Err(TooLong);
        }
        self.entries.copy_within(self.head..CAPACITY, 0);
        self.tail -= self.head;
        self.head = 0;
        Ok(())
    }

    #[inline(always)]
    fn remove(&mut self, at: usize) -> u64 {
        let at = self.head + at;
        let id = self.entries[at].id;
        // Most removals are at the front and move no entries.
        if at != self.head {
            self.entries.copy_within(self.head..at, self.head + 1);
        }
        self.head += 1;
        if self.head == self.tail {
            (self.head, self.tail) = (0, 0);
        }
        id
    }

    fn remove_id(&mut self, id: u64) -> bool {
        let at = self.entries().iter().position(|entry| entry.id == id);
        at.map(|at| self.remove(at)).is_some()
    }
}

pub struct ShortQueues {
    posted: ShortQueue,
    unexpected: ShortQueue,
}

#[inline(always)]
fn accepts(receive: &Criteria, message: &Criteria) -> bool {
    (receive.tag ^ message.tag) & !receive.ignore == 0
        && (receive.addr == ADDR_UNSPEC || receive.addr == message.addr)
}

impl ShortQueues {
    pub const fn new() -> Self {
        ShortQueues { posted: ShortQueue::new(), unexpected: ShortQueue::new() }
    }

    /// An error changes nothing.
    #[inline(always)]
    pub fn post(&mut self, id: u64, criteria: Criteria) -> Result<Option<u64>, TooLong> {
        match self.unexpected.find(|message| accepts(&criteria, message))? {
            Some(at) => Ok(Some(self.unexpected.remove(at))),
            None => self.posted.push(ShortEntry { id, criteria }).map(|()| None),
        }
    }

    /// An error changes nothing.
    #[inline(always)]
    pub fn arrive(&mut self, id: u64, addr: Addr, tag: u64) -> Result<Option<u64>, TooLong> {
        let criteria = Criteria { addr, tag, ignore: 0 };
        match self.posted.find(|receive| accepts(receive, &criteria))? {
            Some(at) => Ok(Some(self.posted.remove(at))),
            None => self.unexpected.push(ShortEntry { id, criteria }).map(|()| None),
        }
    }

    pub fn probe(&mut self, criteria: Criteria, take: bool) -> Result<Option<u64>, TooLong> {
        let found = self.unexpected.find(|message| accepts(&criteria, message))?;
        Ok(found.map(|at| if take { self.unexpected.remove(at) } else { self.unexpected.entries()[at].id }))
    }

    pub fn cancel(&mut self, id: u64) -> bool {
        self.posted.remove_id(id)
    }

    pub fn retract(&mut self, id: u64) -> bool {
        self.unexpected.remove_id(id)
    }

    pub fn readdress(&mut self, id: u64, addr: Addr) -> Option<u64> {
        let is_message = |entry: &ShortEntry| entry.id == id && entry.criteria.addr == ADDR_UNSPEC;
        let at = self.unexpected.entries().iter().position(is_message).filter(|_| addr != ADDR_UNSPEC)?;
        let entry = &mut self.unexpected.entries[self.unexpected.head + at];
        let readdressed = Criteria { addr, ..entry.criteria };
        let position =
            self.posted.entries().iter().position(|receive| accepts(&receive.criteria, &readdressed));
        let Some(receive) = position else {
            entry.criteria = readdressed;
            return None;
        };
        self.unexpected.remove(at);
        Some(self.posted.remove(receive))
    }

    pub fn posted(&self) -> &[ShortEntry] {
        self.posted.entries()
    }

    pub fn unexpected(&self) -> &[ShortEntry] {
        self.unexpected.entries()
    }

    /// The queue must have space.
    pub fn push_posted(&mut self, entry: ShortEntry) {
        let pushed = self.posted.push(entry);
        debug_assert!(pushed.is_ok(), "few entries fit");
    }

    pub fn push_unexpected(&mut self, entry: ShortEntry) {
        let pushed = self.unexpected.push(entry);
        debug_assert!(pushed.is_ok(), "few entries fit");
    }

    pub fn clear(&mut self) {
        (self.posted.head, self.posted.tail) = (0, 0);
        (self.unexpected.head, self.unexpected.tail) = (0, 0);
    }
}
