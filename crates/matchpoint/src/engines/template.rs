//! `template`: two lists of messages and three of receives, by the parity of the tag. The file to copy for a new engine: only
//! tests have it, which compare it with `list`.
//!
//! A message lies with those of its parity, a receive too if it names its tag: those that leave it open, or mask it, have a
//! list of their own. Each entry carries its age, and of the firsts that two lists have the older one is taken.
//!
//! Post, arrive and probe are O(entries of the lists searched), and so is the rest.

use std::collections::VecDeque;

use super::Spec;
use crate::chains::Aged;
use crate::effort::{Attempts, Effort};
use crate::engine::{Engine, Message, MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::{Envelope, Pair, Selector, Tag, Wild};
use crate::footprint::Footprint;
use crate::hints::HintTable;
use crate::upkeep::{self, Queues};

pub(super) const SPEC: Spec = Spec {
    name: "template",
    summary: "lists by the parity of the tag (an example)",
    parameters: &[],
    variants: &[],
    tight: &[],
    build: |_, counting| {
        Ok(if counting { Box::new(Parity::<Attempts>::default()) } else { Box::new(Parity::<()>::default()) })
    },
};

/// Which list: that of even tags, of odd ones, or of receives that take both.
const OPEN: usize = 2;

fn parity(tag: Tag) -> usize {
    usize::from(tag.0 & 1 == 1)
}

fn list_of(selector: &Selector) -> usize {
    match selector.tag() {
        Wild::Is(tag) => parity(tag),
        // A mask may name that bit; who asks it for its parity saves some searching, and has one more way to be wrong.
        _ => OPEN,
    }
}

/// Where an entry lies: its list and its age, for places in a list move when another is taken.
type Place = (usize, u64);

type List<T> = VecDeque<Aged<T>>;

/// The index of an entry; lists are in the order of age.
fn index<T>(list: &List<T>, age: u64) -> usize {
    list.partition_point(|entry| entry.age < age)
}

fn places<T>(lists: &[List<T>]) -> impl Iterator<Item = (u64, Place)> {
    lists.iter().enumerate().flat_map(|(at, list)| list.iter().map(move |entry| (entry.age, (at, entry.age))))
}

fn push<T>(list: &mut List<T>, clock: &mut u64, value: T) -> Result<(), Refused> {
    // Without memory nothing has changed: an engine never aborts.
    list.try_reserve(1).map_err(|_| Refused::Memory)?;
    list.push_back(Aged { value, age: *clock });
    *clock += 1;
    Ok(())
}

/// See the [module's documentation](self).
#[derive(Default)]
pub struct Parity<E: Effort = ()> {
    posted: [List<Receive>; 3],
    unexpected: [List<Message>; 2],
    /// The age of the next entry.
    clock: u64,
    hints: HintTable,
    effort: E,
}

impl<E: Effort> Parity<E> {
    /// The earliest message that `selector` matches.
    fn find_unexpected(&mut self, selector: &Selector) -> Option<Place> {
        let lists = match list_of(selector) {
            OPEN => 0..2,
            list => list..list + 1,
        };
        let mut first: Option<Place> = None;
        for list in lists {
            let entries = &self.unexpected[list];
            let found = entries.iter().position(|entry| selector.matches(&entry.value.envelope));
            self.effort.examined(Queue::Unexpected, found.map_or(entries.len(), |at| at + 1) as u64);
            let age = found.map(|at| entries[at].age);
            first = age.map(|age| (list, age)).into_iter().chain(first).min_by_key(|&(_, age)| age);
        }
        first
    }

    /// The earliest receive that matches `envelope`.
    fn find_posted(&mut self, envelope: &Envelope) -> Option<Place> {
        let mut first: Option<Place> = None;
        for list in [parity(envelope.tag), OPEN] {
            let entries = &self.posted[list];
            let found = entries.iter().position(|entry| entry.value.selector.matches(envelope));
            self.effort.examined(Queue::Posted, found.map_or(entries.len(), |at| at + 1) as u64);
            let age = found.map(|at| entries[at].age);
            first = age.map(|age| (list, age)).into_iter().chain(first).min_by_key(|&(_, age)| age);
        }
        first
    }
}

impl<E: Effort> Queues for Parity<E> {
    type Posted = Place;
    type Unexpected = Place;

    fn posted(&self) -> impl Iterator<Item = (u64, Place)> {
        places(&self.posted)
    }

    fn unexpected(&self) -> impl Iterator<Item = (u64, Place)> {
        places(&self.unexpected)
    }

    fn receive(&self, (list, age): Place) -> Receive {
        self.posted[list][index(&self.posted[list], age)].value
    }

    fn message(&self, (list, age): Place) -> Message {
        self.unexpected[list][index(&self.unexpected[list], age)].value
    }

    fn take_posted(&mut self, (list, age): Place) {
        let at = index(&self.posted[list], age);
        self.posted[list].remove(at);
    }

    fn take_unexpected(&mut self, (list, age): Place) {
        let at = index(&self.unexpected[list], age);
        self.unexpected[list].remove(at);
    }

    fn rename(&mut self, (list, age): Place, named: Envelope) -> Result<(), Refused> {
        // The source is new, the tag is not: it stays in its list.
        let at = index(&self.unexpected[list], age);
        self.unexpected[list][at].value.envelope = named;
        Ok(())
    }

    fn hints(&mut self) -> &mut HintTable {
        &mut self.hints
    }
}

impl<E: Effort> Engine for Parity<E> {
    fn post_open(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let receive = Receive::new(id, *selector);
        self.hints.admit(&receive.selector)?;
        if let Some(found) = self.find_unexpected(&receive.selector) {
            return Ok(Some(self.take_message(found)));
        }
        push(&mut self.posted[list_of(&receive.selector)], &mut self.clock, receive)?;
        Ok(None)
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let message = Message::new(id, Envelope::of(pair, tag));
        if let Some(found) = self.find_posted(&message.envelope) {
            let id = self.receive(found).id;
            self.take_posted(found);
            return Ok(Some(id));
        }
        self.hints.admit_unexpected(message.envelope.context)?;
        push(&mut self.unexpected[parity(message.envelope.tag)], &mut self.clock, message)?;
        Ok(None)
    }

    // All else follows from what is queued.
    upkeep::provided!(probe matched_probe cancel retract readdress set_hints close fail_source visit);

    fn posted_len(&self) -> usize {
        self.posted.iter().map(List::len).sum()
    }

    fn unexpected_len(&self) -> usize {
        self.unexpected.iter().map(List::len).sum()
    }

    fn footprint(&self) -> Footprint {
        let receives: usize = self.posted.iter().map(List::capacity).sum();
        let messages: usize = self.unexpected.iter().map(List::capacity).sum();
        let fixed_bytes = size_of::<Self>() as u64 + self.hints.bytes();
        let entries_bytes =
            (receives * size_of::<Aged<Receive>>() + messages * size_of::<Aged<Message>>()) as u64;
        // A VecDeque never gives memory back by itself, so what it has now is the most it had.
        Footprint { fixed_bytes, peers_bytes: 0, entries_bytes, peak_bytes: fixed_bytes + entries_bytes }
    }

    fn attempts(&self) -> Attempts {
        self.effort.attempts()
    }
}
