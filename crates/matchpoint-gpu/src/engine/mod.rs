//! Engines that match with kernels, in batches on a [`Machine`].
//!
//! The host stores the queues. A call that searches makes a [`Batch`] of its entries and the queued entries
//! of the same context, and a kernel returns the pairs. Only [`Engine::arrive_batch`] makes one batch of
//! several new entries. An empty queue needs no launch. A call costs a copy of the queue to the machine and a
//! launch. An engine keeps the memory of its largest batch and up to the same again, as part of its
//! footprint. The host handles other calls, such as cancel and close: O(queued entries).
//!
//! A call is refused, as the contract demands, if memory for the queues or of the machine is missing. Missing
//! host memory for a batch, or missing memory of the driver, is not handled.
//!
//! After a failure of the machine, all entries are still queued, and a [`Fallback`] continues with them.

mod fallback;
mod queue;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use matchpoint::hints::HintTable;
use matchpoint::{
    ContextId, Deliver, Drained, Engine, Entry, Envelope, Footprint, Hints, Message, MsgId, Order, Pair,
    Rank, Readdressed, Receive, RecvId, Refused, Selector, Tag, Wild,
};

use self::queue::Queue;
use crate::batch::{Batch, NONE};
use crate::machine::{FailureDuration, Machine};
use crate::matcher::Matcher;
use crate::matching::Algorithm;

pub use self::fallback::{Fallback, set_listener};

/// An engine on a machine. After a failure, calls that need the machine are refused as [`Refused::Full`], so
/// that callers migrate to another engine. The host answers probes. While another process [occupies the
/// machine](Machine::is_occupied), calls that need an unavailable kernel are refused too; the next call tries
/// again.
pub struct KernelEngine<M: Machine> {
    machine: Arc<M>,
    algorithm: Algorithm,
    posted: Queue<Receive>,
    unexpected: Queue<Message>,
    hints: HintTable,
    /// Seed of the hash functions, unknown to peers.
    seed: u64,
    batches: u64,
    copied: u64,
    failure: Option<M::Error>,
    temporary_failure: Option<M::Error>,
    matcher: Matcher<M>,
    /// Maximum bytes before the last reduction.
    peak_bytes: u64,
}

impl<M: Machine> KernelEngine<M> {
    pub fn new(machine: Arc<M>, algorithm: Algorithm) -> Self {
        KernelEngine {
            machine,
            algorithm,
            posted: Queue::default(),
            unexpected: Queue::default(),
            hints: HintTable::default(),
            seed: fastrand::u64(..),
            batches: 0,
            copied: 0,
            failure: None,
            temporary_failure: None,
            matcher: Matcher::default(),
            peak_bytes: 0,
        }
    }

    pub fn failure(&self) -> Option<&M::Error> {
        self.failure.as_ref()
    }

    fn held_bytes(&self, of_machine: u64) -> u64 {
        let fixed_bytes = size_of::<Self>() as u64 + self.hints.bytes();
        fixed_bytes + self.posted.bytes() + self.unexpected.bytes() + of_machine
    }

    /// Removes all entries, but keeps the assertions.
    fn clear(&mut self) {
        self.peak_bytes = self.peak_bytes.max(self.held_bytes(self.matcher.bytes()));
        (self.posted, self.unexpected, self.temporary_failure) = (Queue::default(), Queue::default(), None);
    }

    /// Queues all entries of another engine, none of which match each other. The queues must be empty. After
    /// an error, no entry is queued.
    fn take_over(&mut self, from: &dyn Engine) -> Result<(), Refused> {
        let mut queued = Ok(());
        for queue in [matchpoint::Queue::Posted, matchpoint::Queue::Unexpected] {
            from.visit(queue, &mut |entry| {
                queued = queued.and_then(|()| match entry {
                    Entry::Receive(receive) => self.posted.push(receive),
                    Entry::Message(message) => self.unexpected.push(message),
                });
            });
        }
        if queued.is_err() {
            self.clear();
        }
        queued
    }

    fn admit(&self, selector: &Selector) -> Result<(), Refused> {
        self.algorithm.demands().admit(selector)?;
        self.hints.admit(selector)
    }

    /// For each of `selectors` the index of its message in `envelopes`, or [`NONE`].
    fn matched(
        &mut self,
        algorithm: Algorithm,
        envelopes: &[Envelope],
        selectors: &[Selector],
    ) -> Result<Vec<u32>, Refused> {
        if self.failure.is_some() {
            return Err(Refused::Full);
        }
        self.batches += 1;
        self.copied += (envelopes.len() + selectors.len()) as u64;
        let batch = Batch::of(envelopes, selectors);
        self.temporary_failure = None;
        let matched = self.matcher.match_batch(&*self.machine, algorithm, &batch, self.seed);
        // A refused batch held this memory.
        self.peak_bytes = self.peak_bytes.max(self.held_bytes(self.matcher.last_bytes()));
        matched.map_err(|error| match M::failure_duration(&error) {
            FailureDuration::UntilMemory => Refused::Memory,
            FailureDuration::WhileOccupied => {
                self.temporary_failure = Some(error);
                Refused::Full
            }
            FailureDuration::Permanent => {
                self.failure = Some(error);
                Refused::Full
            }
        })
    }

