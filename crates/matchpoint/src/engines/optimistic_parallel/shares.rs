//! Batches that meet no wildcard: what a message comes to hangs on its bin only, so that bins are shared out among threads,
//! and no two threads ever meet. Not in the paper, whose threads take messages as they come, and must find out afterwards
//! who wanted the same.
//!
//! ```text
//! caller   the bin of each message ─▶ a slice of the bins for each of some neighbourhoods ─▶ shares of like many messages
//! all      the messages of one's share, those of a bin in order: the oldest receive of the bin that accepts it, which is written to
//!          where the caller of the engine reads it; its delivery
//! caller   places given back; messages left are filed, if there are any
//! ```
//!
//! *It is exact*: a receive without a wildcard accepts one envelope, whose messages are all in its bin; they come in their
//! order to one thread, which does what one thread would do. What is unexpected stays so, as receives only become fewer.

#![allow(unsafe_code)]

use std::mem;
use std::ops::Range;

use crate::chains::Taken;
use crate::engine::{Message, RecvId, Refused};
use crate::engines::optimistic::Exact;
use crate::hashes;
use crate::sync::UnsafeCell;

use super::crew::{Crew, Job};
use super::delivery::{BATCH, Outcomes, Piece};
use super::protocol::MESSAGES;

/// Slices of bins, at most: the more, the more alike shares are, and the longer it takes to share them out.
const SLICES: usize = 1 << u8::BITS;

/// So many for batches of a few messages, of which a slice has as many as one of the many has of a full batch.
const FEW_SLICES: usize = SLICES / 4;

/// Batches that are a few messages.
const FEW: usize = BATCH / 4;

/// Shares whose greatest is so much larger than they would be if all were alike, in quarters, and a message or two.
const UNEVEN_QUARTERS: usize = 6;

/// A message of a batch, by its number, and its bin: in one word, for it is written twice for each.
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

/// Who has which messages of a batch.
pub(super) struct Plan {
    /// The messages, and the slice of each, as they came.
    came: [Own; BATCH],
    slices: [u8; BATCH],
    /// Those of a slice together, in their order, slice by slice: a share is some slices.
    shared: [Own; BATCH],
    /// Where each share begins; behind the last, where it ends.
    begins: [u16; MESSAGES + 1],
}

impl Plan {
    fn new() -> Self {
        let (came, shared) = ([Own::default(); BATCH], [Own::default(); BATCH]);
        Plan { came, slices: [0; BATCH], shared, begins: [0; MESSAGES + 1] }
    }

    /// Shares out messages among so many threads, if all have about as much to do.
    fn make(&mut self, exact: &Exact<'_>, messages: &[Message], threads: usize) -> bool {
        let slices = if messages.len() > FEW { SLICES } else { FEW_SLICES };
        // A bin lies in one slice, as this grows with the bin.
        let scale = ((slices as u64) << 32) / exact.bins() as u64;
        let mut of_slices = [0_u16; SLICES];
        let places = self.came.iter_mut().zip(&mut self.slices);
        for ((number, message), (own, slice)) in messages.iter().enumerate().zip(places) {
            let bin = exact.bin(&message.envelope);
            *own = Own::new(number, bin);
            *slice = ((bin as u64 * scale) >> 32) as u8;
            of_slices[usize::from(*slice)] += 1;
        }
        // Where a slice's middle lies decides whose it is: of so many halves of messages on it is the next share's.
        let end = |share: usize| {
            if share < threads { (2 * messages.len() * share).div_ceil(threads) } else { usize::MAX }
        };
        let (mut before, mut share, mut share_end) = (0, 0, end(1));
        for slice in &mut of_slices[..slices] {
            // From how many it has to where its next one goes.
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

/// What a thread that had a share has done.
#[derive(Clone, Copy, Default)]
struct Done {
    taken: Taken,
    /// Outcomes that it has written, and those of them that are none.
    told: usize,
    left: usize,
}

/// Written by the thread that has a share, read by the caller when all are done.
#[repr(align(128))]
struct Report(UnsafeCell<Done>);

// SAFETY: there is one for each share, and the crew gives every share to one thread at a time.
unsafe impl Sync for Report {}

/// What is needed to share out a batch.
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

    /// What each of so many threads has done.
    fn done(&mut self, threads: usize) -> impl Iterator<Item = Done> {
        // SAFETY: `self` is borrowed for changes, so that nobody else has a share.
        self.reports[..threads].iter().map(|report| report.0.with(|at| unsafe { *at }))
    }

    /// What each of so many threads has taken.
    pub(super) fn taken(&mut self, threads: usize) -> impl Iterator<Item = Taken> {
        self.done(threads).map(|done| done.taken)
    }

    /// Bytes allocated, without its own.
    pub(super) fn bytes(&self) -> u64 {
        (self.reports.capacity() * size_of::<Report>()) as u64
    }
}

/// A batch that is shared out.
struct Shares<'a> {
    exact: Exact<'a>,
    piece: Piece<'a>,
    table: &'a Table,
    /// Where the caller of the engine reads them.
    outcomes: *mut Option<RecvId>,
}

// SAFETY: the plan gives every message, and with it the place of its outcome, to one share, and the crew every share to one thread.
unsafe impl Sync for Shares<'_> {}

/// Has a batch matched by so many threads, if shares are even; appends the outcomes to `out`, which has room for them. How many messages
/// found nothing.
pub(super) fn run(
    (crew, table): (&mut Crew, &mut Table),
    exact: Exact<'_>,
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
    // SAFETY: each was told once, as it is in one share, and as many were told as there are.
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
            // SAFETY: this thread has the share that this bin is in.
            near ^= unsafe { self.exact.approach(message.bin()) };
        }
        std::hint::black_box(near);
        let mut done = Done::default();
        let Piece { messages, first, delivery } = self.piece;
        delivery.each(own.len(), |at| {
            let (message, bin) = (own[at].message(), own[at].bin());
            // SAFETY: this thread has the share that this bin is in.
            let found = unsafe { self.exact.take(bin, &messages[message].envelope, &mut done.taken) };
            // SAFETY: there is room for all messages, of which this is one, by the line above; only this thread has it.
            unsafe { self.outcomes.add(message).write(found) };
            done.told += 1;
            done.left += usize::from(found.is_none());
            Some((first + message, found?))
        });
        // SAFETY: of this share.
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
