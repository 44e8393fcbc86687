//! `sharded`: several engines, each with a lock. Nearly all calls take one lock.
//!
//! ```text
//! (context, source) ──▶ shard      spread context: `no_any_source` was set while no entry was queued
//!  context          ──▶ shard      other contexts
//! ```
//!
//! *Correctness.* Entries of two contexts never match. In a spread context every receive has a source, so
//! entries of two sources never match. So entries that can match are in the same shard, and a call takes
//! effect under the shard's lock.
//!
//! *End of spreading.* A call that withdraws the assertion, or a message with unknown source, takes all locks
//! and moves the context's entries in order to a new engine at the context's home shard, until the context is
//! closed. Timestamps keep the order of messages. After a failed allocation the context is still spread.
//!
//! *Shard of a call.* A call reads an epoch and the table of spread contexts, takes the lock, and reads the
//! epoch again. Both change only under all locks, so threads usually write no shared cache line.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Concurrent;
use crate::engine::{Drained, Engine, Entry, Message, MsgId, Queue, Readdressed, Receive, RecvId, Refused};
use crate::engines;
use crate::envelope::{ContextId, Envelope, Pair, Rank, Selector, Tag, Wild};
use crate::footprint::Footprint;
use crate::hints::{HintTable, Hints};

/// Slots for spread contexts. Of two contexts with one slot, only the first is spread.
const SPREAD: usize = 256;

/// One lock with its data, in separate cache lines.
#[repr(align(128))]
struct Shard(Mutex<ShardState>);

struct ShardState {
    engine: Box<dyn Engine>,
    stamps: HashMap<MsgId, u64>,
    /// Engines of contexts that are no longer spread.
    separate: Vec<(ContextId, Box<dyn Engine>)>,
    hints: HintTable,
}

impl ShardState {
    fn engine(&mut self, context: ContextId) -> &mut dyn Engine {
        let separate = self.separate.iter_mut().find(|(id, _)| *id == context);
        separate.map_or(&mut *self.engine, |(_, engine)| &mut **engine)
    }

    fn engines(&mut self) -> impl Iterator<Item = &mut Box<dyn Engine>> {
        std::iter::once(&mut self.engine).chain(self.separate.iter_mut().map(|(_, engine)| engine))
    }

    fn remove_stamp(&mut self, message: Option<MsgId>) -> Option<MsgId> {
        if let Some(id) = message {
            self.stamps.remove(&id);
        }
        message
    }
}

/// See the [module](self).
pub struct Sharded {
    shards: Vec<Shard>,
    name: String,
    /// Context id + 1 of each spread context; 0 in a free slot.
    spread: Vec<AtomicU64>,
    epoch: AtomicU64,
    stamp: AtomicU64,
}

type AllLocks<'a> = Vec<MutexGuard<'a, ShardState>>;

impl Sharded {
    /// Creates one shard per engine. `name` describes all engines.
    ///
    /// # Panics
    /// If `engines` is empty.
    pub fn new(engines: Vec<Box<dyn Engine>>, name: &str) -> Self {
        assert!(!engines.is_empty(), "a sharded engine needs at least one inner engine");
        let shard = |engine| {
            Shard(Mutex::new(ShardState {
                engine,
                stamps: HashMap::new(),
                separate: Vec::new(),
                hints: HintTable::default(),
            }))
        };
        Sharded {
            shards: engines.into_iter().map(shard).collect(),
            name: name.to_owned(),
            spread: (0..SPREAD).map(|_| AtomicU64::new(0)).collect(),
            epoch: AtomicU64::new(0),
            stamp: AtomicU64::new(0),
        }
    }

    fn spread_slot(&self, context: ContextId) -> &AtomicU64 {
        &self.spread[hash_to_slot(u64::from(context.0), SPREAD)]
    }

    fn is_spread(&self, context: ContextId) -> bool {
        self.spread_slot(context).load(Ordering::Relaxed) == u64::from(context.0) + 1
    }

    fn home_shard(&self, context: ContextId) -> usize {
        hash_to_slot(u64::from(context.0), self.shards.len())
    }