    /// Position of the message that a receive takes.
    ///
    /// With `Hash`, votes match a single receive, without a table. Votes also find the same message of
    /// several duplicates for a probe and for the next receive.
    fn find_unexpected(&mut self, selector: &Selector) -> Result<Option<usize>, Refused> {
        let here =
            self.unexpected.iter().filter(|(_, message)| message.envelope.context == selector.context());
        let (places, envelopes): (Vec<usize>, Vec<Envelope>) =
            here.map(|(place, message)| (place, message.envelope)).unzip();
        if places.is_empty() {
            return if self.failure.is_some() { Err(Refused::Full) } else { Ok(None) };
        }
        let algorithm = if self.algorithm == Algorithm::Hash { Algorithm::Matrix } else { self.algorithm };
        let matched = self.matched(algorithm, &envelopes, &[*selector])?;
        Ok((matched[0] != NONE).then(|| places[matched[0] as usize]))
    }

    /// Searches on the card for a probe. If the card refuses the search, the host searches.
    fn find_for_probe(&mut self, selector: &Selector) -> Option<usize> {
        self.admit(selector).ok()?;
        self.find_unexpected(selector).unwrap_or_else(|_| {
            let mut all = self.unexpected.iter();
            all.find(|(_, message)| selector.matches(&message.envelope)).map(|(place, _)| place)
        })
    }

    /// Positions of the receives that the messages take one after the other.
    fn find_posted(&mut self, messages: &[Message]) -> Result<Vec<Option<usize>>, Refused> {
        // Most batches have one context. For several contexts, all receives take part.
        let context = messages.first().map(|message| message.envelope.context);
        let is_one = messages.iter().all(|message| Some(message.envelope.context) == context);
        let here =
            self.posted.iter().filter(|(_, receive)| !is_one || Some(receive.selector.context()) == context);
        let (places, selectors): (Vec<usize>, Vec<Selector>) =
            here.map(|(place, receive)| (place, receive.selector)).unzip();
        let mut found = vec![None; messages.len()];
        if places.is_empty() {
            return if self.failure.is_some() { Err(Refused::Full) } else { Ok(found) };
        }
        let envelopes: Vec<Envelope> = messages.iter().map(|message| message.envelope).collect();
        let matched = self.matched(self.algorithm, &envelopes, &selectors)?;
        for (&place, message) in places.iter().zip(matched).filter(|(_, message)| *message != NONE) {
            found[message as usize] = Some(place);
        }
        if self.algorithm == Algorithm::Hash {
            prefer_earlier_duplicates(&envelopes, &mut found);
        }
        Ok(found)
    }
}

/// Gives the receives of duplicates to the earliest duplicates. Messages arrive one after the other, so later
/// duplicates stay without a receive, even without ordering.
fn prefer_earlier_duplicates(envelopes: &[Envelope], found: &mut [Option<usize>]) {
    let mut without: HashMap<Envelope, VecDeque<usize>> = HashMap::new();
    for (at, envelope) in envelopes.iter().enumerate() {
        if found[at].is_none() {
            without.entry(*envelope).or_default().push_back(at);
        } else if let Some(equals) = without.get_mut(envelope) {
            equals.push_back(at);
            let earlier = equals.pop_front().expect("one was added");
            found.swap(earlier, at);
        }
    }
}

