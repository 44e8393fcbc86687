//! `optimistic`: four indexes, one per wildcard class; one thread.
//!
//! After García et al., "Offloaded MPI message matching: an optimistic approach" (2024), §III–IV, for the
//! accelerator of a network card.
//!
//! ```text
//! receive ──▶ one of:  no wildcard    hash(source, tag) ─▶ bins ┐
//!                      any source     hash(tag)         ─▶ bins ├─▶ descriptors, 64 bytes each, at most `capacity`,
//!                      any tag, mask  hash(source)      ─▶ bins │   labelled in posted order
//!                      both                                list ┘
//! message ──▶ searches all four and takes the oldest of up to four candidates; without a match, queued in all of
//!             four such indexes of messages, of which a receive searches that of its class
//! ```
//!
//! * The first receive of a class in a communicator, or the first unexpected message, allocates an index.
//!   Searches skip empty indexes. Classes that hints exclude have no index.
//! * Consecutive receives of a communicator with the same selector form a run (§III-D).
//! * A receive beyond `capacity` is refused ([`Refused::Full`]), unless `full=software` selects a fallback
//!   engine. The number of messages has no bound.

mod block;
mod class;
mod communicator;
mod descriptors;
mod exact;
mod index;
mod runs;
mod statistics;
mod stream;

use self::class::{CLASSES, Class};
use self::communicator::{Communicator, Messages, UnexpectedEntry, UnexpectedIndexes};
use self::descriptors::{Descriptor, Descriptors};
pub(super) use self::exact::ExactReceives;
pub(super) use self::statistics::{Counts, Tally};
pub(super) use self::stream::Stream;
use super::software::{self, Tables};
use super::{Arguments, Built, Parameter, Spec};
use crate::communicators::Communicators;
use crate::effort::Attempts;
use crate::engine::{Drained, Engine, Message, MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Envelope, Pair, Selector, Tag};
use crate::footprint::Footprint;
use crate::hashes::{self, Hashes};
use crate::hints::{HintTable, Hints};
use crate::linked::{Aged, SlotIndex};
use crate::maintenance::{self, EntriesByAge, Queues};

pub(super) const SPEC: Spec = Spec {
    name: "optimistic",
    summary: "four indexes by wildcard use, labels, a fixed table of receives; serial (García et al. 2024)",
    parameters: &[
        Parameter {
            key: "bins",
            default: "128",
            meaning: "bins of each table, 1 to 2097152; the paper has 128 (§IV-E), or twice the receives that it expects (§VI)",
        },
        Parameter {
            key: "capacity",
            default: "8192",
            meaning: "receives that may be posted at once, of all communicators; for more, see `full`; 0: any number",
        },
        software::FULL,
    ],
    variants: &[
        "bins=1",
        "bins=3",
        "bins=3,capacity=0",
        "capacity=4,bins=3,full=software",
        "capacity=16,full=software",
    ],
    tight: &["capacity=1", "capacity=4,bins=3", "capacity=16,bins=3"],
    build,
};

fn build(arguments: &Arguments<'_>, is_counting: bool) -> Built {
    let bins: u32 = arguments.within("bins", 1..=1 << hashes::BITS)?;
    let capacity: u32 = arguments.get("capacity")?;
    let capacity = capacity as usize;
    if is_counting {
        software::build(Optimistic::<Counts>::new(bins, capacity), arguments, is_counting)
    } else {
        software::build(Optimistic::<()>::new(bins, capacity), arguments, is_counting)
    }
}

pub(super) struct Optimistic<T: Tally> {
    communicators: Communicators<Communicator>,
    receives: Descriptors,
    /// Capacity of receives; 0: unlimited.
    capacity: usize,
    messages: Messages,
    /// Label (age) of the next entry (§III-C).
    label: u64,
    hints: HintTable,
    bins: u32,
    /// Maximum bytes until the last close, or change of hints. Other calls never free memory.
    peak_bytes: u64,
    tally: T,
}

