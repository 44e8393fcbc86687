//! Partitioned matching of batches without wildcard receives.
//!
//! The outcome of a message depends on its bin only, so threads with different bins have no conflicts.
//!
//! ```text
//! caller   bin of each message ─▶ slice of its bin ─▶ partitions with similar numbers of messages
//! all      messages of a partition in the order of each bin: take the oldest match, write the outcome, deliver
//! caller   frees the receives' slots; queues unmatched messages
//! ```
//!
//! *Correctness*: all messages with one envelope are in one bin, and one thread matches this bin in order, as
//! serial matching would. Unexpected messages remain unexpected, because receives are only removed.

#![allow(unsafe_code)]

use std::mem;
use std::ops::Range;

use crate::engine::{Message, RecvId, Refused};
use crate::engines::optimistic::ExactReceives;
use crate::hashes;
use crate::linked::RemovedEntries;
use crate::sync::UnsafeCell;

use super::delivery::{BATCH, Outcomes, Piece};
use super::protocol::MESSAGES;
use super::workers::{Job, WorkerPool};

/// Slices of the bins. With more slices, partitions are more even but take more time to compute.
const SLICES: usize = 1 << u8::BITS;

/// Slices for small batches: as many messages per slice as in a full batch.
const SMALL_BATCH_SLICES: usize = SLICES / 4;

const SMALL_BATCH_MAX: usize = BATCH / 4;

/// Maximum size of the largest partition, in quarters of the mean size; two more messages are allowed.
const UNEVEN_QUARTERS: usize = 6;

/// Index of a message, and its bin, in one word: each message is written twice.
#[derive(Clone, Copy, Default)]
struct BinnedMessage(u32);

const _: () =
    assert!(BATCH.ilog2() + hashes::BITS <= u32::BITS, "one word holds the index of a message and its bin");

impl BinnedMessage {
    fn new(message: usize, bin: usize) -> Self {
        BinnedMessage((message as u32) << hashes::BITS | bin as u32)
    }

    fn message(self) -> usize {
        (self.0 >> hashes::BITS) as usize
    }

    fn bin(self) -> usize {
        (self.0 & ((1 << hashes::BITS) - 1)) as usize
    }
}

pub(super) struct PartitionPlan {
    /// `slices` has the slice of each message.
    in_arrival_order: [BinnedMessage; BATCH],
    slices: [u8; BATCH],
    /// A partition is a range of slices.
    by_slice: [BinnedMessage; BATCH],
    /// Start of each partition in `by_slice`, and the end of the last partition.
    starts: [u16; MESSAGES + 1],
}

impl PartitionPlan {
    fn new() -> Self {
        let (in_arrival_order, by_slice) =
            ([BinnedMessage::default(); BATCH], [BinnedMessage::default(); BATCH]);
        PartitionPlan { in_arrival_order, slices: [0; BATCH], by_slice, starts: [0; MESSAGES + 1] }
    }

    /// Returns false if the partitions are uneven.
    fn make(&mut self, exact: &ExactReceives<'_>, messages: &[Message], threads: usize) -> bool {
        let slices = if messages.len() > SMALL_BATCH_MAX { SLICES } else { SMALL_BATCH_SLICES };
        // The scaled number increases with the bin, so a bin is in one slice.
        let scale = ((slices as u64) << 32) / exact.bins() as u64;
        let mut of_slices = [0_u16; SLICES];
        let places = self.in_arrival_order.iter_mut().zip(&mut self.slices);
        for ((number, message), (assigned, slice)) in messages.iter().enumerate().zip(places) {
            let bin = exact.bin(&message.envelope);
            *assigned = BinnedMessage::new(number, bin);
            *slice = ((bin as u64 * scale) >> 32) as u8;
            of_slices[usize::from(*slice)] += 1;
        }
        // The middle of a slice determines its partition. The unit of `end` is half a message.
        let end = |partition: usize| {
            if partition < threads { (2 * messages.len() * partition).div_ceil(threads) } else { usize::MAX }
        };
        let (mut before, mut partition, mut partition_end) = (0, 0, end(1));
        for slice in &mut of_slices[..slices] {
            // The count becomes the index of the next message.
            let count = usize::from(mem::replace(slice, before as u16));
            while 2 * before + count >= partition_end {
                partition += 1;
                self.starts[partition] = before as u16;
                partition_end = end(partition + 1);
            }
            before += count;
        }
        self.starts[partition + 1..=threads].fill(messages.len() as u16);
        let sizes = self.starts[..=threads].windows(2).map(|ends| usize::from(ends[1] - ends[0]));
        let greatest = sizes.max().unwrap_or(0);
        if 4 * greatest > UNEVEN_QUARTERS * messages.len().div_ceil(threads) + 8 {
            return false;
        }
        for (assigned, slice) in self.in_arrival_order.iter().zip(&self.slices).take(messages.len()) {
            let next = &mut of_slices[usize::from(*slice)];
            self.by_slice[usize::from(*next) % BATCH] = *assigned;
            *next += 1;
        }
        true
    }

