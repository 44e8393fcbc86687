//! Entries by the caller's names for them, for cancel, retract and readdress: begun when [looks](super::looks) at all entries cost
//! more, dropped when none of these is called for long.
//!
//! Entries queued from then on are kept in a table. Those that were there before are [noted](super::notes), a few with each
//! call, in the order of memory. Until all are, a name that is not found is looked for among the rest, one entry after the
//! other, and an eighth of all is then noted at once: so eight such searches are all that there are, however many
//! entries are cancelled.

use super::class::Classes;
use super::entry::{Head, Kind, Ref};
use super::grave::Dropped;
use super::key::Hashing;
use super::notes::{Notes, key};
use super::passage::Reached;
use super::table::Table;
use crate::engine::Refused;

/// Entries that came and went since the last call that asked for one, before the map is dropped.
const UNUSED: usize = 4096;

/// Where a named entry is: in the table of a class (or, at `MAIN`, of those that leave nothing open), and there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    pub(super) class: u32,
    pub(super) entry: Ref,
    pub(super) seq: u64,
}

/// The class of what belongs to none.
pub(super) const MAIN: u32 = u32::MAX >> 2;

/// Searches of the rest until there is none. Noting an entry takes some ten times as long as looking at it: with fewer the
/// longest of them would take longer, with more all of them together.
const SEARCHES: usize = 8;

/// Places whose entries are noted with each call.
pub(super) const STEP: usize = 32;

pub(super) struct Ids {
    table: Table,
    /// Nothing, without memory: all that was there before remains to be searched, until a search finds memory.
    notes: Option<Notes>,
    unused: usize,
    /// How many of these there are when it is reckoned next whether names are wanted.
    due: usize,
    kind: Kind,
    /// How far the entries that were there before have been noted: a table, `0` for that of those that leave nothing open,
    /// and how far it was gone through.
    until: (usize, Reached),
    /// Tables that there were before.
    tables: usize,
    /// Places that are gone through after a search.
    share: usize,
}

/// The table of receives of a class, or that of all that leaves nothing open, by its number here.
fn table_at<'a>(number: usize, main: &'a Table, classes: &'a Classes) -> Option<(u32, &'a Table)> {
    match number.checked_sub(1) {
        None => Some((MAIN, main)),
        Some(class) => Some((class as u32, &classes.get(class)?.posted)),
    }
}

/// Places of so many tables, each of which who seeks a name may have to look at, and those that tell how receives in shared classes
/// are called.
fn places(tables: usize, main: &Table, classes: &Classes) -> usize {
    // Receives alone have more than one table.
    let guards = if tables > 1 { classes.guards() } else { 0 };
    let tables = (0..tables).filter_map(|number| table_at(number, main, classes));
    tables.map(|(_, table)| table.all_places()).sum::<usize>() + guards
}

/// Places at which an entry of a kind may be.
pub(super) fn places_of(kind: Kind, main: &Table, classes: &Classes) -> usize {
    places(tables(kind, classes), main, classes)
}

/// Tables that have entries of a kind.
fn tables(kind: Kind, classes: &Classes) -> usize {
    if kind == Kind::Posted { 1 + classes.len() } else { 1 }
}

/// Where the entry of that kind and name is, by a look at all places.
pub(super) fn look(id: u64, kind: Kind, main: &Table, classes: &Classes, hashing: &Hashing) -> Option<Named> {
    look_behind((0, Reached::NOTHING), tables(kind, classes), id, kind, main, classes, hashing)
}

/// The same at the places behind what was reached of the first so many tables.
fn look_behind(
    (first, from): (usize, Reached),
    tables: usize,
    id: u64,
    kind: Kind,
    main: &Table,
    classes: &Classes,
    hashing: &Hashing,
) -> Option<Named> {
    let behind = |is_shared: bool| {
        (first..tables).filter_map(move |number| {
            let (class, table) = table_at(number, main, classes)?;
            let is_one = table.counts > 0 && classes.is_shared(class) == is_shared;
            is_one.then_some((number, class, table))
        })
    };
    let called = |id: u64, is_shared: bool| {
        behind(is_shared).find_map(|(number, class, table)| {
            let from = if number == first { from } else { Reached::NOTHING };
            let (Head { seq, .. }, entry) = table.called(id, kind, from, hashing)?;
            Some(Named { class, entry, seq })
        })
    };
    called(id, false).or_else(|| {
        // All guards are looked at, once, whatever the number of classes that they belong to: not where none of these is left.
        behind(true).next()?;
        classes.guards_called(id).find_map(|guard| called(guard, true))
    })
}

