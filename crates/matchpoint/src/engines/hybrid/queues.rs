//! The calls that nobody waits for, and those by name.

use super::Hybrid;
use super::entry::{Head, Kind, Ref};
use super::found::Found;
use super::grave::Dropped;
use super::ids::{Ids, MAIN, Named, STEP, look, places_of};
use super::key::Key;
use super::pool::NIL;
use super::table::Table;
use crate::effort::Effort;
use crate::engine::{Drained, Message, MsgId, Readdressed, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Envelope, Rank, Selector};
use crate::hints::HintTable;
use crate::upkeep::{Oldest, Queues};

impl<E: Effort> Hybrid<E> {
    /// Bytes of all that grows with what is queued.
    pub(super) fn entries_bytes(&self) -> u64 {
        let ids = |ids: &Option<Ids>| ids.as_ref().map_or(0, |ids| ids.bytes());
        let open = self.classes.bytes() + self.indexes.bytes();
        self.front.bytes()
            + self.table.bytes()
            + self.log.bytes()
            + ids(&self.receives)
            + ids(&self.messages)
            + open
            + self.grave.bytes()
    }

    fn table_of(&self, class: u32) -> &Table {
        if class == MAIN { &self.table } else { self.classes.table(class) }
    }

    /// All in a table, of one context or of all.
    fn named(&self, class: u32, context: Option<ContextId>) -> impl Iterator<Item = (Kind, Named)> {
        self.table_of(class).entries(context).map(move |(key, head, entry)| {
            let entry = if entry == Ref::UNPLACED { Ref::inline(self.hashing.spot(&key)) } else { entry };
            (head.kind, Named { class, entry, seq: head.seq })
        })
    }

    /// The same in all tables.
    fn all_named(&self, context: Option<ContextId>) -> impl Iterator<Item = (Kind, Named)> {
        let classes = std::iter::once(MAIN).chain(0..self.classes.len() as u32);
        classes.flat_map(move |class| self.named(class, context))
    }

    fn named_receives(&self, context: Option<ContextId>) -> impl Iterator<Item = (u64, Named)> {
        let receives = self.all_named(context).filter(|&(kind, _)| kind == Kind::Posted);
        receives.map(|(_, at)| (at.seq, at))
    }

    fn named_messages(&self, context: Option<ContextId>) -> impl Iterator<Item = (u64, Named)> {
        let messages = self.named(MAIN, context).filter(|&(kind, _)| kind == Kind::Waiting);
        messages.map(|(_, at)| (at.seq, at))
    }

    /// Receives and messages of a context. O(slots).
    pub(super) fn count_in(&self, context: ContextId) -> (usize, usize) {
        self.all_named(Some(context)).fold((0, 0), |(receives, messages), (kind, _)| match kind {
            Kind::Posted => (receives + 1, messages),
            Kind::Waiting => (receives, messages + 1),
        })
    }

    /// Takes out all that is queued in a context, oldest first. O(slots), and sorting what is taken out.
    pub(super) fn drain(&mut self, context: ContextId, drained: &mut Drained) {
        // No receive has the number of a message.
        fn aged((kind, at): (Kind, Named)) -> (u64, (Kind, Named)) {
            (at.seq, (kind, at))
        }
        let mut oldest = Oldest::of(self.all_named(Some(context)).map(aged));
        while let Some((kind, at)) = oldest.next(self.all_named(Some(context)).map(aged)) {
            match kind {
                Kind::Posted => {
                    drained.receives.push(self.receive(at).id);
                    self.take_posted(at);
                }
                Kind::Waiting => {
                    drained.messages.push(self.message(at).id);
                    self.take_unexpected(at);
                }
            }
        }
        self.hints.forget(context);
    }

    /// Makes tables smaller that are mostly empty, after all of them was gone through.
    pub(super) fn shrink(&mut self) {
        self.note_peak();
        let Self { receives, messages, table, classes, hashing, grave, .. } = self;
        let is_held =
            |number: usize| [&*receives, &*messages].into_iter().flatten().any(|ids| ids.holds(number));
        let tables = std::iter::once(table).chain(classes.tables_mut());
        for (number, table) in tables.enumerate() {
            if !table.is_hollow() || is_held(number) {
                continue;
            }
            // Without memory it stays as it is.
            if let Ok(old) = table.shrink(hashing) {
                grave.tables.bury(old);
            }
        }
    }

    fn found_receive(&self, at: Named) -> Option<Found> {
        self.table_of(at.class).resolve(at.entry, at.seq, &self.hashing)
    }

    fn found_message(&self, at: Named) -> Option<Found> {
        self.unexpected().resolve(at.entry, at.seq)
    }

    fn affords_look(&mut self, kind: Kind) -> bool {
        let places = places_of(kind, &self.table, &self.classes) as u64;
        self.looks.afford(places, (self.posts + self.arrivals) / 2)
    }

    fn receive_named(&mut self, id: RecvId) -> Option<Named> {
        if self.receives.is_none() && self.affords_look(Kind::Posted) {
            return look(id.0, Kind::Posted, &self.table, &self.classes, &self.hashing);
        }
        let Self { receives, table, classes, hashing, .. } = self;
        receives
            .get_or_insert_with(|| Ids::of(Kind::Posted, table, classes))
            .get(id.0, table, classes, hashing)
    }

    fn message_named(&mut self, id: MsgId) -> Option<Named> {
        if self.messages.is_none() && self.affords_look(Kind::Waiting) {
            return look(id.0, Kind::Waiting, &self.table, &self.classes, &self.hashing);
        }
        let Self { messages, table, classes, hashing, .. } = self;
        messages
            .get_or_insert_with(|| Ids::of(Kind::Waiting, table, classes))
            .get(id.0, table, classes, hashing)
    }

