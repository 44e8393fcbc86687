//! Posted receives with wildcards.
//!
//! A few receives are in a list, which an arrival scans. A list that is full moves to tables, one for each wildcard class: an arrival
//! looks up what the class leaves of its key, one lookup a class, however many receives there are. Receives of more classes than
//! there are tables stay in the list.

use super::growth::Retired;
use super::key::{Class, Entry, Hashing, Key, Pattern};
use super::row::POSTED;
use super::table::{At, Table};
use crate::effort::Effort;
use crate::engine::{Queue, Refused};

/// Receives in the list before tables are used.
const FEW: usize = 8;
/// Classes with a table.
const CLASSES: usize = 8;

/// A receive in the list.
struct Listed {
    pattern: Pattern,
    entry: Entry,
}

/// The receives of a class.
struct Posted {
    class: Class,
    table: Table,
    /// No receive has a lower number.
    oldest: u64,
}

/// Where a receive is.
#[derive(Clone, Copy)]
pub(super) enum Place {
    List(usize),
    Table(usize, At),
}

/// See the [module's documentation](self).
#[repr(C)]
pub(super) struct Wildcards {
    len: usize,
    /// The oldest first.
    list: Vec<Listed>,
    classes: Vec<Posted>,
    retired: Retired,
    hashing: Hashing,
}

impl Wildcards {
    pub(super) fn new(hashing: Hashing) -> Self {
        Wildcards { len: 0, list: Vec::new(), classes: Vec::new(), retired: Retired::default(), hashing }
    }

    /// Number of receives.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether all receives are in the list.
    #[inline(always)]
    fn has_list_only(&self) -> bool {
        self.list.len() == self.len
    }

    /// Adds a receive, the youngest, to the list, if there are few receives.
    #[inline(always)]
    pub(super) fn add_to_list(&mut self, pattern: Pattern, entry: Entry) -> bool {
        let has_room = self.len < FEW && self.has_list_only() && self.len < self.list.capacity();
        if has_room {
            self.list.push(Listed { pattern, entry });
            self.len += 1;
        }
        has_room
    }

    /// Adds a receive, the youngest.
    pub(super) fn add(&mut self, pattern: Pattern, entry: Entry) -> Result<(), Refused> {
        let is_full = self.list.len() >= FEW;
        // Seldom, if tables have no memory.
        if self.has_list_only() && is_full && self.list.len().is_power_of_two() {
            self.empty_list();
        }
        if self.has_list_only() && !is_full || !self.store(pattern, entry) {
            self.reserve(1)?;
            self.list.push(Listed { pattern, entry });
        }
        self.len += 1;
        Ok(())
    }

    /// Makes room for so many receives in the list.
    pub(super) fn reserve(&mut self, receives: usize) -> Result<(), Refused> {
        self.list.try_reserve(receives).map_err(|_| Refused::Memory)
    }

    /// Moves the receives of the list to tables, if their classes have one.
    fn empty_list(&mut self) {
        let mut list = std::mem::take(&mut self.list);
        list.retain(|listed| !self.store(listed.pattern, listed.entry));
        self.list = list;
    }

    /// Adds a receive, the youngest, if its class has others and its slot is free.
    #[inline(always)]
    pub(super) fn add_in_class(&mut self, pattern: Pattern, entry: Entry) -> bool {
        let Some(posted) = self.classes.iter_mut().find(|posted| posted.class == pattern.class) else {
            return false;
        };
        let is_added = posted.table.len > 0 && posted.table.add_at_home(pattern.key, POSTED, entry);
        posted.table.len += usize::from(is_added);
        self.len += usize::from(is_added);
        is_added
    }

    /// Adds a receive, the youngest of its class, to the table of the class, if it has one with memory.
    fn store(&mut self, pattern: Pattern, entry: Entry) -> bool {
        let class = match self.classes.iter_mut().find(|posted| posted.class == pattern.class) {
            None => self.begin(pattern.class),
            class => class,
        };
        let Some(posted) = class else { return false };
        let is_added = posted.table.add(pattern.key, POSTED, entry).is_ok();
        if posted.table.len == 0 {
            posted.oldest = entry.number;
        }
        posted.table.len += usize::from(is_added);
        is_added
    }

    /// A table for a class, if there are few classes with receives.
    #[inline(never)]
    fn begin(&mut self, class: Class) -> Option<&mut Posted> {
        let mut place = self.classes.iter().position(|posted| posted.table.len == 0);
        if place.is_none() && self.classes.len() < CLASSES && self.classes.try_reserve(1).is_ok() {
            self.classes.push(Posted { class, table: Table::new(self.hashing), oldest: 0 });
            place = Some(self.classes.len() - 1);
        }
        let posted = &mut self.classes[place?];
        posted.class = class;
        Some(posted)
    }