    fn shard_of(&self, context: ContextId, source: Rank) -> usize {
        hash_to_slot(Pair::new(context, source).0, self.shards.len())
    }

    fn lock(&self, at: usize) -> MutexGuard<'_, ShardState> {
        // As in `Locked`, the engine stays usable after a panic.
        self.shards[at].0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all locks, always in the same order, so that no deadlock occurs.
    fn lock_all(&self) -> AllLocks<'_> {
        (0..self.shards.len()).map(|at| self.lock(at)).collect()
    }

    /// The second argument of `act` is true if the context is spread.
    fn with_shard<A>(
        &self,
        context: ContextId,
        source: Option<Rank>,
        act: impl FnOnce(&mut ShardState, bool) -> A,
    ) -> A {
        loop {
            // Pairs with the release in `set_spread`: the new epoch comes with the new table.
            let epoch = self.epoch.load(Ordering::Acquire);
            let is_spread = self.is_spread(context);
            let at = match source {
                Some(source) if is_spread => self.shard_of(context, source),
                _ => self.home_shard(context),
            };
            let mut shard = self.lock(at);
            if self.epoch.load(Ordering::Relaxed) == epoch {
                return act(&mut shard, is_spread);
            }
        }
    }

    fn set_spread(&self, _: &mut AllLocks<'_>, context: ContextId, is_spread: bool) {
        let value = if is_spread { u64::from(context.0) + 1 } else { 0 };
        self.spread_slot(context).store(value, Ordering::Relaxed);
        // Pairs with the acquire in `with_shard`. The caller holds all locks.
        self.epoch.fetch_add(1, Ordering::Release);
    }

    fn stop_spreading(
        &self,
        all: &mut AllLocks<'_>,
        context: ContextId,
        hints: Hints,
    ) -> Result<(), Refused> {
        let mut engine = engines::create(&self.name).map_err(|_| Refused::Memory)?;
        let (mut messages, mut receives) = (Vec::new(), Vec::new());
        let mut queued = (0, 0);
        for shard in all.iter() {
            let (more_receives, more_messages) = shard.engine.queued_in(context);
            queued = (queued.0 + more_receives, queued.1 + more_messages);
        }
        receives.try_reserve(queued.0).map_err(|_| Refused::Memory)?;
        messages.try_reserve(queued.1).map_err(|_| Refused::Memory)?;
        for shard in all.iter() {
            for queue in [Queue::Posted, Queue::Unexpected] {
                shard.engine.visit(queue, &mut |entry| match entry {
                    Entry::Receive(receive) if entry.context() == context => receives.push(receive),
                    Entry::Message(message) if entry.context() == context => {
                        let stamp = shard.stamps.get(&message.id).copied().unwrap_or_default();
                        messages.push((stamp, message));
                    }
                    _ => {}
                });
            }
        }
        messages.sort_unstable_by_key(|&(stamp, _)| stamp);
        let before = all[self.home_shard(context)].hints.get(context);
        // The new assertions are set last, because queued entries may break them.
        let before = Hints { no_unexpected: false, ..before };
        engine.set_hints(context, before)?;
        for &(_, message) in &messages {
            engine.arrive_message(message)?;
        }
        for &receive in &receives {
            engine.post(receive)?;
        }
        engine.set_hints(context, hints)?;
        let home = &mut all[self.home_shard(context)];
        home.separate.try_reserve(1).map_err(|_| Refused::Memory)?;
        home.hints.reserve()?;
        for shard in all.iter_mut() {
            shard.engine.close(context, &mut Drained::default());
        }
        remove_stamps(all, messages.iter().map(|(_, message)| message.id));
        let home = &mut all[self.home_shard(context)];
        home.separate.push((context, engine));
        home.hints.set(context, hints)?;
        self.set_spread(all, context, false);
        Ok(())
    }

    fn set_hints_everywhere(
        &self,
        all: &mut AllLocks<'_>,
        context: ContextId,
        before: Hints,
        hints: Hints,
    ) -> Result<(), Refused> {
        let home = self.home_shard(context);
        all[home].hints.reserve()?;
        for at in 0..all.len() {
            if let Err(refused) = all[at].engine.set_hints(context, hints) {
                for shard in &mut all[..at] {
                    // Cannot fail: these hints were valid before.
                    shard.engine.set_hints(context, before)?;
                }
                return Err(refused);
            }
        }
        all[home].hints.set(context, hints)
    }
}

