//! `sharded`: several engines, each behind a lock of its own, of which every call but the rare ones takes one.
//!
//! ```text
//! (context, source) ──▶ shard      where `no_any_source` was asserted before anything was queued: a spread context
//!  context          ──▶ shard      else
//! ```
//!
//! *Why it is exact.* What is in two contexts never matches. In a spread context, neither do receives and messages of two
//! sources, as every receive names its source: each source is to the contract what a context is. So whatever can match, and
//! whatever an order holds between, is in one shard, whose engine sees it in the order in which its lock is had. A call takes
//! effect while it has that lock.
//!
//! *When a context stops being spread*: if the assertion is withdrawn, or a message arrives whose source is not known yet, of
//! which nobody can say which shard it is for. Then all shards are locked, and an engine is made for that context alone, with
//! all that waits there in order, which stays at the context's own shard until the context is closed. Messages that wait in
//! spread contexts are stamped for that; receives need no stamp, as those of different sources have no order. If memory is
//! refused, nothing has changed.
//!
//! *Where a call finds its shard.* It reads the table of spread contexts and an epoch, takes the lock, and reads the epoch
//! again: who changes the table has all locks, and changes the epoch. So nothing is written that all threads share.
//!
//! Post, arrive, probes, cancel, retract and readdress: those of the engine inside, and a lock. Some hundred contexts are
//! spread at once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Concurrent;
use crate::engine::{Drained, Engine, Entry, Message, MsgId, Queue, Readdressed, Receive, RecvId, Refused};
use crate::engines;
use crate::envelope::{ContextId, Envelope, Pair, Rank, Selector, Tag, Wild};
use crate::footprint::Footprint;
use crate::hints::{HintTable, Hints};

/// Contexts spread at once, each at the place its id says: of two with one place, the first is spread.
const SPREAD: usize = 256;

/// What one lock guards, in cache lines of its own.
#[repr(align(128))]
struct Shard(Mutex<Inside>);

struct Inside {
    engine: Box<dyn Engine>,
    /// When messages that wait in spread contexts arrived.
    stamps: HashMap<MsgId, u64>,
    /// Engines of contexts that were spread once.
    gathered: Vec<(ContextId, Box<dyn Engine>)>,
    /// Of contexts whose own shard this is.
    hints: HintTable,
}

impl Inside {
    fn engine(&mut self, context: ContextId) -> &mut dyn Engine {
        let gathered = self.gathered.iter_mut().find(|(of, _)| *of == context);
        gathered.map_or(&mut *self.engine, |(_, engine)| &mut **engine)
    }

    fn engines(&mut self) -> impl Iterator<Item = &mut Box<dyn Engine>> {
        std::iter::once(&mut self.engine).chain(self.gathered.iter_mut().map(|(_, engine)| engine))
    }

    /// A message was taken out of a spread context.
    fn forget(&mut self, message: Option<MsgId>) -> Option<MsgId> {
        if let Some(id) = message {
            self.stamps.remove(&id);
        }
        message
    }
}

/// See the [module's documentation](self).
pub struct Sharded {
    shards: Vec<Shard>,
    /// The engine's name, for contexts that need one of their own.
    name: String,
    /// Spread contexts, one more than their ids; 0: none.
    spread: Vec<AtomicU64>,
    /// Changes of that table.
    epoch: AtomicU64,
    /// Of the next message that waits in a spread context.
    stamp: AtomicU64,
}

type All<'a> = Vec<MutexGuard<'a, Inside>>;

