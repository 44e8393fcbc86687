//! Receives that leave something open, by what they leave open.
//!
//! A *class* is what a selector ignores: the source or not, and which bits of the tag. All receives of a class have a
//! key of what is left, so that a class is a table. An arrival looks into that of each class that has receives. Masks in
//! numbers [share](super::sharing) a class.

use super::entry::{Head, Kind, Ref};
use super::found::Found;
use super::grave::Dropped;
use super::ids::{MAIN, Named};
use super::key::{Hashing, Key, Spot};
use super::pool::Pool;
use super::sharing::{CROWD, Guard, Sharing};
use super::table::Table;
use crate::engine::{Receive, Refused};
use crate::envelope::{Selector, TagMask, Wild};

/// What a selector ignores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Openness {
    pub(super) any_source: bool,
    pub(super) ignore: u64,
}

impl Openness {
    /// All counts.
    pub(super) const NOTHING: Openness = Openness { any_source: false, ignore: 0 };

    /// What a selector ignores, and the key of what it does not.
    #[inline]
    pub(super) fn of(selector: &Selector) -> (Self, Key) {
        let (asked, any_source, ignore) = selector.parts();
        (Openness { any_source, ignore }, Key::of(&asked))
    }

    /// Whether it leaves a part of the tag open.
    #[inline]
    pub(super) fn is_partial(&self) -> bool {
        self.ignore != 0 && self.ignore != u64::MAX
    }

    /// What is left of a key.
    #[inline]
    pub(super) fn rest(&self, key: &Key) -> Key {
        let source = u64::from(self.any_source).wrapping_sub(1);
        let pair = key.pair & (source | u64::MAX << 32);
        Key { pair, tag: key.tag & !self.ignore, high: key.high & source as u32 }
    }

    /// The selector of a receive of this class.
    pub(super) fn selector(&self, key: Key) -> Selector {
        let envelope = key.envelope();
        let source = if self.any_source { Wild::Any } else { Wild::Is(envelope.source) };
        let tag = Wild::Masked(TagMask { value: envelope.tag, ignore: self.ignore });
        Selector::new(envelope.context, source, tag)
    }
}

/// The receives of a class.
pub(super) struct Class {
    open: Openness,
    pub(super) posted: Table,
    /// None of its receives is older than that of this number.
    since: u64,
    /// Whether it is of several masks: its receives then are called by the places of their guards.
    is_shared: bool,
}

impl Class {
    /// Slots up to which its table is sparse. Until it is known what masks have in common, there are several classes that are
    /// shared, all but one of them for a while only: those take as little memory as they can, and one that is used again less
    /// than others.
    fn sparse_until(is_shared: bool, is_known: bool) -> usize {
        match (is_shared, is_known) {
            (false, _) => Table::default().sparse_until,
            (true, true) => 512,
            (true, false) => 0,
        }
    }
}

/// There is not one class that has receives, but none or several.
pub(super) struct NotOne;

/// All classes that there were, under numbers that stay theirs while they have receives.
#[derive(Default)]
pub(super) struct Classes {
    all: Vec<Class>,
    /// Those that have receives: no arrival looks at any other. In the order of their `since`.
    used: Vec<u32>,
    /// Receives posted in all of them.
    pub(super) posted: usize,
    /// Whether the last two calls of those that met equals in one class met those of one key: mostly the next does, too.
    is_again: bool,
    guards: Pool<Guard>,
    sharing: Sharing,
    /// The most bytes that were allocated before some of them were given back.
    peak_bytes: u64,
}