    fn partition(&self, partition: usize) -> &[BinnedMessage] {
        &self.by_slice[usize::from(self.starts[partition])..usize::from(self.starts[partition + 1])]
    }
}

#[derive(Clone, Copy, Default)]
struct PartitionResult {
    taken: RemovedEntries,
    written: usize,
    unmatched: usize,
}

/// Written by the partition's thread, read by the caller after the job.
#[repr(align(128))]
struct ResultCell(UnsafeCell<PartitionResult>);

// SAFETY: one cell per partition, which one thread has at a time.
unsafe impl Sync for ResultCell {}

pub(super) struct PartitionTable {
    plan: PartitionPlan,
    results: Vec<ResultCell>,
}

impl PartitionTable {
    pub(super) fn new(threads: usize) -> Result<Self, Refused> {
        let mut results = Vec::new();
        results.try_reserve_exact(threads).map_err(|_| Refused::Memory)?;
        results.extend((0..threads).map(|_| ResultCell(UnsafeCell::new(PartitionResult::default()))));
        Ok(PartitionTable { plan: PartitionPlan::new(), results })
    }

    fn results(&mut self, threads: usize) -> impl Iterator<Item = PartitionResult> {
        // SAFETY: `self` is borrowed mutably: no other thread runs a partition.
        self.results[..threads].iter().map(|result| result.0.with(|at| unsafe { *at }))
    }

    pub(super) fn taken(&mut self, threads: usize) -> impl Iterator<Item = RemovedEntries> {
        self.results(threads).map(|done| done.taken)
    }

    /// Bytes allocated, without `size_of::<Self>()`.
    pub(super) fn bytes(&self) -> u64 {
        (self.results.capacity() * size_of::<ResultCell>()) as u64
    }
}

struct PartitionedBatch<'a> {
    exact: ExactReceives<'a>,
    piece: Piece<'a>,
    table: &'a PartitionTable,
    outcomes: *mut Option<RecvId>,
}

// SAFETY: every message is in one partition, of which one thread writes the outcomes.
unsafe impl Sync for PartitionedBatch<'_> {}

/// Appends the outcomes to `out`, which must have capacity. Returns the number of unmatched messages; `None`:
/// the partitions are uneven.
pub(super) fn run(
    (workers, table): (&mut WorkerPool, &mut PartitionTable),
    exact: ExactReceives<'_>,
    piece: Piece<'_>,
    out: &mut Outcomes,
    threads: usize,
) -> Option<usize> {
    let messages = piece.messages;
    if !table.plan.make(&exact, messages, threads) {
        return None;
    }
    let spare = &mut out.spare_capacity_mut()[..messages.len()];
    let partitions = PartitionedBatch { exact, piece, outcomes: spare.as_mut_ptr().cast(), table };
    workers.run(&partitions, |assignments| {
        (1..threads).for_each(|partition| assignments.assign(&(partition..partition + 1)));
        partitions.run_parts(0..1);
    });
    let (written, unmatched) = table
        .results(threads)
        .fold((0, 0), |(written, unmatched), done| (written + done.written, unmatched + done.unmatched));
    assert_eq!(written, messages.len(), "a message is in one partition");
    // SAFETY: each message is in one partition, so all outcomes are written; the assertion checks their
    // number.
    unsafe { out.set_len(out.len() + messages.len()) };
    Some(unmatched)
}

impl Job for PartitionedBatch<'_> {
    fn run_parts(&self, partitions: Range<usize>) {
        for partition in partitions {
            self.match_partition(partition);
        }
    }
}

impl PartitionedBatch<'_> {
    fn match_partition(&self, partition: usize) {
        let assigned = self.table.plan.partition(partition);
        let mut loaded = 0;
        for message in assigned {
            // SAFETY: this thread runs this bin's partition.
            loaded ^= unsafe { self.exact.prefetch_head(message.bin()) };
        }
        std::hint::black_box(loaded);
        let mut done = PartitionResult::default();
        let Piece { messages, first, delivery } = self.piece;
        delivery.match_each(assigned.len(), |at| {
            let (message, bin) = (assigned[at].message(), assigned[at].bin());
            // SAFETY: this thread runs this bin's partition.
            let found = unsafe { self.exact.take(bin, &messages[message].envelope, &mut done.taken) };
            // SAFETY: the indexing shows that `message` is in bounds, and only this thread has it.
            unsafe { self.outcomes.add(message).write(found) };
            done.written += 1;
            done.unmatched += usize::from(found.is_none());
            Some((first + message, found?))
        });
        // SAFETY: only this thread accesses this cell.
        self.table.results[partition].0.with_mut(|at| unsafe { *at = done });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_and_bin_are_read_back() {
        for (message, bin) in [(0, 0), (BATCH - 1, (1 << hashes::BITS) - 1), (BATCH - 1, 0), (0, 5)] {
            let assigned = BinnedMessage::new(message, bin);
            assert_eq!((assigned.message(), assigned.bin()), (message, bin));
        }
    }
}
