//! Posted receives with wildcards.
//!
//! Each of the first eight wildcard classes in use has a hash table, in which an arrival looks up what the class leaves of its key:
//! one lookup a class, however many receives there are. Receives of other classes are in one list, which an arrival
//! scans 64 at a time. A receive that is the only one is in neither, until another is posted.

use super::key::{Class, Entry, Hashing, Key, Pattern};
use super::row::POSTED;
use super::rows::Retired;
use super::table::{At, Table};
use crate::blocks::{Blocks, Found, Keys, Wanted};
use crate::effort::Effort;
use crate::engine::{Queue, Refused};
use crate::scan::{Kernel, LANES, Lanes};

/// Classes with a table.
const CLASSES: usize = 8;

/// A receive in the list.
#[derive(Clone, Copy)]
pub(super) struct Listed {
    pattern: Pattern,
    entry: Entry,
}

/// The patterns of 64 receives, each folded to 32 bits of tag and 32 bits of source and context, and their masks.
pub(super) struct Masks {
    tags: [u32; LANES],
    tag_masks: [u32; LANES],
    sources: [u32; LANES],
    source_masks: [u32; LANES],
}

impl Default for Masks {
    fn default() -> Self {
        let none = [0; LANES];
        Masks { tags: none, tag_masks: none, sources: none, source_masks: none }
    }
}

#[inline(always)]
fn fold(key: Key) -> (u32, u32) {
    let context = (key.pair >> 32) as u32;
    ((key.tag ^ key.tag >> 32) as u32, key.pair as u32 ^ context.wrapping_mul(0x9E37_79B1))
}

struct Fold;

impl Keys<Listed, Fold> for Masks {
    #[inline]
    fn set(&mut self, _: &Fold, lane: usize, listed: &Listed) {
        let Pattern { key, class: Class { source, ignore } } = listed.pattern;
        // A folded bit is compared if the class compares it in both halves of the tag.
        let (tag_mask, source_mask) = (!(ignore as u32 | (ignore >> 32) as u32), !source);
        let (tag, source) = fold(key);
        (self.tags[lane], self.tag_masks[lane]) = (tag & tag_mask, tag_mask);
        (self.sources[lane], self.source_masks[lane]) = (source & source_mask, source_mask);
    }
}

impl Wanted<Listed, Masks> for Key {
    type Key = (u32, u32);

    #[inline(always)]
    fn key(&self) -> (u32, u32) {
        fold(*self)
    }

    #[inline(always)]
    fn hits<L: Lanes>(lanes: L, keys: &Masks, (tag, source): (u32, u32)) -> u64 {
        let hits = lanes.equal_32_under_each(&keys.tags, &keys.tag_masks, tag);
        if hits == 0 {
            0
        } else {
            hits & lanes.equal_32_under_each(&keys.sources, &keys.source_masks, source)
        }
    }

    #[inline(always)]
    fn matches(&self, listed: &Listed) -> bool {
        listed.pattern.accepts(*self)
    }
}

/// The receives of a class.
struct Posted {
    class: Class,
    table: Table,
    len: usize,
    /// No receive has a lower number.
    oldest: u64,
}

/// Where a receive is.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Lone,
    List(Found),
    Table(usize, At),
}

/// See the [module's documentation](self).
pub(super) struct Wildcards {
    /// The only receive.
    lone: Option<Listed>,
    classes: Vec<Posted>,
    list: Blocks<Listed, Masks>,
    retired: Retired,
    /// Whether a table has grown since the engine last noted its memory.
    pub(super) is_moving: bool,
    len: usize,
    hashing: Hashing,
    kernel: Kernel,
}

impl Wildcards {
    pub(super) fn new(hashing: Hashing, kernel: Kernel) -> Self {
        Wildcards {
            lone: None,
            classes: Vec::new(),
            list: Blocks::default(),
            retired: Retired::default(),
            is_moving: false,
            len: 0,
            hashing,
            kernel,
        }
    }

