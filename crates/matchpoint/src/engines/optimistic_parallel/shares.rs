//! Partitioned matching of batches without wildcard receives.
//!
//! The outcome of a message depends on the entries of its bin only. Bins are partitioned among threads, so
//! threads have no conflicts. Not in the paper, in which threads take messages in any order and resolve
//! conflicts later.
//!
//! ```text
//! caller   bin of each message ─▶ slice of its bin ─▶ partitions with similar numbers of messages
//! all      messages of a partition in the order of each bin: take the oldest match, write the outcome, deliver
//! caller   frees the receives' slots; queues unmatched messages
//! ```
//!
//! *Correctness*: a receive without a wildcard matches one envelope, whose messages are all in one bin, and
//! reach one thread in order. That thread does the same as serial matching. Unexpected messages remain
//! unexpected, because receives are only removed.

#![allow(unsafe_code)]

use std::mem;
use std::ops::Range;

use crate::linked::RemovedEntries;
use crate::engine::{Message, RecvId, Refused};
use crate::engines::optimistic::ExactReceives;
use crate::hashes;
use crate::sync::UnsafeCell;

use super::crew::{Crew, Job};
use super::delivery::{BATCH, Outcomes, Piece};
use super::protocol::MESSAGES;

/// Maximum number of slices of the bins. More slices give more even partitions, but take more time.
const SLICES: usize = 1 << u8::BITS;

/// Slices of small batches; as many messages per slice as in a full batch.
const FEW_SLICES: usize = SLICES / 4;

/// Size limit of a small batch.
const FEW: usize = BATCH / 4;

/// Maximum size of the largest partition, in quarters of the mean, plus two messages.
const UNEVEN_QUARTERS: usize = 6;

/// Index of a message in its batch and its bin, in one word, because it is written twice.
#[derive(Clone, Copy, Default)]
struct Own(u32);

const _: () = assert!(BATCH.ilog2() + hashes::BITS <= u32::BITS, "there is room for both");

impl Own {
    fn new(message: usize, bin: usize) -> Self {
        Own((message as u32) << hashes::BITS | bin as u32)
    }

    fn message(self) -> usize {
        (self.0 >> hashes::BITS) as usize
    }

    fn bin(self) -> usize {
        (self.0 & ((1 << hashes::BITS) - 1)) as usize
    }
}

/// Partitions of a batch.
pub(super) struct Plan {
    /// Messages and their slices, in order of arrival.
    came: [Own; BATCH],
    slices: [u8; BATCH],
    /// Messages by slice; a partition is a range of slices.
    shared: [Own; BATCH],
    /// Start of each partition, and the end of the last.
    begins: [u16; MESSAGES + 1],
}

impl Plan {
    fn new() -> Self {
        let (came, shared) = ([Own::default(); BATCH], [Own::default(); BATCH]);
        Plan { came, slices: [0; BATCH], shared, begins: [0; MESSAGES + 1] }
    }

    /// Partitions messages among `threads` threads. Returns false if the partitions are uneven.
    fn make(&mut self, exact: &ExactReceives<'_>, messages: &[Message], threads: usize) -> bool {
        let slices = if messages.len() > FEW { SLICES } else { FEW_SLICES };
        // Increases with the bin, so a bin is in one slice.
        let scale = ((slices as u64) << 32) / exact.bins() as u64;
        let mut of_slices = [0_u16; SLICES];
        let places = self.came.iter_mut().zip(&mut self.slices);
        for ((number, message), (own, slice)) in messages.iter().enumerate().zip(places) {
            let bin = exact.bin(&message.envelope);
            *own = Own::new(number, bin);
            *slice = ((bin as u64 * scale) >> 32) as u8;
            of_slices[usize::from(*slice)] += 1;
        }
        // The middle of a slice determines its partition. The end of a partition, in half messages.
        let end = |share: usize| {
            if share < threads { (2 * messages.len() * share).div_ceil(threads) } else { usize::MAX }
        };
        let (mut before, mut share, mut share_end) = (0, 0, end(1));
        for slice in &mut of_slices[..slices] {
            // Replaces the count of a slice by the index of its next message.
            let count = usize::from(mem::replace(slice, before as u16));
            while 2 * before + count >= share_end {
                share += 1;
                self.begins[share] = before as u16;
                share_end = end(share + 1);
            }
            before += count;
        }
        self.begins[share + 1..=threads].fill(messages.len() as u16);
        let sizes = self.begins[..=threads].windows(2).map(|ends| usize::from(ends[1] - ends[0]));
        let greatest = sizes.max().unwrap_or(0);
        if 4 * greatest > UNEVEN_QUARTERS * messages.len().div_ceil(threads) + 8 {
            return false;
        }
        for (own, slice) in self.came.iter().zip(&self.slices).take(messages.len()) {
            let next = &mut of_slices[usize::from(*slice)];
            self.shared[usize::from(*next) % BATCH] = *own;
            *next += 1;
        }
        true
    }