impl<T: Tally> Optimistic<T> {
    pub(super) fn new(bins: u32, capacity: usize) -> Self {
        Optimistic {
            communicators: Communicators::default(),
            receives: Descriptors::default(),
            capacity,
            messages: Messages::default(),
            label: 0,
            hints: HintTable::default(),
            bins,
            peak_bytes: 0,
            tally: T::default(),
        }
    }

    #[inline]
    fn find_unexpected(&mut self, selector: &Selector) -> Option<SlotIndex> {
        // Saves a second hash for receives posted before their messages.
        if self.messages.len() == 0 {
            return None;
        }
        let communicator = self.communicators.find(selector.context())?;
        let mut examined = 0;
        let found = communicator.unexpected.find(&self.messages, selector, &mut examined);
        self.tally.examined(Queue::Unexpected, examined);
        found
    }

    #[inline]
    fn take_receive(&mut self, envelope: &Envelope, hashes: Hashes) -> Option<RecvId> {
        let communicator = self.communicators.find(envelope.context)?;
        let receives = &mut self.receives;
        self.tally.count_arrival(&communicator.posted, receives, hashes);
        let mut examined = 0;
        let found = communicator.posted.find(receives, envelope, hashes, &mut examined, |_| true);
        self.tally.examined(Queue::Posted, examined);
        let (class, at) = found?;
        self.tally.count_match(receives, at);
        communicator.posted.of_mut(class).unlink(receives, at, class.key(hashes));
        Some(receives.remove(at).value.receive.id)
    }

    #[inline]
    fn insert_message(&mut self, message: Message, hashes: Hashes) -> Result<(), Refused> {
        let context = message.envelope.context;
        self.hints.admit_unexpected(context)?;
        let indexes = &mut self.communicators.find_or_insert(context, Communicator::default)?.unexpected;
        indexes.prepare(self.hints.get(context), self.bins)?;
        let at =
            self.messages.insert(Aged { value: UnexpectedEntry { message, hashes }, age: self.label })?;
        self.label += 1;
        indexes.push(&mut self.messages, at, hashes);
        Ok(())
    }

    fn messages_in(messages: &Messages, context: ContextId) -> impl Iterator<Item = (u64, SlotIndex)> {
        let is_in_context = move |waiting: &UnexpectedEntry| waiting.message.envelope.context == context;
        messages
            .iter()
            .filter(move |(_, entry)| is_in_context(&entry.value))
            .map(|(at, entry)| (entry.age, at))
    }

    fn rebuild_indexes(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        let mut indexes = UnexpectedIndexes::default();
        let mut oldest = EntriesByAge::of(Self::messages_in(&self.messages, context));
        while let Some(at) = oldest.next(Self::messages_in(&self.messages, context)) {
            // Allocates for the first message only.
            indexes.prepare(hints, self.bins)?;
            let hashes = self.messages.get(at).value.hashes;
            indexes.push(&mut self.messages, at, hashes);
        }
        self.peak_bytes = self.peak_bytes.max(self.now_bytes() + indexes.bytes());
        if let Some(communicator) = self.communicators.find(context) {
            communicator.unexpected = indexes;
            communicator.posted.remove_excluded(hints);
        }
        Ok(())
    }

    fn now_bytes(&self) -> u64 {
        self.fixed_bytes() + self.entries_bytes()
    }

    fn fixed_bytes(&self) -> u64 {
        size_of::<Self>() as u64 + self.hints.bytes() + self.communicators.bytes(Communicator::bytes)
    }

    fn entries_bytes(&self) -> u64 {
        self.receives.bytes() + self.messages.bytes()
    }
}

impl<T: Tally> Queues for Optimistic<T> {
    type Posted = SlotIndex;
    type Unexpected = SlotIndex;

    fn posted_positions(&self) -> impl Iterator<Item = (u64, SlotIndex)> {
        self.receives.iter().map(|(at, posted)| (posted.age, at))
    }

    fn unexpected_positions(&self) -> impl Iterator<Item = (u64, SlotIndex)> {
        self.messages.iter().map(|(at, waiting)| (waiting.age, at))
    }