    /// Notes a few of the entries that were there when the first was sought by name.
    pub(super) fn name_some(&mut self) {
        let Self { receives, messages, table, classes, hashing, .. } = self;
        for ids in [receives, messages].into_iter().flatten() {
            ids.catch_up(STEP, table, classes, hashing);
        }
    }

    pub(super) fn cancel_named(&mut self, receive: RecvId) -> bool {
        let named = self.receive_named(receive);
        named.is_some_and(|named| {
            self.front.note_open();
            self.take_posted(named);
            true
        })
    }

    pub(super) fn retract_named(&mut self, message: MsgId) -> bool {
        let named = self.message_named(message);
        named.is_some_and(|named| {
            self.front.note_open();
            self.take_unexpected(named);
            true
        })
    }

    pub(super) fn readdress_named(&mut self, message: MsgId, source: Rank) -> Result<Readdressed, Refused> {
        let Some(at) = self.message_named(message) else { return Ok(Readdressed::NotNameless) };
        let nameless = self.message(at).envelope;
        if nameless.source != Rank::UNKNOWN || source == Rank::UNKNOWN {
            return Ok(Readdressed::NotNameless);
        }
        let named = Envelope { source, ..nameless };
        if let Some(id) = self.take_posted_for(&Key::of(&named)) {
            self.take_unexpected(at);
            return Ok(Readdressed::Matched(id));
        }
        let Self { messages, table, hashing, .. } = self;
        if let Some(ids) = messages {
            // It may move to where all are noted already, and move others of its new queue.
            let spot = hashing.spot(&Key::of(&named));
            ids.keep(message.0, at, hashing)?;
            if let Some(queue) = table.find(&Key::of(&named), spot, &mut 0) {
                for (id, seq, entry) in table.moved_by(queue, spot, at.seq) {
                    ids.keep(id, Named { class: MAIN, entry, seq }, hashing)?;
                }
            }
        }
        Queues::rename(self, at, named).map(|()| Readdressed::Named)
    }

    /// Takes the receive that a message with that key finds.
    fn take_posted_for(&mut self, key: &Key) -> Option<RecvId> {
        let id = match self.find_posted_open(key, &mut 0) {
            Some((class, found)) => self.classes.take(class, found),
            None => {
                let exact = self.table.find(key, self.hashing.spot(key), &mut 0);
                let at = exact.filter(|&at| self.table.head(at).kind == Kind::Posted)?;
                self.table.remove(Found::first(at)).id
            }
        };
        self.contexts.remove(key.pair);
        self.unname_receive(id);
        Some(RecvId(id))
    }
}

impl<E: Effort> Queues for Hybrid<E> {
    type Posted = Named;
    type Unexpected = Named;

    fn posted(&self) -> impl Iterator<Item = (u64, Named)> {
        self.named_receives(None)
    }

    fn unexpected(&self) -> impl Iterator<Item = (u64, Named)> {
        self.named_messages(None)
    }

    fn posted_in(&self, context: ContextId) -> impl Iterator<Item = (u64, Named)> {
        self.named_receives(Some(context))
    }

    fn unexpected_in(&self, context: ContextId) -> impl Iterator<Item = (u64, Named)> {
        self.named_messages(Some(context))
    }

    fn receive(&self, at: Named) -> Receive {
        let table = self.table_of(at.class);
        let found = self.found_receive(at).expect("what was listed is there");
        let (key, head) = (table.key(found.at), table.entry(found));
        let selector = match at.class {
            MAIN => Selector::exactly(&key.envelope()),
            class => self.classes.selector(class, key, head),
        };
        Receive::new(RecvId(self.classes.id(at.class, head)), selector)
    }

    fn message(&self, at: Named) -> Message {
        let found = self.found_message(at).expect("what was listed is there");
        Message::new(MsgId(self.table.entry(found).id), self.table.key(found.at).envelope())
    }

    fn take_posted(&mut self, at: Named) {
        let found = self.found_receive(at).expect("what was listed is there");
        self.contexts.remove(self.table_of(at.class).key(found.at).pair);
        let taken = match at.class {
            MAIN => self.table.remove(found).id,
            class => self.classes.take(class, found),
        };
        self.unname_receive(taken);
    }

    fn take_unexpected(&mut self, at: Named) {
        let found = self.found_message(at).expect("what was listed is there");
        self.take_message(found);
    }

    fn rename(&mut self, at: Named, named: Envelope) -> Result<(), Refused> {
        let found = self.found_message(at).expect("what was listed is there");
        let head = self.table.entry(found);
        let nameless = self.table.key(found.at);
        let key = Key::of(&named);
        let spot = self.hashing.spot(&key);
        // It enters under its new name before it leaves under the old one: entering may be refused.
        let (entry, touched) = match self.table.find(&key, spot, &mut 0) {
            Some(queue) => self.table.insert_by_age(queue, spot, head)?,
            None => (self.table.insert(&key, spot, head)?, [NIL; 2]),
        };
        let old = self.table.find(&nameless, self.hashing.spot(&nameless), &mut 0);
        self.table.remove(found.moved(old.expect("it waits there still")));
        self.renamed = true;
        self.log.replace(head.seq, entry);
        for (_, seq, entry) in self.table.equals.entries_of(touched) {
            self.log.replace(seq, entry);
        }
        self.indexes.rename(&key, Head { id: entry.0, ..head }, &self.hashing);
        Ok(())
    }

    fn hints(&mut self) -> &mut HintTable {
        &mut self.hints
    }
}