    fn share(&self, share: usize) -> &[Own] {
        &self.shared[usize::from(self.begins[share])..usize::from(self.begins[share + 1])]
    }
}

/// Results of a partition.
#[derive(Clone, Copy, Default)]
struct Done {
    taken: RemovedEntries,
    /// Written outcomes, and unmatched messages.
    told: usize,
    left: usize,
}

/// Written by the thread of the partition, read by the caller after the job.
#[repr(align(128))]
struct Report(UnsafeCell<Done>);

// SAFETY: one per partition, and a partition is assigned to one thread at a time.
unsafe impl Sync for Report {}

/// Buffers for partitioned batches.
pub(super) struct Table {
    plan: Plan,
    reports: Vec<Report>,
}

impl Table {
    /// # Errors
    /// [`Refused::Memory`].
    pub(super) fn new(threads: usize) -> Result<Self, Refused> {
        let mut reports = Vec::new();
        reports.try_reserve_exact(threads).map_err(|_| Refused::Memory)?;
        reports.extend((0..threads).map(|_| Report(UnsafeCell::new(Done::default()))));
        Ok(Table { plan: Plan::new(), reports })
    }

    /// Results of all threads.
    fn done(&mut self, threads: usize) -> impl Iterator<Item = Done> {
        // SAFETY: `self` is borrowed mutably, so no other thread has a partition.
        self.reports[..threads].iter().map(|report| report.0.with(|at| unsafe { *at }))
    }

    /// Receives taken by each thread.
    pub(super) fn taken(&mut self, threads: usize) -> impl Iterator<Item = RemovedEntries> {
        self.done(threads).map(|done| done.taken)
    }

    /// Bytes allocated, without `size_of::<Self>()`.
    pub(super) fn bytes(&self) -> u64 {
        (self.reports.capacity() * size_of::<Report>()) as u64
    }
}

/// A partitioned batch.
struct Shares<'a> {
    exact: ExactReceives<'a>,
    piece: Piece<'a>,
    table: &'a Table,
    /// Result vector of the engine's caller.
    outcomes: *mut Option<RecvId>,
}

// SAFETY: every message, and so its outcome, is in one partition, which one thread runs.
unsafe impl Sync for Shares<'_> {}

/// Matches a batch with `threads` threads. Appends the outcomes to `out`, which has the capacity. Returns the
/// number of unmatched messages, or `None` if the partitions are uneven.
pub(super) fn run(
    (crew, table): (&mut Crew, &mut Table),
    exact: ExactReceives<'_>,
    piece: Piece<'_>,
    out: &mut Outcomes,
    threads: usize,
) -> Option<usize> {
    let messages = piece.messages;
    if !table.plan.make(&exact, messages, threads) {
        return None;
    }
    let room = &mut out.spare_capacity_mut()[..messages.len()];
    let shares = Shares { exact, piece, outcomes: room.as_mut_ptr().cast(), table };
    crew.run(&shares, |hands| {
        (1..threads).for_each(|share| hands.give(&(share..share + 1)));
        shares.take_parts(0..1);
    });
    let (told, left) =
        table.done(threads).fold((0, 0), |(told, left), done| (told + done.told, left + done.left));
    assert_eq!(told, messages.len(), "a message is in one share");
    // SAFETY: each message is in one partition, so all outcomes are written once; the assertion checks their
    // number.
    unsafe { out.set_len(out.len() + messages.len()) };
    Some(left)
}

impl Job for Shares<'_> {
    fn take_parts(&self, shares: Range<usize>) {
        for share in shares {
            self.match_share(share);
        }
    }
}

impl Shares<'_> {
    fn match_share(&self, share: usize) {
        let own = self.table.plan.share(share);
        let mut near = 0;
        for message in own {
            // SAFETY: this thread runs the partition of this bin.
            near ^= unsafe { self.exact.prefetch_head(message.bin()) };
        }
        std::hint::black_box(near);
        let mut done = Done::default();
        let Piece { messages, first, delivery } = self.piece;
        delivery.each(own.len(), |at| {
            let (message, bin) = (own[at].message(), own[at].bin());
            // SAFETY: this thread runs the partition of this bin.
            let found = unsafe { self.exact.take(bin, &messages[message].envelope, &mut done.taken) };
            // SAFETY: in bounds by the indexing above; only this thread has this message.
            unsafe { self.outcomes.add(message).write(found) };
            done.told += 1;
            done.left += usize::from(found.is_none());
            Some((first + message, found?))
        });
        // SAFETY: the cell of this partition.
        self.table.reports[share].0.with_mut(|at| unsafe { *at = done });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_and_bin_are_read_back() {
        for (message, bin) in [(0, 0), (BATCH - 1, (1 << hashes::BITS) - 1), (BATCH - 1, 0), (0, 5)] {
            let own = Own::new(message, bin);
            assert_eq!((own.message(), own.bin()), (message, bin));
        }
    }
}
