//! Two short lines, searched from the front: what queues are most of the time.
//!
//! An engine answers in the same time however long its queues are; a few entries side by side are searched faster than
//! that. So nothing goes into the engine before a queue has grown longer than [`ROOM`], or a search has looked at
//! [`REACH`] entries in vain. This is the rule itself (`matchpoint::engines::list`), with a limit.

use crate::abi::{ADDR_UNSPEC, Addr};
use crate::asked::Asked;

/// Entries of a queue that are kept here: moving them into an engine takes about a microsecond.
pub const ROOM: usize = 64;
/// Entries that a search looks at: as many cache lines cost what an engine does.
const REACH: usize = 8;

/// One entry: what a receive asks for, or what a message says (which ignores nothing).
#[derive(Clone, Copy)]
pub struct Item {
    /// The receive's or message's name.
    pub id: u64,
    /// What it asks for, or says.
    pub asked: Asked,
}

/// A line is too long to be searched or added to: the engine must have it.
#[derive(Debug)]
pub struct TooLong;

/// One queue, oldest first.
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

    /// Where the first that fits is, counted from the front.
    #[inline(always)]
    fn find(&self, fits: impl Fn(&Asked) -> bool) -> Result<Option<usize>, TooLong> {
        if self.head == self.tail {
            return Ok(None);
        }
        // In order, as most messages come: worth a path of its own.
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
        // From the front, where entries are removed most, there is nothing to move.
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

/// Both queues, while they are short.
pub struct Short {
    posted: Line,
    unexpected: Line,
}

/// The rule, for one context.
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

    /// As [`Matching::post`](crate::matching::Matching::post). Nothing has changed if it is too long.
    #[inline(always)]
    pub fn post(&mut self, id: u64, asked: Asked) -> Result<Option<u64>, TooLong> {
        match self.unexpected.find(|message| accepts(&asked, message))? {
            Some(at) => Ok(Some(self.unexpected.remove(at))),
            None => self.posted.push(Item { id, asked }).map(|()| None),
        }
    }

    /// As [`Matching::arrive`](crate::matching::Matching::arrive). Nothing has changed if it is too long.
    #[inline(always)]
    pub fn arrive(&mut self, id: u64, addr: Addr, tag: u64) -> Result<Option<u64>, TooLong> {
        let asked = Asked { addr, tag, ignore: 0 };
        match self.posted.find(|receive| accepts(receive, &asked))? {
            Some(at) => Ok(Some(self.posted.remove(at))),
            None => self.unexpected.push(Item { id, asked }).map(|()| None),
        }
    }

    /// The message that such a receive would take, left in place or taken.
    pub fn probe(&mut self, asked: Asked, take: bool) -> Result<Option<u64>, TooLong> {
        let found = self.unexpected.find(|message| accepts(&asked, message))?;
        Ok(found.map(|at| if take { self.unexpected.remove(at) } else { self.unexpected.items()[at].id }))
    }

    /// Withdraws a receive.
    pub fn cancel(&mut self, id: u64) -> bool {
        self.posted.remove_id(id)
    }

    /// Withdraws a message.
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

    /// Receives that are posted, oldest first.
    pub fn posted(&self) -> &[Item] {
        self.posted.items()
    }

    /// Messages that are unexpected, oldest first.
    pub fn unexpected(&self) -> &[Item] {
        self.unexpected.items()
    }

    /// A receive that the engine had. There is room: they are few.
    pub fn put_posted(&mut self, item: Item) {
        let put = self.posted.push(item);
        debug_assert!(put.is_ok(), "few entries fit");
    }

    /// A message that the engine had.
    pub fn put_unexpected(&mut self, item: Item) {
        let put = self.unexpected.push(item);
        debug_assert!(put.is_ok(), "few entries fit");
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        (self.posted.head, self.posted.tail) = (0, 0);
        (self.unexpected.head, self.unexpected.tail) = (0, 0);
    }
}
