//! Two short queues, searched linearly.
//!
//! A search of an engine costs the same at every queue length. A linear search of a few adjacent entries is faster.
//! Entries therefore move to the engine only when a queue exceeds [`CAPACITY`], or a search compares [`SEARCH_MAX`]
//! entries without a match. The matching rule is that of `matchpoint::engines::list`.

use crate::abi::{ADDR_UNSPEC, Addr};
use crate::asked::Asked;

/// Entries per short queue. A move of all entries to an engine takes about a microsecond.
pub const ROOM: usize = 64;
/// Attempts per search. As many cache lines cost as much as a search of an engine.
const REACH: usize = 8;

/// An entry: the criteria of a receive, or the source and tag of a message. A message has no ignore mask.
#[derive(Clone, Copy)]
pub struct Item {
    /// The id of the receive or message.
    pub id: u64,
    /// The criteria, or the source and tag.
    pub asked: Asked,
}

/// The queue is too long to search or extend. The entries must move to the engine.
#[derive(Debug)]
pub struct TooLong;

/// A queue, oldest entry first.
struct Line {
    items: [Item; ROOM],
    head: usize,
    tail: usize,
}

impl Line {
    const fn new() -> Self {
        let nothing = Item { id: 0, asked: Asked { addr: 0, tag: 0, ignore: 0 } };
        Line { items: [nothing; ROOM], head: 0, tail: 0 }
    }

    fn items(&self) -> &[Item] {
        &self.items[self.head..self.tail]
    }

    /// Returns the position of the first match, from the front.
    #[inline(always)]
    fn find(&self, fits: impl Fn(&Asked) -> bool) -> Result<Option<usize>, TooLong> {
        if self.head == self.tail {
            return Ok(None);
        }
        // Most messages match in order. This case has a separate path.
        if fits(&self.items[self.head].asked) {
            return Ok(Some(0));
        }
        self.find_behind(fits)
    }

    #[inline(never)]
    fn find_behind(&self, fits: impl Fn(&Asked) -> bool) -> Result<Option<usize>, TooLong> {
        let items = self.items();
        let found = items.iter().take(REACH).position(|item| fits(&item.asked));
        if found.is_none() && items.len() > REACH { Err(TooLong) } else { Ok(found) }
    }

    #[inline(always)]
    fn push(&mut self, item: Item) -> Result<(), TooLong> {
        if self.tail == ROOM {
            self.make_room()?;
        }
        self.items[self.tail] = item;
        self.tail += 1;
        Ok(())
    }

    #[cold]
    fn make_room(&mut self) -> Result<(), TooLong> {
        if self.head == 0 {
            return Err(TooLong);
        }
        self.items.copy_within(self.head..ROOM, 0);
        self.tail -= self.head;
        self.head = 0;
        Ok(())
    }

    #[inline(always)]
    fn remove(&mut self, at: usize) -> u64 {
        let at = self.head + at;
        let id = self.items[at].id;
        // Most removals are at the front and move no entries.
        if at != self.head {
            self.items.copy_within(self.head..at, self.head + 1);
        }
        self.head += 1;
        if self.head == self.tail {
            (self.head, self.tail) = (0, 0);
        }
        id
    }

    fn remove_id(&mut self, id: u64) -> bool {
        let at = self.items().iter().position(|item| item.id == id);
        at.map(|at| self.remove(at)).is_some()
    }
}

/// Both queues of an endpoint while they are short.
pub struct Short {
    posted: Line,
    unexpected: Line,
}

/// The matching rule within one context.
#[inline(always)]
fn accepts(receive: &Asked, message: &Asked) -> bool {
    (receive.tag ^ message.tag) & !receive.ignore == 0
        && (receive.addr == ADDR_UNSPEC || receive.addr == message.addr)
}

impl Short {
    /// Empty queues.
    pub const fn new() -> Self {
        Short { posted: Line::new(), unexpected: Line::new() }
    }

    /// As [`Matching::post`](crate::matching::Matching::post). An error changes nothing.
    #[inline(always)]
    pub fn post(&mut self, id: u64, asked: Asked) -> Result<Option<u64>, TooLong> {
        match self.unexpected.find(|message| accepts(&asked, message))? {
            Some(at) => Ok(Some(self.unexpected.remove(at))),
            None => self.posted.push(Item { id, asked }).map(|()| None),
        }
    }

    /// As [`Matching::arrive`](crate::matching::Matching::arrive). An error changes nothing.
    #[inline(always)]
    pub fn arrive(&mut self, id: u64, addr: Addr, tag: u64) -> Result<Option<u64>, TooLong> {
        let asked = Asked { addr, tag, ignore: 0 };
        match self.posted.find(|receive| accepts(receive, &asked))? {
            Some(at) => Ok(Some(self.posted.remove(at))),
            None => self.unexpected.push(Item { id, asked }).map(|()| None),
        }
    }

    /// Finds the message that a receive with these criteria would take. `take` removes it.
    pub fn probe(&mut self, asked: Asked, take: bool) -> Result<Option<u64>, TooLong> {
        let found = self.unexpected.find(|message| accepts(&asked, message))?;
        Ok(found.map(|at| if take { self.unexpected.remove(at) } else { self.unexpected.items()[at].id }))
    }

    /// Cancels a receive.
    pub fn cancel(&mut self, id: u64) -> bool {
        self.posted.remove_id(id)
    }

    /// Removes a message.
    pub fn retract(&mut self, id: u64) -> bool {
        self.unexpected.remove_id(id)
    }

    /// As [`Matching::readdress`](crate::matching::Matching::readdress).
    pub fn readdress(&mut self, id: u64, addr: Addr) -> Option<u64> {
        let is_it = |item: &Item| item.id == id && item.asked.addr == ADDR_UNSPEC;
        let at = self.unexpected.items().iter().position(is_it).filter(|_| addr != ADDR_UNSPEC)?;
        let item = &mut self.unexpected.items[self.unexpected.head + at];
        let named = Asked { addr, ..item.asked };
        let waits = self.posted.items().iter().position(|receive| accepts(&receive.asked, &named));
        let Some(receive) = waits else {
            item.asked = named;
            return None;
        };
        self.unexpected.remove(at);
        Some(self.posted.remove(receive))
    }

    /// Posted receives, oldest first.
    pub fn posted(&self) -> &[Item] {
        self.posted.items()
    }

    /// Unexpected messages, oldest first.
    pub fn unexpected(&self) -> &[Item] {
        self.unexpected.items()
    }

    /// Adds a receive from the engine. The caller moves few enough entries.
    pub fn put_posted(&mut self, item: Item) {
        let put = self.posted.push(item);
        debug_assert!(put.is_ok(), "few entries fit");
    }

    /// Adds a message from the engine.
    pub fn put_unexpected(&mut self, item: Item) {
        let put = self.unexpected.push(item);
        debug_assert!(put.is_ok(), "few entries fit");
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        (self.posted.head, self.posted.tail) = (0, 0);
        (self.unexpected.head, self.unexpected.tail) = (0, 0);
    }
}