    fn receive(&self, at: SlotIndex) -> Receive {
        self.receives.get(at).value.receive
    }

    fn message(&self, at: SlotIndex) -> Message {
        self.messages.get(at).value.message
    }

    fn take_posted(&mut self, at: SlotIndex) {
        let selector = self.receive(at).selector;
        let receives = &mut self.receives;
        if let Some(communicator) = self.communicators.find(selector.context()) {
            let class = Class::of(&selector);
            communicator.posted.of_mut(class).unlink(receives, at, class.key_of(&selector));
        }
        receives.remove(at);
    }

    #[inline]
    fn take_unexpected(&mut self, at: SlotIndex) {
        let context = self.messages.get(at).value.message.envelope.context;
        if let Some(communicator) = self.communicators.find(context) {
            communicator.unexpected.unlink(&mut self.messages, at);
        }
        self.messages.remove(at);
    }

    fn set_envelope(&mut self, at: SlotIndex, named: Envelope) -> Result<(), Refused> {
        if let Some(communicator) = self.communicators.find(named.context) {
            communicator.unexpected.set_envelope(&mut self.messages, at, named);
        }
        Ok(())
    }

    fn hints(&mut self) -> &mut HintTable {
        &mut self.hints
    }
}

impl<T: Tally> Tables for Optimistic<T> {
    fn hints_on(&self, context: ContextId) -> Hints {
        self.hints.get(context)
    }

    fn clear(&mut self) {
        self.communicators.iter_mut().for_each(Communicator::clear);
        self.receives.clear();
        self.messages.clear();
    }
}

impl<T: Tally> Engine for Optimistic<T> {
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let receive = Receive::new(id, *selector);
        let selector = &receive.selector;
        self.hints.admit(selector)?;
        if let Some(at) = self.find_unexpected(selector) {
            return Ok(Some(self.take_message(at)));
        }
        if self.capacity != 0 && self.receives.len() >= self.capacity {
            return Err(Refused::Full);
        }
        let context = selector.context();
        let communicator = self.communicators.find_or_insert(context, Communicator::default)?;
        let Communicator { posted, runs, .. } = communicator;
        let class = Class::of(selector);
        let index = posted.prepare(class, self.bins)?;
        let run = runs.next_run(selector);
        let at = self.receives.insert(Aged { value: Descriptor { receive, run }, age: self.label })?;
        self.label += 1;
        let key = class.key_of(selector);
        index.push(&mut self.receives, at, key);
        let length = runs.count_posted(selector, run);
        self.tally.count_posted(posted, &self.receives, (class, key), length);
        Ok(None)
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let message = Message::new(id, Envelope::of(pair, tag));
        let hashes = Hashes::of(&message.envelope);
        if let Some(id) = self.take_receive(&message.envelope, hashes) {
            return Ok(Some(id));
        }
        self.insert_message(message, hashes)?;
        Ok(None)
    }

    maintenance::provided!(probe matched_probe cancel retract readdress fail_source visit);

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        let before = self.hints.get(context);
        maintenance::set_hints(self, context, hints)?;
        if CLASSES.iter().all(|class| class.is_admitted(before) == class.is_admitted(hints)) {
            return Ok(());
        }
        let refiled = self.rebuild_indexes(context, hints);
        if refiled.is_err() {
            // Cannot fail: the table has the context.
            self.hints.set(context, before)?;
        }
        refiled
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.peak_bytes = self.peak_bytes.max(self.now_bytes());
        maintenance::close(self, context, drained);
        self.communicators.close(context);
    }

    fn posted_len(&self) -> usize {
        self.receives.len()
    }

    fn unexpected_len(&self) -> usize {
        self.messages.len()
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            fixed_bytes: self.fixed_bytes(),
            peers_bytes: 0,
            entries_bytes: self.entries_bytes(),
            peak_bytes: self.peak_bytes.max(self.now_bytes()),
        }
    }

    fn attempts(&self) -> Attempts {
        self.tally.attempts()
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        self.tally.statistics()
    }
}