    /// Takes the only receive, if it accepts a message. Returns its id.
    #[inline(always)]
    pub(super) fn take_only(&mut self, key: Key) -> Option<u64> {
        let only = self.list.last().filter(|only| self.len == 1 && only.pattern.accepts(key))?;
        let id = only.entry.id;
        self.list.clear();
        self.len = 0;
        Some(id)
    }

    /// Takes the receive for a message, if all receives are of one class with a table, and its slot decides. Returns its id.
    #[inline(always)]
    pub(super) fn take_in_class(&mut self, key: Key) -> Option<u64> {
        let posted = self.classes.iter_mut().find(|posted| posted.table.len > 0)?;
        if posted.table.len != self.len {
            return None;
        }
        let id = posted.table.take_at_home(posted.class.masked(key), POSTED)?.id;
        posted.table.len -= 1;
        self.len -= 1;
        Some(id)
    }

    /// The oldest receive that accepts a message, if its number is lower than `before`.
    #[inline]
    pub(super) fn find<E: Effort>(&self, key: Key, before: u64, effort: &mut E) -> Option<Place> {
        let (mut oldest, mut found) = (before, None);
        if let Some(at) = self.list.iter().position(|listed| listed.pattern.accepts(key)) {
            effort.examined(Queue::Posted, at as u64 + 1);
            if self.list[at].entry.number < oldest {
                (oldest, found) = (self.list[at].entry.number, Some(Place::List(at)));
            }
        } else {
            effort.examined(Queue::Posted, self.list.len() as u64);
        }
        for (class, posted) in self.classes.iter().enumerate() {
            if posted.table.len > 0 && posted.oldest < oldest {
                let (at, compared) = posted.table.find(posted.class.masked(key));
                effort.examined(Queue::Posted, compared);
                if let Some(at) = at.filter(|&at| posted.table.first(at).number < oldest) {
                    (oldest, found) = (posted.table.first(at).number, Some(Place::Table(class, at)));
                }
            }
        }
        found
    }

    /// Takes the receive at a place. Returns its id.
    #[inline]
    pub(super) fn take(&mut self, place: Place) -> u64 {
        self.len -= 1;
        match place {
            Place::List(at) => self.list.remove(at).entry.id,
            Place::Table(class, at) => {
                let posted = &mut self.classes[class];
                posted.table.len -= 1;
                posted.table.pop(at).id
            }
        }
    }

    /// Takes the receive with this pattern that `is_it` accepts.
    pub(super) fn remove(&mut self, pattern: &Pattern, is_it: impl Fn(Entry) -> bool) -> bool {
        let is_listed = |listed: &Listed| listed.pattern == *pattern && is_it(listed.entry);
        if let Some(at) = self.list.iter().position(is_listed) {
            self.take(Place::List(at));
            return true;
        }
        for posted in self.classes.iter_mut().filter(|of| of.class == pattern.class && of.table.len > 0) {
            if let Some((at, place, _)) = posted.table.search(pattern.key, POSTED, &is_it) {
                posted.table.remove(at, place);
                posted.table.len -= 1;
                self.len -= 1;
                return true;
            }
        }
        false
    }

    /// Frees some memory of tables that are not used any more.
    pub(super) fn tidy(&mut self) {
        self.retired.free_some();
    }

    /// Makes the list and tables smaller that are too large for that many keys. An empty table begins anew.
    #[cold]
    pub(super) fn shrink(&mut self, keys: usize) {
        self.list.shrink_to(keys.max(FEW));
        for posted in &mut self.classes {
            if posted.table.len == 0 && posted.table.is_sparse(keys) {
                let table = std::mem::replace(&mut posted.table, Table::new(self.hashing));
                self.retired.add(table);
            }
            posted.table.shrink(keys);
        }
    }

    /// All receives, in any order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Pattern, Entry)> {
        let listed = self.list.iter().map(|listed| (listed.pattern, listed.entry));
        let in_tables = self.classes.iter().flat_map(|posted| {
            let pattern = |key| Pattern { key, class: posted.class };
            posted.table.iter(POSTED).map(move |(key, entry)| (pattern(key), entry))
        });
        listed.chain(in_tables)
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let tables: u64 = self.classes.iter().map(|posted| posted.table.bytes()).sum();
        let vectors =
            self.list.capacity() * size_of::<Listed>() + self.classes.capacity() * size_of::<Posted>();
        self.retired.bytes() + vectors as u64 + tables
    }

    /// Number of classes with receives in a table.
    pub(super) fn classes(&self) -> usize {
        self.classes.iter().filter(|posted| posted.table.len > 0).count()
    }
}
