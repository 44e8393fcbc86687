//! Batches that meet no wildcard: what a message comes to hangs on its bin only, so that bins are shared out among threads,
//! and no two threads ever meet. Not in the paper, whose threads take messages as they come, and must find out afterwards
//! who wanted the same.
//!
//! ```text
//! caller   the bin of each message ─▶ a slice of the bins for each of 64 neighbourhoods ─▶ shares of like many messages
//! all      the messages of one's share, in order: the oldest receive of the bin that accepts it; its delivery
//! caller   outcomes in the order of messages; places given back; messages left are filed
//! ```
//!
//! *It is exact*: a receive without a wildcard accepts one envelope, whose messages are all in its bin; they come in their
//! order to one thread, which does what one thread would do. What is unexpected stays so, as receives only become fewer.

#![allow(unsafe_code)]

use crate::chains::Taken;
use crate::engine::{Message, RecvId, Refused};
use crate::engines::optimistic::Exact;
use crate::sync::UnsafeCell;

use std::ops::Range;

use super::BATCH;
use super::crew::Job;
use super::delivery::Delivery;

/// Neighbourhoods of bins: the finer, the more alike shares are, and the longer it takes to share them out.
const SLICES: usize = 64;

/// Outcomes of two shares are so many apart at least: two cache lines.
const APART: usize = 8;

/// Shares whose greatest is so much larger than they would be if all were alike, in quarters, and a message or two.
const UNEVEN_QUARTERS: usize = 6;

/// Who has which messages of a batch.
pub(super) struct Plan {
    bins: [u32; BATCH],
    slices: [u8; BATCH],
    /// Of each slice.
    shares: [u8; SLICES],
    /// Where the outcomes of each share begin.
    begins: [u16; SLICES],
    greatest: usize,
}

impl Plan {
    fn new() -> Self {
        Plan { bins: [0; BATCH], slices: [0; BATCH], shares: [0; SLICES], begins: [0; SLICES], greatest: 0 }
    }

    /// Shares out messages among so many threads.
    pub(super) fn make(&mut self, exact: &Exact<'_>, messages: &[Message], threads: usize) {
        let bins = exact.bins();
        // A bin lies in one slice, as this grows with the bin.
        let scale = ((SLICES as u64) << 32) / bins as u64;
        let mut counts = [0_u16; SLICES];
        for ((message, bin), slice) in messages.iter().zip(&mut self.bins).zip(&mut self.slices) {
            *bin = exact.bin(&message.envelope) as u32;
            *slice = ((u64::from(*bin) * scale) >> 32) as u8;
            counts[usize::from(*slice)] += 1;
        }
        let mut sizes = [0_usize; SLICES];
        let (mut before, total) = (0, messages.len());
        for (share, &count) in self.shares.iter_mut().zip(&counts) {
            // Where the slice's middle lies decides whose it is.
            let count = usize::from(count);
            *share = ((2 * before + count) * threads / (2 * total)).min(threads - 1) as u8;
            sizes[usize::from(*share)] += count;
            before += count;
        }
        let mut begin = 0;
        self.greatest = 0;
        for (size, begins) in sizes.iter().zip(&mut self.begins).take(threads) {
            *begins = begin as u16;
            begin += size.next_multiple_of(APART);
            self.greatest = self.greatest.max(*size);
        }
    }

    /// Whether as many threads have about as much to do.
    pub(super) fn is_even(&self, messages: usize, threads: usize) -> bool {
        4 * self.greatest <= UNEVEN_QUARTERS * messages.div_ceil(threads) + 8
    }

    fn share(&self, message: usize) -> usize {
        usize::from(self.shares[usize::from(self.slices[message])])
    }
}

/// Written by the thread that has a share, read by the caller when all are done.
struct Outcome(UnsafeCell<Option<RecvId>>);

#[repr(align(128))]
struct Gone(UnsafeCell<Taken>);

// SAFETY: the plan gives every outcome to one share, and the crew every share to one thread at a time.
unsafe impl Sync for Outcome {}
// SAFETY: there is one for each share.
unsafe impl Sync for Gone {}

/// What is needed to share out a batch.
pub(super) struct Table {
    pub(super) plan: Plan,
    outcomes: Vec<Outcome>,
    gone: Vec<Gone>,
}

impl Table {
    /// # Errors
    /// [`Refused::Memory`].
    pub(super) fn new(threads: usize) -> Result<Self, Refused> {
        let (mut outcomes, mut gone) = (Vec::new(), Vec::new());
        let places = BATCH + SLICES.min(threads) * APART;
        outcomes.try_reserve_exact(places).map_err(|_| Refused::Memory)?;
        gone.try_reserve_exact(threads).map_err(|_| Refused::Memory)?;
        outcomes.extend((0..places).map(|_| Outcome(UnsafeCell::new(None))));
        gone.extend((0..threads).map(|_| Gone(UnsafeCell::new(Taken::default()))));
        Ok(Table { plan: Plan::new(), outcomes, gone })
    }

    /// The outcomes of a batch in the order of its messages, once all shares are done.
    pub(super) fn collect(&mut self, messages: usize, out: &mut Vec<Option<RecvId>>) {
        let mut next = self.plan.begins;
        for message in 0..messages {
            let share = self.plan.share(message);
            // SAFETY: `self` is borrowed for changes, so that nobody else has a share.
            let outcome = self.outcomes[usize::from(next[share])].0.with(|at| unsafe { *at });
            next[share] += 1;
            out.push(outcome);
        }
    }

    /// What so many threads have taken.
    pub(super) fn gone(&mut self, threads: usize) -> impl Iterator<Item = Taken> {
        // SAFETY: as in `collect`.
        self.gone[..threads].iter().map(|gone| gone.0.with(|at| unsafe { *at }))
    }

    /// Bytes allocated, without its own.
    pub(super) fn bytes(&self) -> u64 {
        (self.outcomes.capacity() * size_of::<Outcome>() + self.gone.capacity() * size_of::<Gone>()) as u64
    }
}

/// A batch that is shared out.
pub(super) struct Shares<'a> {
    pub(super) exact: &'a Exact<'a>,
    pub(super) messages: &'a [Message],
    /// The number of the first message in what was handed in.
    pub(super) first: usize,
    pub(super) table: &'a Table,
    pub(super) delivery: Delivery<'a>,
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
        let plan = &self.table.plan;
        let (mut own, mut count) = ([0_u16; BATCH], 0);
        for message in 0..self.messages.len() {
            own[count] = message as u16;
            count += usize::from(plan.share(message) == share);
        }
        let own = own[..count].iter().map(|&message| usize::from(message));
        let mut near = 0;
        for message in own.clone() {
            // SAFETY: this thread has the share that this bin is in.
            near ^= unsafe { self.exact.approach(plan.bins[message] as usize) };
        }
        std::hint::black_box(near);
        let mut taken = Taken::default();
        let outcomes = &self.table.outcomes[usize::from(plan.begins[share])..];
        for (message, outcome) in own.zip(outcomes) {
            let envelope = &self.messages[message].envelope;
            // SAFETY: this thread has the share that this bin is in.
            let found = unsafe { self.exact.take(plan.bins[message] as usize, envelope, &mut taken) };
            // SAFETY: the outcomes of this share, which this thread has.
            outcome.0.with_mut(|at| unsafe { *at = found });
            if let Some(receive) = found {
                self.delivery.of(self.first + message, receive);
            }
        }
        // SAFETY: of this share.
        self.table.gone[share].0.with_mut(|at| unsafe { *at = taken });
    }
}