    /// Number of receives.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds a receive, which is the only one.
    #[inline(always)]
    pub(super) fn add_lone(&mut self, pattern: Pattern, entry: Entry) {
        self.lone = Some(Listed { pattern, entry });
        self.len = 1;
    }

    /// Adds a receive, the youngest.
    #[inline]
    pub(super) fn add(&mut self, pattern: Pattern, entry: Entry) -> Result<(), Refused> {
        if self.len == 0 {
            self.add_lone(pattern, entry);
            return Ok(());
        }
        if let Some(lone) = self.lone {
            self.store(lone.pattern, lone.entry)?;
            self.lone = None;
        }
        self.store(pattern, entry)?;
        self.len += 1;
        Ok(())
    }

    /// Adds a receive, the youngest, if its class has others and its slot is free.
    #[inline(always)]
    pub(super) fn add_in_class(&mut self, pattern: Pattern, entry: Entry) -> bool {
        let Some(posted) = self.classes.iter_mut().find(|posted| posted.class == pattern.class) else {
            return false;
        };
        let is_added = posted.len > 0 && posted.table.add_at_home(pattern.key, POSTED, entry);
        posted.len += usize::from(is_added);
        self.len += usize::from(is_added);
        is_added
    }

    /// Adds a receive to the table of its class, or to the list.
    #[inline(always)]
    fn store(&mut self, pattern: Pattern, entry: Entry) -> Result<(), Refused> {
        let class = match self.classes.iter_mut().find(|posted| posted.class == pattern.class) {
            None => self.begin(pattern.class),
            class => class,
        };
        match class {
            Some(posted) => {
                posted.table.add(pattern.key, POSTED, entry, posted.len)?;
                let is_ready = posted.table.is_ready();
                if posted.len == 0 {
                    posted.oldest = entry.number;
                }
                posted.len += 1;
                self.is_moving |= !is_ready;
            }
            None => self.list.push(&Fold, Listed { pattern, entry })?,
        }
        Ok(())
    }

    /// A table for a class, if there are few classes with receives.
    #[inline(never)]
    fn begin(&mut self, class: Class) -> Option<&mut Posted> {
        let mut place = self.classes.iter().position(|posted| posted.len == 0);
        if place.is_none() && self.classes.len() < CLASSES && self.classes.try_reserve(1).is_ok() {
            self.classes.push(Posted { class, table: Table::new(self.hashing), len: 0, oldest: 0 });
            place = Some(self.classes.len() - 1);
        }
        let posted = &mut self.classes[place?];
        posted.class = class;
        Some(posted)
    }

    /// Takes the only receive, if it accepts a message. Returns its id.
    #[inline(always)]
    pub(super) fn take_lone(&mut self, key: Key) -> Option<u64> {
        let lone = self.lone.as_ref().filter(|lone| lone.pattern.accepts(key))?;
        let id = lone.entry.id;
        (self.lone, self.len) = (None, 0);
        Some(id)
    }

    /// Takes the receive for a message, if all receives are of one class and its slot decides. Returns its id.
    #[inline(always)]
    pub(super) fn take_single(&mut self, key: Key) -> Option<u64> {
        let posted = self.classes.iter_mut().find(|posted| posted.len > 0)?;
        if posted.len != self.len {
            return None;
        }
        let id = posted.table.take_at_home(posted.class.masked(key), POSTED)?.id;
        posted.len -= 1;
        self.len -= 1;
        Some(id)
    }