impl Sharded {
    /// Shards of these engines, each of which was made by `name`.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(engines: Vec<Box<dyn Engine>>, name: &str) -> Self {
        assert!(!engines.is_empty(), "there is at least one shard");
        let shard = |engine| {
            Shard(Mutex::new(Inside {
                engine,
                stamps: HashMap::new(),
                gathered: Vec::new(),
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

    /// The spread context whose place this is.
    fn spread(&self, context: ContextId) -> &AtomicU64 {
        &self.spread[scaled(u64::from(context.0), SPREAD)]
    }

    /// Whether receives and messages of a context are spread by source.
    fn is_spread(&self, context: ContextId) -> bool {
        self.spread(context).load(Ordering::Relaxed) == u64::from(context.0) + 1
    }

    fn home(&self, context: ContextId) -> usize {
        scaled(u64::from(context.0), self.shards.len())
    }

    fn place(&self, context: ContextId, source: Rank) -> usize {
        scaled(Pair::new(context, source).0, self.shards.len())
    }

    fn lock(&self, at: usize) -> MutexGuard<'_, Inside> {
        // An engine that panicked is as good as one that did so in a thread of its own.
        self.shards[at].0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All locks, always in the same order.
    fn lock_all(&self) -> All<'_> {
        (0..self.shards.len()).map(|at| self.lock(at)).collect()
    }

    /// Calls `act` with the shard of a context and a source, and whether the context is spread, while that holds.
    fn at<A>(&self, context: ContextId, source: Option<Rank>, act: impl FnOnce(&mut Inside, bool) -> A) -> A {
        loop {
            // Pairs with the release in `change`: who sees the epoch sees the table.
            let epoch = self.epoch.load(Ordering::Acquire);
            let is_spread = self.is_spread(context);
            let at = match source {
                Some(source) if is_spread => self.place(context, source),
                _ => self.home(context),
            };
            let mut inside = self.lock(at);
            if self.epoch.load(Ordering::Relaxed) == epoch {
                return act(&mut inside, is_spread);
            }
        }
    }

    /// Has a context spread, or not, from now on.
    fn change(&self, _: &mut All<'_>, context: ContextId, is_spread: bool) {
        let value = if is_spread { u64::from(context.0) + 1 } else { 0 };
        self.spread(context).store(value, Ordering::Relaxed);
        // Pairs with the acquire in `at`. All locks are held.
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Puts all that waits in a spread context into an engine of its own, under those hints.
    fn gather(&self, all: &mut All<'_>, context: ContextId, hints: Hints) -> Result<(), Refused> {
        let mut engine = engines::create(&self.name).map_err(|_| Refused::Memory)?;
        let (mut messages, mut receives) = (Vec::new(), Vec::new());
        let mut queued = (0, 0);
        for inside in all.iter() {
            let (more_receives, more_messages) = inside.engine.queued_in(context);
            queued = (queued.0 + more_receives, queued.1 + more_messages);
        }
        receives.try_reserve(queued.0).map_err(|_| Refused::Memory)?;
        messages.try_reserve(queued.1).map_err(|_| Refused::Memory)?;
        for inside in all.iter() {
            for queue in [Queue::Posted, Queue::Unexpected] {
                inside.engine.visit(queue, &mut |entry| match entry {
                    Entry::Receive(receive) if entry.context() == context => receives.push(receive),
                    Entry::Message(message) if entry.context() == context => {
                        let stamp = inside.stamps.get(&message.id).copied().unwrap_or_default();
                        messages.push((stamp, message));
                    }
                    _ => {}
                });
            }
        }
        messages.sort_unstable_by_key(|&(stamp, _)| stamp);
        let before = all[self.home(context)].hints.get(context);
        // What waits may break the new assertions, which is asked last.
        let before = Hints { no_unexpected: false, ..before };
        engine.set_hints(context, before)?;
        for &(_, message) in &messages {
            engine.arrive_message(message)?;
        }
        for &receive in &receives {
            engine.post(receive)?;
        }
        engine.set_hints(context, hints)?;
        let home = &mut all[self.home(context)];
        home.gathered.try_reserve(1).map_err(|_| Refused::Memory)?;
        home.hints.reserve()?;
        for inside in all.iter_mut() {
            inside.engine.close(context, &mut Drained::default());
        }
        forget(all, messages.iter().map(|(_, message)| message.id));
        let home = &mut all[self.home(context)];
        home.gathered.push((context, engine));
        home.hints.set(context, hints)?;
        self.change(all, context, false);
        Ok(())
    }

    /// The same hints in every shard, or, if one refuses, those of before.
    fn hint_all(
        &self,
        all: &mut All<'_>,
        context: ContextId,
        before: Hints,
        hints: Hints,
    ) -> Result<(), Refused> {
        let home = self.home(context);
        all[home].hints.reserve()?;
        for at in 0..all.len() {
            if let Err(refused) = all[at].engine.set_hints(context, hints) {
                for inside in &mut all[..at] {
                    // It held before.
                    inside.engine.set_hints(context, before)?;
                }
                return Err(refused);
            }
        }
        all[home].hints.set(context, hints)
    }
}

/// One of so many places for a number: of numbers that follow one another at whatever distance (MPI libraries number contexts one by
/// one, or by sixteens) none has many.
fn scaled(number: u64, places: usize) -> usize {
    // Fibonacci hashing (Knuth 6.4): multiples of the golden ratio lie as far apart as they can.
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((u128::from(mixed) * places as u128) >> 64) as usize
}

/// Messages no longer wait in spread contexts.
fn forget(all: &mut All<'_>, messages: impl Iterator<Item = MsgId>) {
    for id in messages {
        for inside in all.iter_mut() {
            inside.stamps.remove(&id);
        }
    }
}

fn named(selector: &Selector) -> Option<Rank> {
    if let Wild::Is(source) = selector.source() { Some(source) } else { None }
}

impl Concurrent for Sharded {
    fn post_open(&self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let receive = Receive::new(id, *selector);
        let context = receive.selector.context();
        self.at(context, named(&receive.selector), |inside, is_spread| {
            let taken = inside.engine(context).post(receive)?;
            Ok(if is_spread { inside.forget(taken) } else { taken })
        })
    }

    fn arrive(&self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let message = Message::new(id, Envelope::of(pair, tag));
        let Envelope { context, source, .. } = message.envelope;
        loop {
            let arrived = self.at(context, Some(source), |inside, is_spread| {
                if is_spread && source == Rank::UNKNOWN {
                    return None;
                }
                if !is_spread {
                    return Some(inside.engine(context).arrive_message(message));
                }
                if inside.stamps.try_reserve(1).is_err() {
                    return Some(Err(Refused::Memory));
                }
                let arrived = inside.engine.arrive_message(message);
                if arrived == Ok(None) {
                    let stamp = self.stamp.fetch_add(1, Ordering::Relaxed);
                    inside.stamps.insert(message.id, stamp);
                }
                Some(arrived)
            });
            if let Some(arrived) = arrived {
                return arrived;
            }
            let mut all = self.lock_all();
            if self.is_spread(context) {
                let hints = all[self.home(context)].hints.get(context);
                if hints.no_unexpected {
                    // No receive is posted here that would take it: asked before there may be no room for all that is.
                    return Err(Refused::Hint);
                }
                self.gather(&mut all, context, hints)?;
            }
        }
    }

    fn probe(&self, selector: &Selector) -> Option<MsgId> {
        let context = selector.context();
        self.at(context, named(selector), |inside, _| inside.engine(context).probe(selector))
    }

    fn matched_probe(&self, selector: &Selector) -> Option<MsgId> {
        let context = selector.context();
        self.at(context, named(selector), |inside, is_spread| {
            let taken = inside.engine(context).matched_probe(selector);
            if is_spread { inside.forget(taken) } else { taken }
        })
    }

    fn cancel(&self, receive: &Receive) -> bool {
        let context = receive.selector.context();
        self.at(context, named(&receive.selector), |inside, _| inside.engine(context).cancel(receive))
    }

    fn retract(&self, message: &Message) -> bool {
        let Envelope { context, source, .. } = message.envelope;
        self.at(context, Some(source), |inside, is_spread| {
            let is_done = inside.engine(context).retract(message);
            if is_done && is_spread {
                inside.stamps.remove(&message.id);
            }
            is_done
        })
    }

    fn readdress(&self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        // A message without a source is never in a spread context.
        let context = message.envelope.context;
        self.at(context, None, |inside, _| inside.engine(context).readdress(message, source))
    }

    fn set_hints(&self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        let mut all = self.lock_all();
        let home = self.home(context);
        if self.is_spread(context) {
            if !hints.no_any_source {
                return self.gather(&mut all, context, hints);
            }
            let before = all[home].hints.get(context);
            return self.hint_all(&mut all, context, before, hints);
        }
        let is_idle = all[home].engine(context).queued_in(context) == (0, 0);
        let is_vacant = self.spread(context).load(Ordering::Relaxed) == 0;
        if !(hints.no_any_source && is_idle && is_vacant) {
            all[home].hints.reserve()?;
            all[home].engine(context).set_hints(context, hints)?;
            return all[home].hints.set(context, hints);
        }
        let before = all[home].hints.get(context);
        self.hint_all(&mut all, context, before, hints)?;
        // Of an engine that was its own nothing is needed any more.
        all[home].gathered.retain(|(of, _)| *of != context);
        self.change(&mut all, context, true);
        Ok(())
    }

    fn close(&self, context: ContextId, drained: &mut Drained) {
        let mut all = self.lock_all();
        let home = self.home(context);
        all[home].hints.forget(context);
        if !self.is_spread(context) {
            all[home].engine(context).close(context, drained);
            all[home].gathered.retain(|(of, _)| *of != context);
            return;
        }
        let begin = drained.messages.len();
        for inside in all.iter_mut() {
            inside.engine.close(context, drained);
        }
        let stamp = |id: &MsgId| all.iter().find_map(|inside| inside.stamps.get(id)).copied();
        drained.messages[begin..].sort_by_cached_key(stamp);
        forget(&mut all, drained.messages[begin..].iter().copied());
        self.change(&mut all, context, false);
    }

    fn fail_source(&self, context: ContextId, source: Rank, drained: &mut Drained) {
        self.at(context, Some(source), |inside, _| {
            inside.engine(context).fail_source(context, source, drained)
        });
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        for mut inside in self.lock_all() {
            inside.engines().for_each(|engine| engine.visit(queue, each));
        }
    }

    fn posted_len(&self) -> usize {
        let of = |at| self.lock(at).engines().map(|engine| engine.posted_len()).sum::<usize>();
        (0..self.shards.len()).map(of).sum()
    }

    fn unexpected_len(&self) -> usize {
        let of = |at| self.lock(at).engines().map(|engine| engine.unexpected_len()).sum::<usize>();
        (0..self.shards.len()).map(of).sum()
    }

    fn substitute(&self) -> Option<String> {
        self.lock_all()
            .iter_mut()
            .find_map(|inside| inside.engines().find_map(|engine| engine.substitute().map(str::to_owned)))
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
        for mut inside in self.lock_all() {
            let stamps = (inside.stamps.capacity() * size_of::<(MsgId, u64)>()) as u64;
            sum.entries_bytes += stamps;
            sum.peak_bytes += stamps;
            for engine in inside.engines() {
                let of = engine.footprint();
                sum.fixed_bytes += of.fixed_bytes;
                sum.peers_bytes += of.peers_bytes;
                sum.entries_bytes += of.entries_bytes;
                sum.peak_bytes += of.peak_bytes;
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
            for places in [2, 3, 16, 64, 256] {
                let mut load = vec![0; places];
                (0..4 * places as u64).for_each(|number| load[scaled(number * distance, places)] += 1);
                let most = load.iter().max().copied().unwrap_or_default();
                assert!(
                    most <= 8,
                    "{most} of {} at a distance of {distance} have one of {places}",
                    4 * places
                );
            }
        }
    }
}
