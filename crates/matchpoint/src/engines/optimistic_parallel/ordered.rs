//! Batches whose messages one thread matches, in order, while others deliver those that are matched: where messages want the
//! same receives, so that there is nothing to do at once but what comes after.

#![allow(unsafe_code)]

use crate::engine::RecvId;
use crate::sync::{AtomicUsize, Ordering, Patience, UnsafeCell, wait_until};

use super::crew::Job;
use super::delivery::Delivery;
use super::shares::BATCH;

/// Deliveries claimed at once: what is said between threads is said once for so many.
const CHUNK: usize = 4;

/// Above the number of outcomes: there will be no more.
const ENDED: usize = 1 << (usize::BITS - 1);

/// So often a thread looks for the next outcomes before it lets others run.
const LOOKS: u32 = 1000;

/// An outcome; written once, before `ready` counts it.
struct Outcome(UnsafeCell<Option<RecvId>>);

// SAFETY: written by the caller only, before it is counted, and read by others after.
unsafe impl Sync for Outcome {}

/// A batch's outcomes on their way from who matches to who delivers.
pub(super) struct Ordered<'a> {
    outcomes: [Outcome; BATCH],
    /// Outcomes there are, and [`ENDED`].
    ready: AtomicUsize,
    /// Outcomes claimed.
    claimed: AtomicUsize,
    /// The number of the first message in what was handed in.
    first: usize,
    delivery: &'a Delivery<'a>,
    patience: Patience,
}

impl<'a> Ordered<'a> {
    pub(super) fn new(first: usize, delivery: &'a Delivery<'a>, threads: usize) -> Self {
        Ordered {
            outcomes: std::array::from_fn(|_| Outcome(UnsafeCell::new(None))),
            ready: AtomicUsize::new(0),
            claimed: AtomicUsize::new(0),
            first,
            delivery,
            patience: Patience::of(threads, LOOKS),
        }
    }

    /// Claims made for so many messages: one for each chunk, and one in vain for each thread.
    pub(super) fn claims(messages: usize, threads: usize) -> u64 {
        (messages.div_ceil(CHUNK) + threads) as u64
    }

    /// What a message comes to; messages are told of in order, by one thread.
    pub(super) fn tell(&self, message: usize, found: Option<RecvId>) {
        // SAFETY: not counted yet, so that nobody looks at it.
        self.outcomes[message].0.with_mut(|at| unsafe { *at = found });
        if message % CHUNK == CHUNK - 1 {
            // Pairs with the acquire in `take_part`.
            self.ready.store(message + 1, Ordering::Release);
        }
    }

    /// So many were told of, and no more will be.
    pub(super) fn end(&self, messages: usize) {
        // Pairs with the acquire in `take_part`.
        self.ready.store(messages | ENDED, Ordering::Release);
    }
}

impl Job for Ordered<'_> {
    fn take_part(&self, _: usize) {
        loop {
            // Nothing hangs on who sees it when: each chunk goes to one.
            let begin = self.claimed.fetch_add(CHUNK, Ordering::Relaxed);
            let mut ready = 0;
            wait_until(self.patience, || {
                // Pairs with the releases in `tell` and `end`.
                ready = self.ready.load(Ordering::Acquire);
                ready & ENDED != 0 || ready >= begin + CHUNK
            });
            let ready = ready & !ENDED;
            if begin >= ready {
                return;
            }
            for message in begin..ready.min(begin + CHUNK) {
                // SAFETY: it is counted, and will not be written again.
                if let Some(receive) = self.outcomes[message].0.with(|at| unsafe { *at }) {
                    self.delivery.of(self.first + message, receive);
                }
            }
        }
    }
}