/// MPI libraries number contexts in steps of 1 or 16.
fn hash_to_slot(number: u64, slots: usize) -> usize {
    // Fibonacci hashing (Knuth 6.4).
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((u128::from(mixed) * slots as u128) >> 64) as usize
}

fn remove_stamps(all: &mut AllLocks<'_>, messages: impl Iterator<Item = MsgId>) {
    for id in messages {
        for shard in all.iter_mut() {
            shard.stamps.remove(&id);
        }
    }
}

fn exact_source(selector: &Selector) -> Option<Rank> {
    if let Wild::Is(source) = selector.source() { Some(source) } else { None }
}

impl Concurrent for Sharded {
    fn post_selector(&self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let receive = Receive::new(id, *selector);
        let context = receive.selector.context();
        self.with_shard(context, exact_source(&receive.selector), |shard, is_spread| {
            let taken = shard.engine(context).post(receive)?;
            Ok(if is_spread { shard.remove_stamp(taken) } else { taken })
        })
    }

    fn arrive(&self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let message = Message::new(id, Envelope::of(pair, tag));
        let Envelope { context, source, .. } = message.envelope;
        loop {
            let arrived = self.with_shard(context, Some(source), |shard, is_spread| {
                if is_spread && source == Rank::UNKNOWN {
                    return None;
                }
                if !is_spread {
                    return Some(shard.engine(context).arrive_message(message));
                }
                if shard.stamps.try_reserve(1).is_err() {
                    return Some(Err(Refused::Memory));
                }
                let arrived = shard.engine.arrive_message(message);
                if arrived == Ok(None) {
                    let stamp = self.stamp.fetch_add(1, Ordering::Relaxed);
                    shard.stamps.insert(message.id, stamp);
                }
                Some(arrived)
            });
            if let Some(arrived) = arrived {
                return arrived;
            }
            let mut all = self.lock_all();
            if self.is_spread(context) {
                let hints = all[self.home_shard(context)].hints.get(context);
                if hints.no_unexpected {
                    // No posted receive matches. This check precedes `stop_spreading`, which may fail to
                    // allocate.
                    return Err(Refused::Hint);
                }
                self.stop_spreading(&mut all, context, hints)?;
            }
        }
    }

    fn probe(&self, selector: &Selector) -> Option<MsgId> {
        let context = selector.context();
        self.with_shard(context, exact_source(selector), |shard, _| shard.engine(context).probe(selector))
    }

    fn matched_probe(&self, selector: &Selector) -> Option<MsgId> {
        let context = selector.context();
        self.with_shard(context, exact_source(selector), |shard, is_spread| {
            let taken = shard.engine(context).matched_probe(selector);
            if is_spread { shard.remove_stamp(taken) } else { taken }
        })
    }

    fn cancel(&self, receive: &Receive) -> bool {
        let context = receive.selector.context();
        self.with_shard(context, exact_source(&receive.selector), |shard, _| {
            shard.engine(context).cancel(receive)
        })
    }

    fn retract(&self, message: &Message) -> bool {
        let Envelope { context, source, .. } = message.envelope;
        self.with_shard(context, Some(source), |shard, is_spread| {
            let is_done = shard.engine(context).retract(message);
            if is_done && is_spread {
                shard.stamps.remove(&message.id);
            }
            is_done
        })
    }

    fn readdress(&self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        // A message with unknown source is never in a spread context.
        let context = message.envelope.context;
        self.with_shard(context, None, |shard, _| shard.engine(context).readdress(message, source))
    }

