//! A block of messages together with the tables that it is matched with: what threads have before them.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::crew::Job;
use super::delivery::Delivery;
#[cfg(all(test, loom))]
use super::protocol::Way;
use super::protocol::{Block, Receives, Rules, Sound};
use crate::chains::Place;
use crate::engine::{Message, RecvId, Refused};
use crate::engines::optimistic::{Optimistic, Tally};
use crate::sync::Patience;
use crate::upkeep::Queues;

/// See the [module's documentation](self).
pub(super) struct Round<T: Tally, R = Sound> {
    /// The engine's own, while a block is under way; else empty ones.
    tables: Optimistic<T>,
    messages: Vec<Message>,
    block: Block<R>,
    /// Receives compared with messages of the block.
    examined: AtomicU64,
    /// Blocks committed, and their messages by the [`Way`] in which they were settled.
    blocks: u64,
    ways: [u64; 5],
    patience: Patience,
}

/// What one thread sees of a round, and how many receives it compared.
struct Search<'a, T: Tally> {
    tables: &'a Optimistic<T>,
    messages: &'a [Message],
    examined: Cell<u64>,
    /// The number of the first message in what was handed in.
    first: usize,
    delivery: Delivery<'a>,
}

impl<T: Tally> Receives for Search<'_, T> {
    fn oldest(&self, message: usize, is_free: impl Fn(Place) -> bool) -> Option<Place> {
        let mut examined = self.examined.get();
        let found = self.tables.oldest(&self.messages[message].envelope, &mut examined, is_free);
        self.examined.set(examined);
        found
    }

    fn follower(&self, at: Place) -> Option<Place> {
        self.tables.follower(at)
    }

    fn is_exact(&self, at: Place) -> bool {
        self.tables.selector(at).exact().is_some()
    }

    fn accepts(&self, at: Place, message: usize) -> bool {
        self.tables.selector(at).matches(&self.messages[message].envelope)
    }

    fn takes(&self, message: usize, at: Place) {
        if self.delivery.is_asked() {
            self.delivery.of(self.first + message, self.tables.receive(at).id);
        }
    }
}

/// A block under way.
pub(super) struct Played<'a, T: Tally> {
    pub(super) round: &'a Round<T>,
    pub(super) first: usize,
    pub(super) delivery: Delivery<'a>,
}

impl<T: Tally + Sync> Job for Played<'_, T> {
    /// Parts of a block are claimed in the block: whoever has one here claims until none is left.
    fn take_parts(&self, _: Range<usize>) {
        self.round.work(self.first, self.delivery);
    }
}

impl<T: Tally, R: Rules> Round<T, R> {
    /// Nothing is under way; `tables` stand in for the engine's. For so many threads.
    pub(super) fn new(tables: Optimistic<T>, threads: usize) -> Self {
        Round {
            tables,
            messages: Vec::new(),
            block: Block::default(),
            examined: AtomicU64::new(0),
            blocks: 0,
            ways: [0; 5],
            patience: Block::<R>::patience(threads),
        }
    }

    /// Begins a block of these messages, in so many parts, and has the engine's tables for it until
    /// [`Round::commit`].
    ///
    /// # Errors
    /// [`Refused::Memory`]: nothing has begun.
    pub(super) fn begin(
        &mut self,
        tables: &mut Optimistic<T>,
        messages: &[Message],
        parts: usize,
    ) -> Result<(), Refused> {
        self.messages.clear();
        self.messages.try_reserve(messages.len()).map_err(|_| Refused::Memory)?;
        self.block.begin(messages.len(), parts, tables.places(), self.patience)?;
        self.messages.extend_from_slice(messages);
        std::mem::swap(&mut self.tables, tables);
        Ok(())
    }

    /// Takes part in the block until no part of it is left, whose first message has that number in what was handed in.
    pub(super) fn work(&self, first: usize, delivery: Delivery<'_>) {
        let (tables, messages) = (&self.tables, &self.messages[..]);
        let search = Search { tables, messages, examined: Cell::new(0), first, delivery };
        self.block.work(&search);
        // Read by the caller once this thread has let go of the round.
        self.examined.fetch_add(search.examined.get(), Ordering::Relaxed);
    }

    /// Gives the tables back, and does there what was decided, in the order of messages; appends the outcomes to `out`.
    /// What a message comes to hangs on earlier ones only, so that all is well if it stops at one that is refused.
    ///
    /// # Errors
    /// Why a message may not wait. `out` then has grown by the number of messages before it.
    pub(super) fn commit(
        &mut self,
        tables: &mut Optimistic<T>,
        out: &mut Vec<Option<RecvId>>,
    ) -> Result<(), Refused> {
        std::mem::swap(&mut self.tables, tables);
        tables.examined(std::mem::take(self.examined.get_mut()));
        self.block.end();
        self.blocks += 1;
        for (number, &message) in self.messages.iter().enumerate() {
            let (at, way) = self.block.outcome(number);
            out.push(match at {
                Some(at) => Some(tables.take_at(&message.envelope, at)),
                None => {
                    tables.keep_unexpected(message)?;
                    None
                }
            });
            self.ways[way as usize] += 1;
        }
        Ok(())
    }

    /// The receive at a place. Before [`Round::commit`].
    #[cfg(all(test, loom))]
    pub(super) fn receive(&self, at: Place) -> RecvId {
        self.tables.receive(at).id
    }

    /// How a message was settled. Before [`Round::commit`].
    #[cfg(all(test, loom))]
    pub(super) fn outcome(&self, message: usize) -> (Option<Place>, Way) {
        self.block.outcome(message)
    }

    /// Blocks committed so far.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Their messages, by the [`Way`] in which they were settled.
    pub(super) fn ways(&self) -> [u64; 5] {
        self.ways
    }

    /// Bytes allocated. Never fewer than before.
    pub(super) fn bytes(&self) -> u64 {
        self.block.bytes() + (self.messages.capacity() * size_of::<Message>()) as u64
    }
}