impl Classes {
    /// Their tables, in the order of their numbers.
    pub(super) fn tables_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        self.all.iter_mut().map(|class| &mut class.posted)
    }

    /// How many there are, with those that have no receives.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// How many have receives.
    pub(super) fn used(&self) -> usize {
        self.used.len()
    }

    pub(super) fn get(&self, number: usize) -> Option<&Class> {
        self.all.get(number)
    }

    pub(super) fn table(&self, number: u32) -> &Table {
        &self.all[number as usize].posted
    }

    /// Whether the receives of a class are called by the places of their guards.
    pub(super) fn is_shared(&self, number: u32) -> bool {
        number != MAIN && self.all[number as usize].is_shared
    }

    fn guard(&self, number: u32, head: Head) -> Option<&Guard> {
        self.is_shared(number).then(|| self.guards.get(head.id as u32))
    }

    /// Places of guards, those of no receive too: all are read to find a name.
    pub(super) fn guards(&self) -> usize {
        self.guards.places()
    }

    /// What a receive of that name may be called in shared classes.
    pub(super) fn guards_called(&self, id: u64) -> impl Iterator<Item = u64> {
        let guards = self.guards.since(0).filter(move |(_, guard)| guard.id == id && guard.is_posted());
        guards.map(|(place, _)| place.into())
    }

    /// What the caller calls an entry of a class, or of the table of those that leave nothing open.
    pub(super) fn id(&self, number: u32, head: Head) -> u64 {
        self.guard(number, head).map_or(head.id, |guard| guard.id)
    }

    /// What an entry of a class asks for, whose key there is known.
    pub(super) fn selector(&self, number: u32, key: Key, head: Head) -> Selector {
        let open = self.all[number as usize].open;
        match self.guard(number, head) {
            Some(&Guard { tag, ignore, .. }) => Openness { ignore, ..open }.selector(Key { tag, ..key }),
            None => open.selector(key),
        }
    }

    pub(super) fn is_growing(&self) -> bool {
        self.used.iter().any(|&number| self.table(number).is_growing())
    }

    pub(super) fn tend(&mut self, hashing: &Hashing, is_held: impl Fn(u32) -> bool) {
        for &number in self.used.iter().filter(|&&number| !is_held(number)) {
            self.all[number as usize].posted.tend(hashing);
        }
    }

    /// Keeps a receive.
    #[inline(always)]
    pub(super) fn post(&mut self, receive: &Receive, seq: u64, hashing: &Hashing) -> Result<Named, Refused> {
        let (open, key) = Openness::of(&receive.selector);
        if open.is_partial() {
            if let Some(named) = self.post_shared(open, &key, receive.id.0, seq, hashing)? {
                return Ok(named);
            }
        }
        let class = self.number(open, false)?;
        let head = Head { kind: Kind::Posted, seq, id: receive.id.0 };
        let entry = self.add(class, &key, hashing.spot(&key), head)?;
        Ok(Named { class, entry, seq })
    }

    /// The same where there is but one class, of no mask, and there the equals that the last call met, or an empty slot for it.
    /// False, and nothing done: it takes more than that.
    #[inline(always)]
    pub(super) fn post_plainly(&mut self, receive: &Receive, seq: u64, hashing: &Hashing) -> bool {
        let &[number] = self.used.as_slice() else { return false };
        let (open, key) = Openness::of(&receive.selector);
        let Class { open: of_class, posted, is_shared, .. } = &mut self.all[number as usize];
        if *of_class != open || *is_shared || open.is_partial() || key.high != 0 {
            return false;
        }
        let head = Head { kind: Kind::Posted, seq, id: receive.id.0 };
        let mut is_put = self.is_again && posted.append_again(&key, head);
        if !is_put {
            (self.is_again, posted.is_again) = (false, false);
            is_put = posted.put_plainly(key.pair, key.tag, hashing.narrow(key.pair, key.tag), head);
        }
        self.posted += usize::from(is_put);
        is_put
    }

    /// The same in the class that its mask shares with others, if it does.
    #[inline(always)]
    fn post_shared(
        &mut self,
        open: Openness,
        key: &Key,
        id: u64,
        seq: u64,
        hashing: &Hashing,
    ) -> Result<Option<Named>, Refused> {
        let Classes { all, used, guards, sharing, .. } = self;
        let others = || {
            let is_other = |class: &Class| !class.is_shared && class.open.is_partial() && class.open != open;
            used.iter().filter(|&&number| is_other(&all[number as usize])).count()
        };
        let Some(wide) = sharing.wide(open, others, guards.len() > 0) else { return Ok(None) };
        let class = self.number(wide, true)?;
        let rest = wide.rest(key);
        let spot = hashing.spot(&rest);
        self.guards.reserve_one()?;
        let guard = self.guards.insert(Guard { id, tag: key.tag, ignore: open.ignore });
        let head = Head { kind: Kind::Posted, seq, id: guard.into() };
        let posted = &mut self.all[class as usize].posted;
        if posted.counts > 0 && rest.high == 0 && posted.put_plainly(rest.pair, rest.tag, spot, head) {
            self.posted += 1;
            return Ok(Some(Named { class, entry: Ref::inline(spot), seq }));
        }
        if posted.has_crowd(&rest, spot, CROWD) {
            self.guards.remove(guard);
            self.sharing.met_crowd();
            return Ok(None);
        }
        let added = self.add(class, &rest, spot, head);
        if added.is_err() {
            self.guards.remove(guard);
        }
        Ok(Some(Named { class, entry: added?, seq }))
    }

    /// The number of a class, which is made if there is none. What is made has no receives yet.
    #[inline]
    fn number(&mut self, open: Openness, is_shared: bool) -> Result<u32, Refused> {
        let is_it = |&&number: &&u32| {
            let class = &self.all[number as usize];
            class.open == open && class.is_shared == is_shared
        };
        if let Some(&number) = self.used.iter().find(is_it) {
            return Ok(number);
        }
        self.unused(open, is_shared)
    }

    fn unused(&mut self, open: Openness, is_shared: bool) -> Result<u32, Refused> {
        self.used.try_reserve(1).map_err(|_| Refused::Memory)?;
        let same = self.all.iter().position(|class| class.open == open && class.is_shared == is_shared);
        let vacant = || self.all.iter().position(|class| class.posted.counts == 0);
        if let Some(number) = same.or_else(vacant) {
            let class = &mut self.all[number];
            (class.open, class.is_shared) = (open, is_shared);
            class.posted.sparse_until = Class::sparse_until(is_shared, same.is_some());
            return Ok(number as u32);
        }
        self.all.try_reserve(1).map_err(|_| Refused::Memory)?;
        let posted = Table::sparse_until(Class::sparse_until(is_shared, false));
        self.all.push(Class { open, posted, since: 0, is_shared });
        Ok(self.all.len() as u32 - 1)
    }

    /// The class of that number has one more receive.
    #[inline]
    fn add(&mut self, number: u32, key: &Key, spot: Spot, head: Head) -> Result<Ref, Refused> {
        let table = &mut self.all[number as usize].posted;
        let is_first = table.counts == 0;
        let added = table.put(key, spot, head)?;
        self.is_again = table.is_again && self.used.len() == 1;
        self.posted += 1;
        if is_first {
            self.all[number as usize].since = head.seq;
            // There is room: see `unused`.
            self.used.push(number);
        }
        Ok(added)
    }

    /// The class of that number has one less. What it was called.
    #[inline]
    pub(super) fn take(&mut self, number: u32, found: Found) -> u64 {
        let class = &mut self.all[number as usize];
        class.posted.note_open(found.at.cell());
        self.is_again = class.posted.is_again && self.used.len() == 1;
        let mut id = class.posted.remove(found).id;
        self.posted -= 1;
        if class.is_shared {
            let guard = id as u32;
            id = self.guards.get(guard).id;
            self.guards.remove(guard);
        }
        if class.posted.counts == 0 {
            self.used.retain(|&used| used != number);
            self.empty(number);
        }
        id
    }

    /// A class has no receives any more.
    #[inline]
    fn empty(&mut self, number: u32) {
        let Class { open, is_shared, .. } = self.all[number as usize];
        if is_shared && self.sharing.is_covered(open) != Some(open) {
            // Another has taken its place, which ignores more.
            self.peak_bytes = self.peak_bytes.max(self.bytes());
            self.all[number as usize].posted = Table::default();
        }
        if self.posted == 0 {
            self.sharing.settle();
        }
    }

    /// Bytes that were allocated once, beyond those that are.
    pub(super) fn dropped_bytes(&self) -> u64 {
        self.peak_bytes.saturating_sub(self.bytes())
    }

    /// The number of the earliest receive that a message of that key matches, if there is but one class, of no mask, and that is the
    /// first of the equals there that the last call met.
    #[inline(always)]
    pub(super) fn first_again(&mut self, key: &Key) -> Option<u64> {
        let &[number] = self.used.as_slice() else {
            self.is_again = false;
            return None;
        };
        let Class { open, posted, is_shared, .. } = &mut self.all[number as usize];
        let seq = if *is_shared { None } else { posted.first_again(&open.rest(key)) };
        if seq.is_none() {
            (self.is_again, posted.is_again) = (false, false);
        }
        seq
    }

    /// Whether it may be worth looking whether it is [that](Self::first_again).
    #[inline(always)]
    pub(super) fn is_again(&self) -> bool {
        self.is_again
    }

    /// Takes [that](Self::first_again). What it was called.
    #[inline(always)]
    pub(super) fn take_again(&mut self) -> u64 {
        self.posted -= 1;
        self.all[self.used[0] as usize].posted.take_again()
    }

    /// Takes the earliest receive that a message of that key matches, if there is but one class.
    #[inline]
    pub(super) fn take_of_one(
        &mut self,
        key: &Key,
        hashing: &Hashing,
        examined: &mut u64,
    ) -> Result<Option<u64>, NotOne> {
        let &[number] = self.used.as_slice() else { return Err(NotOne) };
        let Class { open, posted, is_shared, .. } = &mut self.all[number as usize];
        let rest = open.rest(key);
        let spot = hashing.spot(&rest);
        let taken = if *is_shared {
            let admits = |guard: u64| self.guards.get(guard as u32).admits(key.tag);
            let Some(guard) = posted.take(&rest, spot, examined, admits) else { return Ok(None) };
            let id = self.guards.get(guard as u32).id;
            self.guards.remove(guard as u32);
            id
        } else {
            let Some(id) = posted.take(&rest, spot, examined, |_| true) else { return Ok(None) };
            id
        };
        self.is_again = posted.is_again;
        self.posted -= 1;
        if posted.counts == 0 {
            self.used.clear();
            self.empty(number);
        }
        Ok(Some(taken))
    }

    /// The earliest receive that a message of that key matches: its number, its class, and where it is there.
    #[inline(always)]
    pub(super) fn find(&self, key: &Key, hashing: &Hashing, examined: &mut u64) -> Option<(u64, u32, Found)> {
        let mut earliest: Option<(u64, u32, Found)> = None;
        for &number in &self.used {
            let Class { open, posted, since, is_shared } = &self.all[number as usize];
            if earliest.is_some_and(|(earliest, ..)| earliest < *since) {
                // Nor has any of the others an older one.
                break;
            }
            let rest = open.rest(key);
            let Some(at) = posted.find(&rest, hashing.spot(&rest), examined) else { continue };
            let mut found = Found::first(at);
            if *is_shared {
                let admits = |head: Head| self.guards.get(head.id as u32).admits(key.tag);
                let Some(admitting) = posted.first_that(found, admits, examined) else { continue };
                found = admitting;
            }
            let seq = posted.entry(found).seq;
            if earliest.is_none_or(|(earliest, ..)| seq < earliest) {
                earliest = Some((seq, number, found));
            }
        }
        earliest
    }
}

impl Dropped for Classes {
    fn bytes(&self) -> u64 {
        let places = self.all.capacity() * size_of::<Class>() + self.used.capacity() * size_of::<u32>();
        let tables = self.all.iter().map(|class| class.posted.bytes()).sum::<u64>();
        places as u64 + self.guards.bytes() + tables
    }

    fn give_back(&mut self, chunks: usize) -> bool {
        let Some(class) = self.all.last_mut() else { return (0..chunks).all(|_| self.guards.give_back()) };
        if !class.posted.give_back(chunks) {
            self.all.pop();
        }
        true
    }
}