impl Ids {
    /// Names for entries of a kind, none of which is noted yet.
    pub(super) fn of(kind: Kind, main: &Table, classes: &Classes) -> Self {
        let tables = tables(kind, classes);
        Ids {
            table: Table::sparse_until(0),
            notes: Self::notes(kind, main, classes),
            unused: 0,
            due: UNUSED,
            kind,
            until: (0, Reached::NOTHING),
            tables,
            share: places(tables, main, classes) / SEARCHES + STEP,
        }
    }

    /// Room to note all entries of a kind, if there is memory.
    fn notes(kind: Kind, main: &Table, classes: &Classes) -> Option<Notes> {
        let open = if kind == Kind::Posted { classes.posted } else { 0 };
        Notes::of(main.count(kind) + open).ok()
    }

    /// Whether entries that were there before are to be noted.
    fn is_behind(&self) -> bool {
        self.until.0 < self.tables
    }

    /// Nothing is in the tables: nothing is left to be noted, and whoever has no use for names is one step nearer to their end.
    pub(super) fn rest(&mut self, classes: &Classes) {
        self.tables = tables(self.kind, classes);
        self.until = (self.tables, Reached::NOTHING);
        self.unused += 1;
    }

    /// Whether the keys of a table must stay where they are, because they are being noted.
    pub(super) fn holds(&self, number: usize) -> bool {
        let (table, reached) = self.until;
        table == number && reached != Reached::NOTHING && reached.is_among_keys() && self.notes.is_some()
    }

    /// Notes the entries at so many places, from one table to the next.
    pub(super) fn catch_up(&mut self, mut most: usize, main: &Table, classes: &Classes, hashing: &Hashing) {
        while most > 0 && self.is_behind() {
            let Some(notes) = &mut self.notes else { return };
            let (number, from) = self.until;
            let Some((class, table)) = table_at(number, main, classes) else { return };
            let note = |head: Head, entry: Ref| notes.write(classes.id(class, head), entry, hashing);
            // Without memory it is tried again. Some may be noted twice then, and are found as well.
            let Ok((reached, passed)) = table.pass(from, most, self.kind, hashing, note) else { return };
            self.until = reached.map_or((number + 1, Reached::NOTHING), |reached| (number, reached));
            // A part that is empty is a step, too.
            most = most.saturating_sub(passed.max(1));
        }
    }

    /// Where the entry of that name is, if it was noted.
    fn noted(&self, id: u64, main: &Table, classes: &Classes, hashing: &Hashing) -> Option<Named> {
        let notes = self.notes.as_ref()?;
        notes.read(id, hashing).find_map(|entry| {
            (0..self.tables).find_map(|number| {
                let (class, table) = table_at(number, main, classes)?;
                let is_it = |head: Head| head.kind == self.kind && classes.id(class, head) == id;
                let Head { seq, .. } = table.remembered(entry, is_it)?;
                Some(Named { class, entry, seq })
            })
        })
    }

    /// Where the entry of that name is, if it is among those that were not noted yet.
    fn search(&mut self, id: u64, main: &Table, classes: &Classes, hashing: &Hashing) -> Option<Named> {
        let found = look_behind(self.until, self.tables, id, self.kind, main, classes, hashing);
        if self.notes.is_none() {
            self.notes = Self::notes(self.kind, main, classes);
        }
        self.catch_up(self.share, main, classes, hashing);
        found
    }

    pub(super) fn insert(&mut self, id: u64, named: Named, hashing: &Hashing) -> Result<(), Refused> {
        self.unused += 1;
        self.add(id, named, hashing)
    }