    /// The oldest receive that accepts a message, if its number is lower than `before`.
    #[inline]
    pub(super) fn find<E: Effort>(&self, key: Key, before: u64, effort: &mut E) -> Option<Place> {
        if let Some(lone) = &self.lone {
            effort.examined(Queue::Posted, 1);
            return (lone.entry.number < before && lone.pattern.accepts(key)).then_some(Place::Lone);
        }
        let (mut oldest, mut found) = (before, None);
        if self.list.len() > 0 {
            let listed = self.list.find(self.kernel, Queue::Posted, &key, effort, &mut E::default());
            if let Some(place) = listed.filter(|place| self.list.get(place.place).entry.number < oldest) {
                oldest = self.list.get(place.place).entry.number;
                found = Some(Place::List(place));
            }
        }
        for (class, posted) in self.classes.iter().enumerate() {
            if posted.len > 0 && posted.oldest < oldest {
                let (at, compared) = posted.table.find(posted.class.masked(key));
                effort.examined(Queue::Posted, compared);
                if let Some(at) = at.filter(|&at| posted.table.first(at).number < oldest) {
                    oldest = posted.table.first(at).number;
                    found = Some(Place::Table(class, at));
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
            Place::Lone => self.lone.take().map_or(0, |lone| lone.entry.id),
            Place::List(found) => {
                let id = self.list.get(found.place).entry.id;
                self.list.take(&Fold, found);
                id
            }
            Place::Table(class, at) => {
                let posted = &mut self.classes[class];
                posted.len -= 1;
                posted.table.pop(at).id
            }
        }
    }

    /// Takes the receive with this pattern that `is_it` accepts. [Settle](Self::settle) before the next search.
    pub(super) fn remove(&mut self, pattern: &Pattern, is_it: impl Fn(Entry) -> bool) -> bool {
        if let Some(lone) = self.lone {
            let is_lone = lone.pattern == *pattern && is_it(lone.entry);
            if is_lone {
                (self.lone, self.len) = (None, 0);
            }
            return is_lone;
        }
        for posted in self.classes.iter_mut().filter(|of| of.class == pattern.class && of.len > 0) {
            if let Some((at, place, _)) = posted.table.search(pattern.key, POSTED, &is_it) {
                posted.table.remove(at, place);
                posted.len -= 1;
                self.len -= 1;
                return true;
            }
        }
        let found = self.list.iter().map(|(_, place)| place).find(|&place| {
            let listed = self.list.get(place);
            listed.pattern == *pattern && is_it(listed.entry)
        });
        if let Some(place) = found {
            self.list.remove(place);
            self.len -= 1;
        }
        found.is_some()
    }

    /// Closes the gaps that [`remove`](Self::remove) left in the list.
    pub(super) fn settle(&mut self) {
        self.list.settle(&Fold);
    }

    /// Frees some memory of tables that are not used any more.
    pub(super) fn tidy(&mut self) {
        self.retired.free_some();
    }

    /// Makes tables smaller that are too large for that many keys. An empty one begins anew.
    #[cold]
    pub(super) fn shrink(&mut self, keys: usize) {
        for posted in &mut self.classes {
            if posted.len == 0 && posted.table.is_sparse(keys) {
                let table = std::mem::replace(&mut posted.table, Table::new(self.hashing));
                self.retired.add(table.into_rows());
            }
            posted.table.shrink(keys);
        }
    }

    /// Gives back memory, if there are no receives.
    pub(super) fn release(&mut self) {
        for posted in self.classes.drain(..) {
            self.retired.add(posted.table.into_rows());
        }
        (self.classes, self.list) = (Vec::new(), Blocks::default());
    }

    /// All receives, in any order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Pattern, Entry)> {
        let listed = self.list.iter().map(|(_, place)| self.list.get(place)).map(|of| (of.pattern, of.entry));
        let in_tables = self.classes.iter().flat_map(|posted| {
            let pattern = |key| Pattern { key, class: posted.class };
            posted.table.iter(POSTED).map(move |(key, entry)| (pattern(key), entry))
        });
        let lone = self.lone.iter().map(|lone| (lone.pattern, lone.entry));
        lone.chain(listed).chain(in_tables)
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let tables: u64 = self.classes.iter().map(|posted| posted.table.bytes()).sum();
        self.list.bytes()
            + self.retired.bytes()
            + (self.classes.capacity() * size_of::<Posted>()) as u64
            + tables
    }

    /// Number of classes with receives in a table.
    pub(super) fn classes(&self) -> usize {
        self.classes.iter().filter(|posted| posted.len > 0).count()
    }
}