    fn set_hints(&self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        let mut all = self.lock_all();
        let home = self.home_shard(context);
        if self.is_spread(context) {
            if !hints.no_any_source {
                return self.stop_spreading(&mut all, context, hints);
            }
            let before = all[home].hints.get(context);
            return self.set_hints_everywhere(&mut all, context, before, hints);
        }
        let is_idle = all[home].engine(context).queued_in(context) == (0, 0);
        let is_vacant = self.spread_slot(context).load(Ordering::Relaxed) == 0;
        if !(hints.no_any_source && is_idle && is_vacant) {
            all[home].hints.reserve()?;
            all[home].engine(context).set_hints(context, hints)?;
            return all[home].hints.set(context, hints);
        }
        let before = all[home].hints.get(context);
        self.set_hints_everywhere(&mut all, context, before, hints)?;
        all[home].separate.retain(|(id, _)| *id != context);
        self.set_spread(&mut all, context, true);
        Ok(())
    }

    fn close(&self, context: ContextId, drained: &mut Drained) {
        let mut all = self.lock_all();
        let home = self.home_shard(context);
        all[home].hints.forget(context);
        if !self.is_spread(context) {
            all[home].engine(context).close(context, drained);
            all[home].separate.retain(|(id, _)| *id != context);
            return;
        }
        let begin = drained.messages.len();
        for shard in all.iter_mut() {
            shard.engine.close(context, drained);
        }
        let stamp = |id: &MsgId| all.iter().find_map(|shard| shard.stamps.get(id)).copied();
        drained.messages[begin..].sort_by_cached_key(stamp);
        remove_stamps(&mut all, drained.messages[begin..].iter().copied());
        self.set_spread(&mut all, context, false);
    }

    fn fail_source(&self, context: ContextId, source: Rank, drained: &mut Drained) {
        self.with_shard(context, Some(source), |shard, _| {
            shard.engine(context).fail_source(context, source, drained)
        });
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        for mut shard in self.lock_all() {
            shard.engines().for_each(|engine| engine.visit(queue, each));
        }
    }

    fn posted_len(&self) -> usize {
        let shard_len = |at| self.lock(at).engines().map(|engine| engine.posted_len()).sum::<usize>();
        (0..self.shards.len()).map(shard_len).sum()
    }

    fn unexpected_len(&self) -> usize {
        let shard_len = |at| self.lock(at).engines().map(|engine| engine.unexpected_len()).sum::<usize>();
        (0..self.shards.len()).map(shard_len).sum()
    }

    fn substitute(&self) -> Option<String> {
        self.lock_all()
            .iter_mut()
            .find_map(|shard| shard.engines().find_map(|engine| engine.substitute().map(str::to_owned)))
    }

    fn footprint(&self) -> Footprint {
        let mut sum = Footprint {
            fixed_bytes: (size_of::<Self>()
                + self.name.capacity()
                + self.shards.capacity() * size_of::<Shard>()
                + self.spread.capacity() * size_of::<AtomicU64>()) as u64,
            ..Footprint::default()
        };
        sum.peak_bytes = sum.fixed_bytes;
        for mut shard in self.lock_all() {
            let stamps = (shard.stamps.capacity() * size_of::<(MsgId, u64)>()) as u64;
            sum.entries_bytes += stamps;
            sum.peak_bytes += stamps;
            for engine in shard.engines() {
                let footprint = engine.footprint();
                sum.fixed_bytes += footprint.fixed_bytes;
                sum.peers_bytes += footprint.peers_bytes;
                sum.entries_bytes += footprint.entries_bytes;
                sum.peak_bytes += footprint.peak_bytes;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_spread_over_all_shards() {
        for distance in [1, 2, 3, 4, 16, 17, 64, 1024] {
            for slots in [2, 3, 16, 64, 256] {
                let mut load = vec![0; slots];
                (0..4 * slots as u64).for_each(|number| load[hash_to_slot(number * distance, slots)] += 1);
                let most = load.iter().max().copied().unwrap_or_default();
                assert!(
                    most <= 8,
                    "{most} of {} context ids in steps of {distance} share one of {slots} slots",
                    4 * slots
                );
            }
        }
    }
}
