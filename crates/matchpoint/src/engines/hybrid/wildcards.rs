//! Posted receives with wildcards.
//!
//! Up to eight receives are in a list, which an arrival scans. A full list moves to tables, one table for
//! each wildcard class. An arrival then costs one lookup per class: it looks up the fields that the class
//! does not ignore. If more classes have receives than there are tables, the receives of further classes stay
//! in the list.

use super::growth::Retired;
use super::key::{Class, Entry, Hashing, Key, Pattern};
use super::row::POSTED;
use super::table::{ClassTable, Table};
use crate::effort::Effort;
use crate::engine::{Queue, Refused};

/// Maximum number of receives in the list before the engine uses tables.
const FEW: usize = 8;
/// Maximum number of classes with a table.
const CLASSES: usize = 8;

/// See the [module's documentation](self).
#[repr(C)]
pub(super) struct Wildcards {
    /// Number of receives in tables.
    in_tables: usize,
    /// Receives in posted order, oldest first.
    list: Vec<(Pattern, Entry)>,
    classes: Vec<ClassTable>,
    hashing: Hashing,
}

impl Wildcards {
    pub(super) fn new(hashing: Hashing) -> Self {
        Wildcards { in_tables: 0, list: Vec::new(), classes: Vec::new(), hashing }
    }

    /// Number of receives.
    pub(super) fn len(&self) -> usize {
        self.list.len() + self.in_tables
    }

    /// Adds a receive, the youngest of all.
    #[inline(always)]
    pub(super) fn add(&mut self, pattern: Pattern, entry: Entry) -> Result<(), Refused> {
        let len = self.list.len();
        // Retries rarely, in case tables have no memory.
        if self.in_tables == 0 && len >= FEW && len.is_power_of_two() {
            self.empty_list();
        }
        if self.in_tables == 0 && len < FEW || !self.store(pattern, entry) {
            self.reserve(1)?;
            self.list.push((pattern, entry));
        }
        Ok(())
    }

    /// Adds a receive to the list, if the list has all receives and memory for one more. Returns false if
    /// [`add`](Self::add) must add the receive.
    #[inline(always)]
    pub(super) fn add_to_list(&mut self, pattern: Pattern, entry: Entry) -> bool {
        let has_room = self.in_tables == 0 && self.list.len() < FEW;
        if has_room && self.list.len() < self.list.capacity() {
            self.list.push((pattern, entry));
            return true;
        }
        false
    }

    /// Reserves memory for `receives` receives in the list.
    pub(super) fn reserve(&mut self, receives: usize) -> Result<(), Refused> {
        self.list.try_reserve(receives).map_err(|_| Refused::Memory)
    }

    /// Moves the receives of the list to the tables of their classes. Receives of classes without a table
    /// stay in the list.
    fn empty_list(&mut self) {
        let mut list = std::mem::take(&mut self.list);
        list.retain(|&(pattern, entry)| !self.store(pattern, entry));
        self.list = list;
    }

    /// Adds the youngest receive of a class to the class table. Returns false if the class has no table, or
    /// no memory.
    #[inline(always)]
    fn store(&mut self, pattern: Pattern, entry: Entry) -> bool {
        let class = match self.classes.iter_mut().find(|posted| posted.class == pattern.class) {
            None => self.begin(pattern.class),
            class => class,
        };
        let is_added = class.is_some_and(|posted| posted.add(pattern.key, entry).is_ok());
        self.in_tables += usize::from(is_added);
        is_added
    }

    /// Creates a table for a class, if fewer than [`CLASSES`] classes have receives in tables.
    fn begin(&mut self, class: Class) -> Option<&mut ClassTable> {
        let mut nth = self.classes.iter().position(|posted| posted.len == 0);
        if nth.is_none() && self.classes.len() < CLASSES && self.classes.try_reserve(1).is_ok() {
            self.classes.push(ClassTable::new(class, POSTED, self.hashing));
            nth = Some(self.classes.len() - 1);
        }
        let posted = &mut self.classes[nth?];
        posted.class = class;
        Some(posted)
    }

    /// Takes the receive of a list of one receive, if the receive accepts the message.
    pub(super) fn take_only(&mut self, key: Key) -> Option<Entry> {
        let is_it = self.list.len() == 1 && self.list[0].0.accepts(key);
        if is_it { self.list.pop().map(|(_, entry)| entry) } else { None }
    }

