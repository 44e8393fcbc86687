//! Calls where all that is queued is in the lists of the [`Front`](super::front), and those that begin these or find no place there.

use super::Hybrid;
use super::ids::Ids;
use super::key::Key;
use super::short::{Posted, Waiting};
use super::{BUSY, SHORT};
use crate::effort::Effort;
use crate::engine::{Message, MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::{Envelope, Selector};

impl<E: Effort> Hybrid<E> {
    /// Nothing is queued in the tables.
    #[inline]
    pub(super) fn has_empty_tables(&self) -> bool {
        self.table.counts == 0 && self.classes.posted == 0
    }

    /// Whether entries are to be kept here where the tables are not at rest.
    pub(super) fn begins_gated(&mut self) -> bool {
        let begins = self.has_empty_tables() && self.front.begins(&mut self.table.equals.begun);
        if begins && self.after_short != 0 {
            self.let_names_rest();
        }
        begins
    }

    /// Entries here have no names, and those that the tables know are nobody's now. They are kept nevertheless, for what is moved there
    /// next would have to be looked for without them; but no call here has to look after them.
    fn let_names_rest(&mut self) {
        let Self { receives, messages, table, classes, .. } = self;
        let is_out_of_use = |ids: &mut Ids| {
            ids.rest(classes);
            !ids.is_wanted(table, classes)
        };
        let forgotten = [receives.take_if(is_out_of_use), messages.take_if(is_out_of_use)];
        forgotten.into_iter().for_each(|names| self.forget_names(names));
        self.set_gate();
        if !self.is_tended() {
            self.gate &= !BUSY;
        }
    }

    /// A post that leaves nothing open, where nothing is queued.
    #[inline(never)]
    pub(super) fn post_first(&mut self, receive: &Receive) -> Result<Option<MsgId>, Refused> {
        if self.gate != 0 || !self.front.begins(&mut self.table.equals.begun) {
            return self.post_later(receive);
        }
        *self.front.posted.begin() = Posted::of(receive);
        self.gate = SHORT;
        self.front.note_exact();
        Ok(None)
    }

    /// An arrival where nothing is queued.
    #[inline(never)]
    pub(super) fn arrive_first(&mut self, message: &Message) -> Result<Option<RecvId>, Refused> {
        if !self.front.begins(&mut self.table.equals.begun) {
            return self.arrive_later(message);
        }
        *self.front.waiting.begin() = Waiting::of(message);
        self.gate = SHORT;
        Ok(None)
    }

    #[inline(never)]
    fn arrive_later(&mut self, message: &Message) -> Result<Option<RecvId>, Refused> {
        self.arrive_slot(message)
    }

    #[inline(never)]
    fn post_later(&mut self, receive: &Receive) -> Result<Option<MsgId>, Refused> {
        self.post_slot(receive)
    }

    /// The receive that an arrival takes, if it is the only entry.
    #[inline(always)]
    pub(super) fn take_only(&mut self, envelope: &Envelope) -> Option<RecvId> {
        let only = self.front.posted.only().filter(|posted| posted.matches(envelope))?;
        let id = RecvId(only.id);
        self.front.posted.clear();
        self.effort.examined(Queue::Posted, 1);
        if self.front.waiting.is_empty() {
            self.gate = self.after_short;
        }
        Some(id)
    }

    /// The message that a receive takes, if it is the only one.
    #[inline(always)]
    pub(super) fn take_only_message(&mut self, receive: &Receive) -> Option<MsgId> {
        let only =
            self.front.waiting.only().filter(|waiting| receive.selector.matches(&waiting.envelope()))?;
        let id = MsgId(only.id);
        self.front.waiting.clear();
        self.effort.examined(Queue::Unexpected, 1);
        self.note_post(receive);
        self.end_short();
        Some(id)
    }

    /// A post where the tables are empty.
    #[inline(never)]
    pub(super) fn post_short(&mut self, receive: &Receive) -> Result<Option<MsgId>, Refused> {
        if !self.front.waiting.is_empty() {
            let mut examined = 0;
            let found = self.front.find_message(&receive.selector, &mut examined);
            self.effort.examined(Queue::Unexpected, examined);
            self.front.spend(examined);
            if let Some((place, id)) = found {
                self.note_post(receive);
                self.take_short(place);
                return Ok(Some(id));
            }
        }
        self.note_post(receive);
        match self.front.posted.push(self.front.places) {
            Some(place) => {
                *place = Posted::of(receive);
                self.gate |= SHORT;
                Ok(None)
            }
            None => self.post_elsewhere(receive),
        }
    }

    #[inline]
    fn note_post(&mut self, receive: &Receive) {
        if receive.selector.exact().is_some() { self.front.note_exact() } else { self.front.note_open() }
    }

    /// The message that a selector takes: its place, and its name.
    pub(super) fn find_short(&mut self, selector: &Selector) -> Option<(usize, MsgId)> {
        if selector.exact().is_none() {
            self.front.note_open();
        }
        let mut examined = 0;
        let found = self.front.find_message(selector, &mut examined);
        self.effort.examined(Queue::Unexpected, examined);
        self.front.spend(examined);
        found
    }

    /// Takes a message out that was found at a place.
    #[inline]
    pub(super) fn take_short(&mut self, place: usize) {
        self.front.take_message(place);
        self.end_short();
    }

    /// Something was taken out: perhaps the last.
    #[inline]
    pub(super) fn end_short(&mut self) {
        if self.front.is_empty() {
            self.gate = self.gate & !SHORT | self.after_short;
        }
    }

    #[inline(never)]
    fn post_elsewhere(&mut self, receive: &Receive) -> Result<Option<MsgId>, Refused> {
        if let Err(refused) = self.move_to_tables() {
            let Some(place) = self.front.posted.push(self.front.most) else { return Err(refused) };
            *place = Posted::of(receive);
            return Ok(None);
        }
        self.post_general(receive)
    }

    /// An arrival where the tables are empty.
    #[inline(never)]
    pub(super) fn arrive_short(&mut self, message: &Message) -> Result<Option<RecvId>, Refused> {
        self.tend_short();
        if !self.front.posted.is_empty() {
            let mut examined = 0;
            let envelope = message.envelope;
            let found = self.front.posted.oldest(|posted| posted.matches(&envelope), &mut examined);
            let found = found.map(|(place, posted)| (place, posted.id));
            self.effort.examined(Queue::Posted, examined);
            self.front.spend(examined);
            if let Some((place, id)) = found {
                self.front.posted.take(place);
                self.end_short();
                return Ok(Some(RecvId(id)));
            }
        }
        self.wait_short(message)
    }

    #[inline(never)]
    fn wait_short(&mut self, message: &Message) -> Result<Option<RecvId>, Refused> {
        self.hints.admit_unexpected(message.envelope.context)?;
        if let Some(place) = self.front.waiting.push(self.front.places) {
            *place = Waiting::of(message);
            self.gate |= SHORT;
            return Ok(None);
        }
        if let Err(refused) = self.move_to_tables() {
            let Some(place) = self.front.waiting.push(self.front.most) else { return Err(refused) };
            *place = Waiting::of(message);
            return Ok(None);
        }
        // No receive took it here, so none does there.
        let key = Key::of(&message.envelope);
        let spot = self.hashing.spot(&key);
        let queue = self.table.find(&key, spot, &mut 0);
        let queued = self.enqueue_message(message, &key, spot, queue);
        self.set_gate();
        queued.map(|()| None)
    }

    /// Takes all entries to the tables, for want of a place. Refused, they are where they were, and there may be places beyond the usual.
    #[inline(never)]
    fn move_to_tables(&mut self) -> Result<(), Refused> {
        let moved = self.move_all();
        match moved {
            Ok(()) => self.front.moved(),
            Err(_) => self.forget_tables(),
        }
        self.set_gate();
        moved
    }

    fn move_all(&mut self) -> Result<(), Refused> {
        for place in self.front.posted.places() {
            self.tend();
            let receive = self.front.posted.get(place).receive();
            match receive.selector.exact() {
                None => self.enqueue_open(&receive)?,
                Some(envelope) => {
                    let key = Key::of(&envelope);
                    let spot = self.hashing.spot(&key);
                    let queue = self.table.find(&key, spot, &mut 0);
                    self.enqueue_exact(receive.id, &key, spot, queue)?;
                }
            }
        }
        for place in self.front.waiting.places() {
            self.tend();
            let message = self.front.waiting.get(place).message();
            let key = Key::of(&message.envelope);
            let spot = self.hashing.spot(&key);
            let queue = self.table.find(&key, spot, &mut 0);
            self.enqueue_message(&message, &key, spot, queue)?;
        }
        Ok(())
    }

    /// A little of what waits to be done, where entries are kept here.
    #[inline]
    pub(super) fn tend_short(&mut self) {
        if self.gate & BUSY != 0 {
            self.tend();
            self.set_gate();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::Hashing;
    use super::*;
    use crate::engine::Engine;
    use crate::envelope::{ContextId, Rank, Tag};
    use crate::scan::Kernel;

    fn envelope(tag: u64) -> Envelope {
        Envelope::new(ContextId(0), Rank(0), Tag(tag))
    }

    fn receive(id: u64) -> Receive {
        Receive::new(RecvId(id), Selector::exactly(&envelope(id)))
    }

    fn post(engine: &mut Hybrid<()>, id: u64) {
        assert_eq!(engine.post(receive(id)), Ok(None));
    }

    fn arrive(engine: &mut Hybrid<()>, id: u64) {
        assert_eq!(engine.arrive(Message::new(MsgId(id), envelope(id))), Ok(Some(RecvId(id))));
    }

    /// Names that were learned in the tables are nobody's business where only lists begin, and are kept for what is moved there next,
    /// until there were as many lists as it takes to forget them.
    #[test]
    fn names_rest_while_entries_are_listed() {
        let mut engine = Hybrid::<()>::new(Hashing::of_seed(1), 32, Kernel::fastest());
        let most = 4000;
        (0..most).for_each(|id| post(&mut engine, id));
        (0..20).for_each(|id| assert!(engine.cancel(&receive(id))));
        assert!(engine.receives.is_some() && engine.gate & BUSY != 0, "names were learned");
        (20..most).for_each(|id| arrive(&mut engine, id));
        while engine.gate & SHORT == 0 {
            (0..2).for_each(|id| post(&mut engine, id));
            let is_listed = engine.gate & SHORT != 0;
            (0..if is_listed { 0 } else { 2 }).for_each(|id| arrive(&mut engine, id));
        }
        engine.tend_short();
        for id in 2..1000 {
            // One always stands.
            post(&mut engine, id);
            arrive(&mut engine, id - 1);
            assert!(engine.gate & !BUSY == SHORT && engine.receives.is_some(), "{:b} at {id}", engine.gate);
        }
        assert!(!engine.is_tended() && engine.gate == SHORT);
        (2000..2040).for_each(|id| post(&mut engine, id));
        assert_eq!(engine.gate, BUSY);
        (2000..2040).for_each(|id| assert!(engine.cancel(&receive(id))));
        [0, 999].into_iter().for_each(|id| arrive(&mut engine, id));
        let mut lists = 0;
        while engine.receives.is_some() {
            post(&mut engine, 1);
            arrive(&mut engine, 1);
            lists += 1;
            assert!(lists < 40 * most, "{lists}");
        }
        assert!(lists > most, "{lists}");
    }

    /// One that comes too late finds nothing queued; one now and then is worth a look at a small table.
    #[test]
    fn few_cancels_begin_no_names() {
        let mut engine = Hybrid::<()>::new(Hashing::of_seed(1), 32, Kernel::fastest());
        for round in 0..100 {
            (0..40).for_each(|id| post(&mut engine, id));
            post(&mut engine, 50);
            assert!(engine.cancel(&receive(50)) && !engine.cancel(&receive(50)));
            (0..40).for_each(|id| arrive(&mut engine, id));
            assert!(!engine.cancel(&receive(0)));
            assert!(engine.receives.is_none(), "names after {round} rounds");
        }
        (0..1000).for_each(|id| post(&mut engine, id));
        (0..100).for_each(|id| assert!(engine.cancel(&receive(id))));
        assert!(engine.receives.is_some());
    }
}