    /// Keeps an entry that was there before, unless it is kept already: it will be found by its number from now on.
    pub(super) fn keep(&mut self, id: u64, named: Named, hashing: &Hashing) -> Result<(), Refused> {
        let is_kept = self.table.find(&key(id), hashing.spot(&key(id)), &mut 0).is_some();
        if is_kept { Ok(()) } else { self.add(id, named, hashing) }
    }

    fn add(&mut self, id: u64, named: Named, hashing: &Hashing) -> Result<(), Refused> {
        self.table.tend(hashing);
        let value = u64::from(named.class) << 33 | named.entry.0;
        let head = Head { kind: Kind::Posted, seq: named.seq, id: value };
        self.table.insert(&key(id), hashing.spot(&key(id)), head)?;
        Ok(())
    }

    /// Whether it is worth keeping up: begun anew, it has to go through all places that there are. These are counted now and
    /// then, for classes may be many.
    pub(super) fn is_wanted(&mut self, main: &Table, classes: &Classes) -> bool {
        if self.unused < self.due {
            return true;
        }
        self.due = 2 * self.unused;
        self.unused < 4 * places(tables(self.kind, classes), main, classes)
    }

    /// Where the entry of that name is.
    pub(super) fn get(
        &mut self,
        id: u64,
        main: &Table,
        classes: &Classes,
        hashing: &Hashing,
    ) -> Option<Named> {
        (self.unused, self.due) = (0, UNUSED);
        if let Some(at) = self.table.find(&key(id), hashing.spot(&key(id)), &mut 0) {
            let Head { seq, id: value, .. } = self.table.head(at);
            return Some(Named { class: (value >> 33) as u32, entry: Ref(value & ((1 << 33) - 1)), seq });
        }
        let noted = self.noted(id, main, classes, hashing);
        if noted.is_some() { noted } else { self.search(id, main, classes, hashing) }
    }

    pub(super) fn remove(&mut self, id: u64, hashing: &Hashing) {
        self.table.tend(hashing);
        if let Some(at) = self.table.find(&key(id), hashing.spot(&key(id)), &mut 0) {
            self.table.pop(at);
        }
    }
}

impl Dropped for Ids {
    fn bytes(&self) -> u64 {
        self.table.bytes() + self.notes.as_ref().map_or(0, Notes::bytes)
    }

