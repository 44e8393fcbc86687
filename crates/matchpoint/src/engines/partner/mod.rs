//! `partner`: a separate queue for each source with many entries, and a shared queue for all other sources.
//!
//! After Ghazimirsaeed, Mirsadeghi & Afsahi, "Communication-aware message matching in MPI" (2018); sections,
//! equations and algorithms below are of that paper.
//!
//! * `mode=dynamic` (§4.3): all sources start in the shared queue. If the last level exceeds `threshold`
//!   entries, every source with more entries than the *edge point* (`metric`, §4.1) becomes a partner, and a
//!   new level starts (Algorithms 1 and 3). A hash table of ⌈√processes⌉ entries with at most `c` partners
//!   each finds partners (§5.2.3, §6.3).
//! * `mode=static` (§4.2): sources above the edge point of a profile are partners from the start, found by a
//!   perfect hash (Algorithm 2).
//!
//! The posted queue and the unexpected queue have separate partners. Any-source receives are in a separate
//! queue (PRQ_ANY). `queue.rs` has the levels and the proof of order.
//!
//! After an extraction without partners, the next extraction waits until the level has doubled: O(log) per
//! entry.

mod contexts;
mod extraction;
mod log;
mod metric;
mod parameters;
mod partners;
mod perfect;
pub mod profile;
mod queue;

use contexts::Contexts;
use extraction::{Buffers, SelectionRule};
use log::{HasLog, Log};
pub(super) use parameters::SPEC;
use partners::Partners;
use queue::{EntryPosition, Found, QueueEntry, SplitQueue};

use crate::engine::{Drained, Engine, Message, MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Envelope, Rank, Selector, Wild};
use crate::footprint::Footprint;
use crate::hints::HintTable;
use crate::maintenance::{self, Queues};

/// See the [module](self).
pub struct Partner<E: HasLog = ()> {
    posted: SplitQueue<Receive>,
    unexpected: SplitQueue<Message>,
    contexts: Contexts,
    clock: u64,
    rule: SelectionRule,
    /// The paper's t; `None` if partners are fixed by a profile.
    threshold: Option<usize>,
    buffers: Buffers,
    hints: HintTable,
    log: E::Log,
    effort: E,
}

struct Configuration {
    rule: SelectionRule,
    threshold: Option<usize>,
    posted: Partners,
    unexpected: Partners,
}

#[inline]
fn look_up(
    partners: &Partners,
    contexts: &mut Contexts,
    log: &mut impl Log,
    context: ContextId,
    source: Rank,
) -> Option<u32> {
    log.count_lookup();
    partners.find(contexts.number(context)?, source)
}

impl<E: HasLog> Partner<E> {
    fn new(configuration: Configuration) -> Self {
        Partner {
            posted: SplitQueue::new(configuration.posted),
            unexpected: SplitQueue::new(configuration.unexpected),
            contexts: Contexts::default(),
            clock: 0,
            rule: configuration.rule,
            threshold: configuration.threshold,
            buffers: Buffers::default(),
            hints: HintTable::default(),
            log: Default::default(),
            effort: E::default(),
        }
    }

    fn find_unexpected(&mut self, selector: &Selector) -> Option<Found> {
        if self.unexpected.len() == 0 {
            return None;
        }
        let mut examined = 0;
        let matches = |message: &Message| selector.matches(&message.envelope);
        let context = selector.context();
        let found = match selector.source() {
            Wild::Is(source) => {
                let look_up = |partners: &Partners| {
                    look_up(partners, &mut self.contexts, &mut self.log, context, source)
                };
                self.unexpected.find(look_up, &mut examined, matches)
            }
            // A context without a mapped id has no entries.
            _ => self
                .contexts
                .number(context)
                .and_then(|number| self.unexpected.find_any(number, &mut examined, matches)),
        };
        self.effort.examined(Queue::Unexpected, examined);
        found
    }

    #[inline]
    fn message_id(&self, found: Found) -> MsgId {
        self.unexpected.get(found.at).id
    }

    #[inline]
    fn take_message(&mut self, found: Found) -> MsgId {
        self.unexpected.take(found.at).id
    }

    fn take_matching_receive(&mut self, envelope: &Envelope) -> Option<RecvId> {
        if self.posted.len() == 0 {
            return None;
        }
        let mut examined = 0;
        let matches = |receive: &Receive| receive.selector.matches(envelope);
        let Envelope { context, source, .. } = *envelope;
        let look_up =
            |partners: &Partners| look_up(partners, &mut self.contexts, &mut self.log, context, source);
        let with_source = self.posted.find(look_up, &mut examined, matches);
        let until = with_source.map_or(u64::MAX, |found| found.age);
        let from_any = self.posted.find_from_any(until, &mut examined, matches);
        self.effort.examined(Queue::Posted, examined);
        from_any.or(with_source).map(|found| self.posted.take(found.at).id)
    }

