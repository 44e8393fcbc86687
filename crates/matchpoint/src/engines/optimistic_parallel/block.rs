//! A block of messages that all threads match in the engine's tables.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::delivery::Delivery;
#[cfg(all(test, loom))]
use super::protocol::Resolution;
use super::protocol::{Block, FullProtocol, ProtocolSteps, Receives};
use super::workers::Job;
use crate::engine::{Message, RecvId, Refused};
use crate::engines::optimistic::{Optimistic, Tally};
use crate::linked::SlotIndex;
use crate::maintenance::Queues;
use crate::sync::PollLimit;

pub(super) struct BlockMatcher<T: Tally, R = FullProtocol> {
    /// The engine's tables during a block; empty tables at other times.
    tables: Optimistic<T>,
    messages: Vec<Message>,
    block: Block<R>,
    examined: AtomicU64,
    /// Committed blocks, and their messages by `Resolution`.
    blocks: u64,
    resolutions: [u64; 5],
    poll_limit: PollLimit,
}

struct Search<'a, T: Tally> {
    tables: &'a Optimistic<T>,
    messages: &'a [Message],
    examined: Cell<u64>,
    /// Index of the block's first message in the batch.
    first: usize,
    delivery: Delivery<'a>,
}

impl<T: Tally> Receives for Search<'_, T> {
    fn find_oldest(&self, message: usize, is_free: impl Fn(SlotIndex) -> bool) -> Option<SlotIndex> {
        let mut examined = self.examined.get();
        let found = self.tables.find_oldest(&self.messages[message].envelope, &mut examined, is_free);
        self.examined.set(examined);
        found
    }

    fn next_in_run(&self, at: SlotIndex) -> Option<SlotIndex> {
        self.tables.next_in_run(at)
    }

    fn is_exact(&self, at: SlotIndex) -> bool {
        self.tables.selector(at).exact().is_some()
    }

    fn matches(&self, at: SlotIndex, message: usize) -> bool {
        self.tables.selector(at).matches(&self.messages[message].envelope)
    }

    fn report_match(&self, message: usize, at: SlotIndex) {
        if self.delivery.is_requested() {
            self.delivery.deliver_one(self.first + message, self.tables.receive(at).id);
        }
    }
}

pub(super) struct RunningBlock<'a, T: Tally> {
    pub(super) block_matcher: &'a BlockMatcher<T>,
    pub(super) first: usize,
    pub(super) delivery: Delivery<'a>,
}

impl<T: Tally + Sync> Job for RunningBlock<'_, T> {
    /// Threads claim parts of the block itself.
    fn run_parts(&self, _: Range<usize>) {
        self.block_matcher.run_all_parts(self.first, self.delivery);
    }
}

impl<T: Tally, R: ProtocolSteps> BlockMatcher<T, R> {
    pub(super) fn new(tables: Optimistic<T>, threads: usize) -> Self {
        BlockMatcher {
            tables,
            messages: Vec::new(),
            block: Block::default(),
            examined: AtomicU64::new(0),
            blocks: 0,
            resolutions: [0; 5],
            poll_limit: Block::<R>::poll_limit(threads),
        }
    }

    /// Takes the tables of the engine until [`BlockMatcher::commit`].
    pub(super) fn begin(
        &mut self,
        tables: &mut Optimistic<T>,
        messages: &[Message],
        parts: usize,
    ) -> Result<(), Refused> {
        self.messages.clear();
        self.messages.try_reserve(messages.len()).map_err(|_| Refused::Memory)?;
        self.block.begin(messages.len(), parts, tables.slot_count(), self.poll_limit)?;
        self.messages.extend_from_slice(messages);
        std::mem::swap(&mut self.tables, tables);
        Ok(())
    }

    pub(super) fn run_all_parts(&self, first: usize, delivery: Delivery<'_>) {
        let (tables, messages) = (&self.tables, &self.messages[..]);
        let search = Search { tables, messages, examined: Cell::new(0), first, delivery };
        self.block.run_all_parts(&search);
        // The caller reads `examined` after the job.
        self.examined.fetch_add(search.examined.get(), Ordering::Relaxed);
    }

    /// Applies the decisions in message order, up to a refused message: an outcome depends on earlier
    /// messages only.
    ///
    /// # Errors
    /// The error of the first refused message. `out` has the outcomes of the messages before it.
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
            let (at, resolution) = self.block.outcome(number);
            out.push(match at {
                Some(at) => Some(tables.take_receive_at(&message.envelope, at)),
                None => {
                    tables.insert_unexpected(message)?;
                    None
                }
            });
            self.resolutions[resolution as usize] += 1;
        }
        Ok(())
    }

    #[cfg(all(test, loom))]
    pub(super) fn receive(&self, at: SlotIndex) -> RecvId {
        self.tables.receive(at).id
    }

    #[cfg(all(test, loom))]
    pub(super) fn outcome(&self, message: usize) -> (Option<SlotIndex>, Resolution) {
        self.block.outcome(message)
    }

    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    pub(super) fn resolutions(&self) -> [u64; 5] {
        self.resolutions
    }

    pub(super) fn bytes(&self) -> u64 {
        self.block.bytes() + (self.messages.capacity() * size_of::<Message>()) as u64
    }
}