impl<M: Machine + Send + Sync> Engine for KernelEngine<M> {
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let receive = Receive::new(id, *selector);
        self.admit(&receive.selector)?;
        if let Some(place) = self.find_unexpected(&receive.selector)? {
            return Ok(Some(self.unexpected.take(place).id));
        }
        self.posted.push(receive)?;
        Ok(None)
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let message = Message::new(id, Envelope::of(pair, tag));
        let mut out = Vec::new();
        self.arrive_batch(&[message], &mut out)?;
        Ok(out[0])
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.find_for_probe(selector).map(|place| self.unexpected.get(place).id)
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.find_for_probe(selector).map(|place| self.unexpected.take(place).id)
    }

    fn cancel(&mut self, receive: &Receive) -> bool {
        self.posted.drain(|posted| posted.id == receive.id).next().is_some()
    }

    fn retract(&mut self, message: &Message) -> bool {
        self.unexpected.drain(|unexpected| unexpected.id == message.id).next().is_some()
    }

    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        let is_it = |unexpected: &Message| {
            let is_nameless = [message, unexpected].iter().all(|of| of.envelope.source == Rank::UNKNOWN);
            unexpected.id == message.id && is_nameless && source != Rank::UNKNOWN
        };
        let Some(waiting) = self.unexpected.iter_mut().find(|unexpected| is_it(unexpected)) else {
            return Ok(Readdressed::Unchanged);
        };
        let named = Envelope { source, ..waiting.envelope };
        let earliest = self.posted.iter().find(|(_, receive)| receive.selector.matches(&named));
        let Some((place, _)) = earliest else {
            waiting.envelope = named;
            return Ok(Readdressed::SourceSet);
        };
        self.unexpected.drain(|unexpected| unexpected.id == message.id).next();
        Ok(Readdressed::Matched(self.posted.take(place).id))
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        let posted = self.posted.iter().map(|(_, receive)| &receive.selector);
        posted.filter(|selector| selector.context() == context).try_for_each(|asks| hints.admit(asks))?;
        let waits = |(_, message): (usize, &Message)| message.envelope.context == context;
        if hints.no_unexpected && self.unexpected.iter().any(waits) {
            return Err(Refused::Hint);
        }
        self.hints.set(context, hints)
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        let receives = self.posted.drain(|receive| receive.selector.context() == context);
        drained.receives.extend(receives.map(|receive| receive.id));
        let messages = self.unexpected.drain(|message| message.envelope.context == context);
        drained.messages.extend(messages.map(|message| message.id));
        self.hints.forget(context);
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        let here = |receive: &Receive| receive.selector.context() == context;
        let names = |receive: &Receive| receive.selector.source() == Wild::Is(source);
        let failed = self.posted.drain(|receive| here(receive) && names(receive));
        drained.receives.extend(failed.map(|receive| receive.id));
        let pending = self.posted.iter().map(|(_, receive)| receive);
        let pending = pending.filter(|receive| here(receive) && receive.selector.source() == Wild::Any);
        drained.pending.extend(pending.map(|receive| receive.id));
    }

    fn visit(&self, queue: matchpoint::Queue, each: &mut dyn FnMut(Entry)) {
        match queue {
            matchpoint::Queue::Posted => {
                self.posted.iter().for_each(|(_, &receive)| each(Entry::Receive(receive)));
            }
            matchpoint::Queue::Unexpected => {
                self.unexpected.iter().for_each(|(_, &message)| each(Entry::Message(message)));
            }
        }
    }

    fn posted_len(&self) -> usize {
        self.posted.len()
    }

    fn unexpected_len(&self) -> usize {
        self.unexpected.len()
    }

    fn arrive_batch(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        out.try_reserve(messages.len()).map_err(|_| Refused::Memory)?;
        // Messages before a refused message keep their receives: a receive does not depend on later messages.
        for (message, place) in messages.iter().zip(self.find_posted(messages)?) {
            if place.is_none() {
                self.hints.admit_unexpected(message.envelope.context)?;
                self.unexpected.push(*message)?;
            }
            out.push(place.map(|place| self.posted.take(place).id));
        }
        Ok(())
    }

    fn deliver_batch(
        &mut self,
        messages: &[Message],
        out: &mut Vec<Option<RecvId>>,
        deliver: &Deliver<'_>,
    ) -> Result<(), Refused> {
        let before = out.len();
        let result = self.arrive_batch(messages, out);
        let found = out[before..].iter().enumerate();
        found.filter_map(|(number, receive)| Some((number, (*receive)?))).for_each(|(n, r)| deliver(n, r));
        result
    }

    fn order(&self) -> Order {
        if self.demands().allow_overtaking { Order::None } else { Order::Total }
    }

    fn demands(&self) -> Hints {
        self.algorithm.demands()
    }

    fn footprint(&self) -> Footprint {
        let fixed_bytes = size_of::<Self>() as u64 + self.hints.bytes();
        let entries_bytes = self.posted.bytes() + self.unexpected.bytes() + self.matcher.bytes();
        // Queues and batch memory keep their capacity, except for reductions that `peak_bytes` has recorded.
        let peak_bytes = self.peak_bytes.max(fixed_bytes + entries_bytes);
        Footprint { fixed_bytes, peers_bytes: 0, entries_bytes, peak_bytes }
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        vec![("batches_matched", self.batches as f64), ("entries_copied", self.copied as f64)]
    }
}

#[cfg(test)]
mod tests {
    use matchpoint::Tag;

    use super::*;

    #[test]
    fn earliest_duplicates_match() {
        let envelope = |tag: u64| Envelope::new(ContextId(0), Rank(1), Tag(tag));
        let envelopes = [1, 2, 1, 1, 2, 1].map(envelope);
        let mut found = [None, Some(20), Some(10), None, None, Some(11)];
        prefer_earlier_duplicates(&envelopes, &mut found);
        assert_eq!(found, [Some(10), Some(20), Some(11), None, None, None]);
    }
}