    fn queue_receive(&mut self, receive: Receive) -> Result<(), Refused> {
        let number = self.contexts.find_or_assign(receive.selector.context())?;
        let age = self.clock;
        let Some(source) = receive.source() else {
            self.posted.push_from_any(receive, age)?;
            self.clock += 1;
            return Ok(());
        };
        self.log.count_queued(source);
        let partner = find_partner_of_new(&self.posted, &mut self.log, number, source);
        self.posted.push(receive, age, partner)?;
        self.clock += 1;
        if partner.is_none() && self.needs_extraction(&self.posted) {
            let Partner { posted, contexts, rule, buffers, .. } = self;
            let partners = buffers.extract(posted, contexts, rule, self.clock);
            self.log.count_extraction(partners);
        }
        Ok(())
    }

    fn queue_message(&mut self, message: Message) -> Result<(), Refused> {
        let number = self.contexts.find_or_assign(message.envelope.context)?;
        let partner = message.source().and_then(|source| {
            self.log.count_queued(source);
            find_partner_of_new(&self.unexpected, &mut self.log, number, source)
        });
        self.unexpected.push(message, self.clock, partner)?;
        self.clock += 1;
        if partner.is_none() && self.needs_extraction(&self.unexpected) {
            let Partner { unexpected, contexts, rule, buffers, .. } = self;
            let partners = buffers.extract(unexpected, contexts, rule, self.clock);
            self.log.count_extraction(partners);
        }
        Ok(())
    }

    /// True if a push must extract partners (Algorithm 3, line 30).
    #[inline]
    fn needs_extraction<T: QueueEntry>(&self, queue: &SplitQueue<T>) -> bool {
        self.threshold.is_some_and(|threshold| queue.last_level_len() > threshold)
            && queue.extraction_delay == 0
    }

    fn peers_bytes(&self) -> u64 {
        let partners = self.posted.partners.bytes() + self.unexpected.partners.bytes();
        partners + self.contexts.bytes() + self.buffers.bytes()
    }
}

/// Skips the lookup without partners.
#[inline]
fn find_partner_of_new<T: QueueEntry>(
    queue: &SplitQueue<T>,
    log: &mut impl Log,
    number: u64,
    source: Rank,
) -> Option<u32> {
    if queue.partners.is_empty() {
        return None;
    }
    log.count_lookup();
    queue.partners.find(number, source)
}

impl<E: HasLog> Queues for Partner<E> {
    type Posted = EntryPosition;
    type Unexpected = EntryPosition;

    fn posted_positions(&self) -> impl Iterator<Item = (u64, EntryPosition)> {
        self.posted.positions()
    }

    fn unexpected_positions(&self) -> impl Iterator<Item = (u64, EntryPosition)> {
        self.unexpected.positions()
    }

    fn receive(&self, at: EntryPosition) -> Receive {
        self.posted.entry_at(at)
    }

    fn message(&self, at: EntryPosition) -> Message {
        self.unexpected.entry_at(at)
    }

    fn take_posted(&mut self, at: EntryPosition) {
        let number = self.contexts.number(self.receive(at).context());
        self.posted.take_at(at, number);
    }

    fn take_unexpected(&mut self, at: EntryPosition) {
        let number = self.contexts.number(self.message(at).context());
        self.unexpected.take_at(at, number);
    }

    fn set_envelope(&mut self, at: EntryPosition, named: Envelope) -> Result<(), Refused> {
        let message = Message { envelope: named, ..self.message(at) };
        let number = self.contexts.number(named.context);
        self.unexpected.set_envelope(at, number, message)
    }

    fn hints(&mut self) -> &mut HintTable {
        &mut self.hints
    }
}

impl<E: HasLog> Engine for Partner<E> {
    maintenance::provided!(post_selector arrive probe matched_probe cancel retract readdress set_hints fail_source visit);
    maintenance::provided!(posted_len unexpected_len attempts);

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        maintenance::close(self, context, drained);
        let number = self.contexts.remove(context);
        // Partners of a profile are kept.
        if let (Some(number), Some(_)) = (number, self.threshold) {
            self.posted.remove_context(number);
            self.unexpected.remove_context(number);
        }
    }

    fn footprint(&self) -> Footprint {
        let fixed_bytes = size_of::<Self>() as u64 + self.hints.bytes();
        let peers_bytes = self.peers_bytes();
        let entries_bytes = self.posted.bytes() + self.unexpected.bytes();
        // The engine never frees memory.
        let peak_bytes = fixed_bytes + peers_bytes + entries_bytes;
        Footprint { fixed_bytes, peers_bytes, entries_bytes, peak_bytes }
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        let mut statistics = vec![
            ("posted_levels", self.posted.levels as f64),
            ("posted_partners", self.posted.partners.len() as f64),
            ("unexpected_levels", self.unexpected.levels as f64),
            ("unexpected_partners", self.unexpected.partners.len() as f64),
            ("partners_bytes", self.peers_bytes() as f64),
        ];
        statistics.extend(self.log.statistics(self.peers_bytes(), self.contexts.len()));
        statistics
    }
}