    /// Does [`take`](Self::take), with short paths if all receives are in the list, or in the table of one
    /// class. Does not count the attempt that matches.
    #[inline(always)]
    pub(super) fn take_before<E: Effort>(&mut self, key: Key, before: u64, effort: &mut E) -> Option<u64> {
        if self.in_tables == 0 {
            let mut older = self.list.iter().take_while(|(_, entry)| entry.number < before);
            let nth = older.position(|(pattern, _)| pattern.accepts(key));
            effort.examined(Queue::Posted, nth.unwrap_or(self.list.len()) as u64);
            return nth.map(|nth| self.list.remove(nth).1.id);
        }
        let len = self.len();
        if before == u64::MAX {
            let of_all = self.classes.iter_mut().find(|posted| posted.len == len);
            if let Some(entry) = of_all.and_then(|posted| posted.take_at_home(key)) {
                self.in_tables -= 1;
                return Some(entry.id);
            }
        }
        self.take(key, before, effort)
    }

    /// Takes the oldest receive that accepts a message, if the receive's number is lower than `before`.
    /// Returns the receive's id.
    #[inline(never)]
    pub(super) fn take<E: Effort>(&mut self, key: Key, before: u64, effort: &mut E) -> Option<u64> {
        let listed = self.list.iter().position(|(pattern, _)| pattern.accepts(key));
        effort.examined(Queue::Posted, listed.map_or(self.list.len(), |nth| nth + 1) as u64);
        let listed = listed.filter(|&nth| self.list[nth].1.number < before);
        let (mut oldest, mut in_class) = (listed.map_or(before, |nth| self.list[nth].1.number), None);
        for posted in self.classes.iter_mut().filter(|posted| posted.len > 0) {
            let (at, compared) = posted.table.find(posted.class.masked(key));
            effort.examined(Queue::Posted, compared);
            if let Some(at) = at {
                let number = posted.table.first(at).entry.number;
                if number < oldest {
                    (oldest, in_class) = (number, Some((posted, at)));
                }
            }
        }
        let Some((posted, at)) = in_class else { return Some(self.list.remove(listed?).1.id) };
        self.in_tables -= 1;
        Some(posted.pop(at).id)
    }

    /// Removes the receive with this pattern that `is_it` accepts.
    pub(super) fn remove(&mut self, pattern: &Pattern, is_it: impl Fn(Entry) -> bool) -> bool {
        let listed = self.list.iter().position(|(of, entry)| of == pattern && is_it(*entry));
        let mut of_class = self.classes.iter_mut().filter(|posted| posted.class == pattern.class);
        let is_in_table = listed.is_none() && of_class.any(|posted| posted.take(pattern.key, &is_it));
        self.in_tables -= usize::from(is_in_table);
        is_in_table || listed.map(|nth| self.list.remove(nth)).is_some()
    }

    /// Shrinks the list, and the tables that are too large for `keys` keys. An empty table is replaced by a
    /// new table.
    pub(super) fn shrink(&mut self, keys: usize, retired: &mut Retired) {
        self.list.shrink_to(keys.max(FEW));
        for posted in &mut self.classes {
            if posted.len == 0 && posted.table.is_sparse(keys) {
                retired.add(std::mem::replace(&mut posted.table, Table::new(self.hashing)));
            }
            posted.table.duplicates.shrink(keys);
            posted.table.shrink(keys);
        }
    }

    /// All receives, in any order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Pattern, Entry)> {
        let in_tables = self.classes.iter().flat_map(|posted| {
            let pattern = |key| Pattern { key, class: posted.class };
            posted.table.iter(POSTED).map(move |(key, entry)| (pattern(key), entry))
        });
        self.list.iter().copied().chain(in_tables)
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let tables: u64 = self.classes.iter().map(|posted| posted.table.bytes()).sum();
        let vectors = self.list.capacity() * size_of::<(Pattern, Entry)>()
            + self.classes.capacity() * size_of::<ClassTable>();
        vectors as u64 + tables
    }

    /// Number of classes with receives in a table.
    pub(super) fn classes(&self) -> usize {
        self.classes.iter().filter(|posted| posted.len > 0).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::Pair;

    /// Any-source receives of tags 0 to 19, in a table.
    fn many() -> Wildcards {
        let mut wildcards = Wildcards::new(Hashing::of_seed(1));
        for tag in 0..20 {
            let pattern = Pattern::new(Pair(0xFFFF_FFFF), tag, 0);
            wildcards.add(pattern, Entry { id: tag, number: tag }).unwrap();
        }
        assert_eq!((wildcards.len(), wildcards.classes()), (20, 1));
        wildcards
    }

    #[test]
    fn last_removal_of_class_leaves_empty_list() {
        let mut taken = many();
        let mut removed = many();
        for tag in 0..20 {
            assert_eq!(taken.take_before(Key { pair: 3, tag }, u64::MAX, &mut ()), Some(tag));
            assert!(removed.remove(&Pattern::new(Pair(0xFFFF_FFFF), tag, 0), |entry| entry.id == tag));
        }
        for mut wildcards in [taken, removed] {
            assert_eq!((wildcards.len(), wildcards.classes()), (0, 0));
            assert!(wildcards.add_to_list(Pattern::new(Pair(3), 0, 1), Entry::default()));
        }
    }
}