    fn give_back(&mut self, chunks: usize) -> bool {
        self.table.give_back(chunks) || self.notes.as_mut().is_some_and(|notes| notes.give_back(chunks))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Hybrid;
    use super::*;
    use crate::engine::{Engine, Message, MsgId, Receive, RecvId};
    use crate::envelope::{ContextId, Envelope, Rank, Selector, Tag, TagMask, Wild};
    use crate::scan::Kernel;

    const DEPTH: u64 = 2000;

    /// Whether names are there still after so many calls for none of them, beside `DEPTH` of these receives.
    fn are_kept(selector: impl Fn(u64) -> Selector, calls: u64) -> bool {
        let mut engine = Hybrid::<()>::new(Hashing::of_seed(1), 0, Kernel::fastest());
        let mut post = |id: u64, selector| engine.post(Receive::new(RecvId(id), selector)).unwrap();
        (0..DEPTH).for_each(|id| assert_eq!(post(id, selector(id)), None));
        let receive = |id| Receive::new(RecvId(id), selector(id));
        // A look or two are cheaper.
        let begun =
            (0..10).take_while(|&id| engine.cancel(&receive(id)) && engine.receives.is_none()).count();
        assert!(begun < 10);
        for id in DEPTH..DEPTH + calls {
            let envelope = Envelope::new(ContextId(0), Rank(1), Tag(1));
            assert_eq!(engine.post(Receive::new(RecvId(id), Selector::exactly(&envelope))).unwrap(), None);
            assert_eq!(engine.arrive(Message::new(MsgId(id), envelope)).unwrap(), Some(RecvId(id)));
        }
        engine.receives.is_some()
    }

    /// Classes that came after names began have nothing that was there before: who asks in vain does not look there.
    #[test]
    fn what_came_later_is_not_looked_for_among_what_was_there() {
        let mut engine = Hybrid::<()>::new(Hashing::of_seed(1), 0, Kernel::fastest());
        let of = |tag: u64| Selector::new(ContextId(0), Wild::Is(Rank(0)), Wild::Is(Tag(tag)));
        for id in 0..DEPTH {
            assert_eq!(engine.post(Receive::new(RecvId(id), of(id))), Ok(None));
        }
        (0..100).for_each(|id| assert!(engine.cancel(&Receive::new(RecvId(id), of(id)))));
        let open = Selector::new(ContextId(0), Wild::Any, Wild::Is(Tag(DEPTH)));
        assert_eq!(engine.post(Receive::new(RecvId(DEPTH), open)), Ok(None));
        let Hybrid { receives, table, classes, hashing, .. } = &mut engine;
        let ids = receives.as_mut().expect("names were begun");
        assert_eq!(ids.search(DEPTH, table, classes, hashing), None);
        assert!(ids.get(DEPTH, table, classes, hashing).is_some(), "it has its name");
    }

    /// Whoever counts calls at another place than where it is asked may pass over any number.
    #[test]
    fn names_that_are_not_wanted_end_whatever_number_was_passed_over() {
        let (main, classes) = (Table::default(), Classes::default());
        let mut ids = Ids::of(Kind::Posted, &main, &classes);
        ids.unused = UNUSED - 1;
        assert!(ids.is_wanted(&main, &classes));
        ids.unused += 2;
        assert!(!ids.is_wanted(&main, &classes));
        // Whoever asks begins the count anew.
        assert_eq!(ids.get(1, &main, &classes, &Hashing::of_seed(1)), None);
        ids.unused = UNUSED;
        assert!(!ids.is_wanted(&main, &classes));
    }

    /// Places that a burst under masks has left are read by who seeks a receive, and so they are reckoned.
    #[test]
    fn places_of_masks_are_reckoned_and_stay_so_when_these_are_taken() {
        let mut engine = Hybrid::<()>::new(Hashing::of_seed(1), 0, Kernel::fastest());
        let tag = |id: u64| Tag(id << 8);
        for id in 0..DEPTH {
            let masked = Wild::Masked(TagMask { value: tag(id), ignore: 1 << (id % 3) });
            let selector = Selector::new(ContextId(0), Wild::Is(Rank(0)), masked);
            assert_eq!(engine.post(Receive::new(RecvId(id), selector)), Ok(None));
        }
        let guards = |engine: &Hybrid<()>| {
            let Hybrid { table, classes, .. } = engine;
            let tables = (0..=classes.len()).filter_map(|number| table_at(number, table, classes));
            let in_tables: usize = tables.map(|(_, table)| table.all_places()).sum();
            assert_eq!(places_of(Kind::Waiting, table, classes), table.all_places());
            places_of(Kind::Posted, table, classes) - in_tables
        };
        let before = guards(&engine);
        assert!(before as u64 >= DEPTH - 2, "{before}");
        for id in 0..DEPTH - 1 {
            let envelope = Envelope::new(ContextId(0), Rank(0), tag(id));
            assert_eq!(engine.arrive(Message::new(MsgId(id), envelope)), Ok(Some(RecvId(id))));
        }
        assert_eq!(guards(&engine), before);
    }

    /// They lie in the table of what leaves nothing open, in that of a class, and outside of all slots.
    #[test]
    #[cfg_attr(miri, ignore = "hours, and all of it is safe code")]
    fn names_are_kept_for_as_many_calls_as_a_search_would_look_at_places() {
        let of = |source: u64, tag: Wild<Tag>| Selector::new(ContextId(0), Wild::Is(Rank(source)), tag);
        let tag = |tag| Wild::Is(Tag(tag));
        let kinds: [&dyn Fn(u64) -> Selector; 3] =
            [&|id| of(2, tag(id)), &|id| of(3 + id, Wild::Any), &|_| of(2, tag(7))];
        for (number, selector) in kinds.into_iter().enumerate() {
            assert!(are_kept(selector, 3 * DEPTH), "{number}");
            assert!(!are_kept(selector, 30 * DEPTH), "{number}");
        }
    }
}
