//! Pipelined matching: one thread matches a batch in order, while other threads deliver matched messages.
//!
//! ```text
//! caller     matches ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒, then delivers ████
//! worker 1            delivers ████████████               each worker gets its messages as soon as they are matched;
//! worker 2                      delivers ██████████       later workers get fewer messages, so that all end together
//! worker 3                                delivers ███████
//! ```

#![allow(unsafe_code)]

use std::ops::Range;
use std::slice;
use std::time::Instant;

use crate::engine::{Message, RecvId};

use super::delivery::{Delivery, Piece};
use super::protocol::MESSAGES;
use super::workers::{Job, WorkerPool};

pub(super) struct Ordered<'a> {
    outcomes: *mut Option<RecvId>,
    /// Index of the piece's first message in the batch.
    first: usize,
    delivery: Delivery<'a>,
}

// SAFETY: an outcome is written before its message is assigned to a thread, and threads only read outcomes.
unsafe impl Sync for Ordered<'_> {}

impl<'a> Ordered<'a> {
    /// Outcomes are written behind the end of `out`.
    ///
    /// # Panics
    /// If `out` lacks capacity for the piece.
    pub(super) fn new(out: &mut Vec<Option<RecvId>>, piece: Piece<'a>) -> Self {
        let spare = &mut out.spare_capacity_mut()[..piece.messages.len()];
        Ordered { outcomes: spare.as_mut_ptr().cast(), first: piece.first, delivery: piece.delivery }
    }

    /// # Safety
    /// The message is part of the piece and not assigned to a worker; `out` is unchanged.
    pub(super) unsafe fn set_outcome(&self, message: usize, found: Option<RecvId>) {
        // SAFETY: in bounds, and no other thread accesses this outcome.
        unsafe { self.outcomes.add(message).write(found) };
    }
}

impl Job for Ordered<'_> {
    fn run_parts(&self, messages: Range<usize>) {
        // SAFETY: written before the assignment, and not again.
        let outcomes = unsafe { slice::from_raw_parts(self.outcomes.add(messages.start), messages.len()) };
        self.delivery.deliver_all(self.first + messages.start, outcomes);
    }
}

#[derive(Clone, Copy)]
pub(super) struct Balance {
    /// Delivery time of a message ÷ time of matching and delivery.
    pub(super) ratio: f64,
    pub(super) is_timed: bool,
}

/// Appends the outcomes to `out`, which must have capacity. Returns [`Balance::ratio`], if measured.
pub(super) fn run<'a>(
    workers: &mut WorkerPool,
    piece: Piece<'a>,
    out: &mut Vec<Option<RecvId>>,
    (threads, balance): (usize, Balance),
    mut matched: impl FnMut(&'a Message) -> Option<RecvId>,
) -> Option<f64> {
    let messages = piece.messages;
    let ordered = Ordered::new(out, piece);
    let now = || balance.is_timed.then(Instant::now);
    let ratio = workers.run(&ordered, |assignments| {
        let began = now();
        let (mut next, mut remaining) = (0, 0..0);
        for (share, end) in part_ends(messages.len(), threads, balance.ratio).enumerate() {
            for (number, message) in (next..end).zip(&messages[next..end]) {
                // SAFETY: the message is assigned only after this write.
                unsafe { ordered.set_outcome(number, matched(message)) };
            }
            remaining = next..end;
            if share + 1 < threads {
                assignments.assign(&remaining);
            }
            next = end;
        }
        let delivered = now();
        ordered.run_parts(remaining.clone());
        let each = |from: Option<Instant>, to: Option<Instant>, messages: usize| {
            Some((to? - from?).as_secs_f64() / messages.max(1) as f64)
        };
        let delivery = each(delivered, now(), remaining.len()).filter(|_| !remaining.is_empty());
        let both = each(began, delivered, messages.len()).zip(delivery);
        both.map(|(matching, delivery)| delivery / (matching + delivery).max(1e-12))
    });
    // SAFETY: the last part ends with the last message, so all outcomes are written.
    unsafe { out.set_len(out.len() + messages.len()) };
    ratio
}

/// The end of each thread's messages. Each part is `ratio` times the previous part; the calling thread
/// delivers the last part. So all threads end at the same time.
pub(super) fn part_ends(messages: usize, threads: usize, ratio: f64) -> impl Iterator<Item = usize> {
    // Remaining messages ÷ messages of the next part.
    let mut times = [1.0; MESSAGES];
    for left in 1..threads {
        times[left] = 1.0 + ratio * times[left - 1];
    }
    let mut end = 0;
    times.into_iter().take(threads).rev().map(move |times| {
        end += ((messages - end) as f64 / times).round() as usize;
        end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_workers_get_fewer_messages() {
        assert_eq!(part_ends(100, 4, 1.0).collect::<Vec<_>>(), [25, 50, 75, 100]);
        // Matching takes as long as delivery.
        assert_eq!(part_ends(60, 4, 0.5).collect::<Vec<_>>(), [32, 48, 56, 60]);
        // Delivery takes no time.
        assert_eq!(part_ends(60, 3, 0.0).collect::<Vec<_>>(), [60, 60, 60]);
        for (messages, threads, ratio) in [(1, 3, 1.0), (7, 64, 0.9), (1024, 64, 1.0), (1000, 16, 0.37)] {
            assert_eq!(
                part_ends(messages, threads, ratio).last(),
                Some(messages),
                "the last end is the number of messages"
            );
        }
    }
}
