//! Batches whose messages one thread matches, in order, while others deliver those that are matched. Whatever messages want,
//! there is nothing that threads could disagree about; and what is matched stays near the one who matches.
//!
//! ```text
//! caller     matches ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒, then delivers ████
//! worker 1            delivers ████████████               its messages are given to each as soon as they are matched: the
//! worker 2                      delivers ██████████       later, the fewer, so that all end together
//! worker 3                                delivers ███████
//! ```

#![allow(unsafe_code)]

use std::ops::Range;
use std::slice;
use std::time::Instant;

use crate::engine::{Message, RecvId};

use super::crew::{Crew, Job};
use super::delivery::{Delivery, Piece};
use super::protocol::MESSAGES;

/// A batch's outcomes: written where the caller of the engine reads them, and read there by who delivers.
pub(super) struct Ordered<'a> {
    outcomes: *mut Option<RecvId>,
    /// The number of the first message in what was handed in.
    first: usize,
    delivery: Delivery<'a>,
}

// SAFETY: an outcome is written by the caller before it gives it to others, who only read it.
unsafe impl Sync for Ordered<'_> {}

impl<'a> Ordered<'a> {
    /// The outcomes of a piece, to be appended to `out`, which has room for them, by [`Ordered::tell`].
    ///
    /// # Panics
    /// It has not.
    pub(super) fn new(out: &mut Vec<Option<RecvId>>, piece: Piece<'a>) -> Self {
        let room = &mut out.spare_capacity_mut()[..piece.messages.len()];
        Ordered { outcomes: room.as_mut_ptr().cast(), first: piece.first, delivery: piece.delivery }
    }

    /// What a message comes to.
    ///
    /// # Safety
    /// It is one of the piece, and was not given to others; `out` is as it was.
    pub(super) unsafe fn tell(&self, message: usize, found: Option<RecvId>) {
        // SAFETY: there is room, and nobody else looks at it.
        unsafe { self.outcomes.add(message).write(found) };
    }
}

impl Job for Ordered<'_> {
    fn take_parts(&self, messages: Range<usize>) {
        // SAFETY: they were told before they were given, and are not written again.
        let outcomes = unsafe { slice::from_raw_parts(self.outcomes.add(messages.start), messages.len()) };
        self.delivery.all(self.first + messages.start, outcomes);
    }
}

/// How much of the time delivering is: what it takes to deliver a message ÷ what it takes to match and to deliver it.
#[derive(Clone, Copy)]
pub(super) struct Balance {
    pub(super) ratio: f64,
    /// It is to be found out.
    pub(super) is_timed: bool,
}

/// Has messages matched by the calling thread, in order, and delivered by so many; appends the outcomes to `out`, which has room for
/// them. The ratio, if it was found out.
pub(super) fn run<'a>(
    crew: &mut Crew,
    piece: Piece<'a>,
    out: &mut Vec<Option<RecvId>>,
    (threads, balance): (usize, Balance),
    mut matched: impl FnMut(&'a Message) -> Option<RecvId>,
) -> Option<f64> {
    let messages = piece.messages;
    let ordered = Ordered::new(out, piece);
    let now = || balance.is_timed.then(Instant::now);
    let ratio = crew.run(&ordered, |hands| {
        let began = now();
        let (mut next, mut own) = (0, 0..0);
        for (share, end) in ends(messages.len(), threads, balance.ratio).enumerate() {
            for (number, message) in (next..end).zip(&messages[next..end]) {
                // SAFETY: it is given to others after that.
                unsafe { ordered.tell(number, matched(message)) };
            }
            own = next..end;
            if share + 1 < threads {
                hands.give(&own);
            }
            next = end;
        }
        let delivered = now();
        ordered.take_parts(own.clone());
        let each = |from: Option<Instant>, to: Option<Instant>, messages: usize| {
            Some((to? - from?).as_secs_f64() / messages.max(1) as f64)
        };
        let delivery = each(delivered, now(), own.len()).filter(|_| !own.is_empty());
        let both = each(began, delivered, messages.len()).zip(delivery);
        both.map(|(matching, delivery)| delivery / (matching + delivery).max(1e-12))
    });
    // SAFETY: the last share ends with the last message, so that all were told.
    unsafe { out.set_len(out.len() + messages.len()) };
    ratio
}

/// Where each thread's messages end, of so many messages that one thread matches: every share is `ratio` times the one before, the
/// caller's the last. If delivering a message takes `w` and matching it `m`, and `ratio` is `w ÷ (w + m)`, all end at the same time.
pub(super) fn ends(messages: usize, threads: usize, ratio: f64) -> impl Iterator<Item = usize> {
    // What is left is so many times the next share.
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
    fn who_is_given_messages_later_has_fewer() {
        assert_eq!(ends(100, 4, 1.0).collect::<Vec<_>>(), [25, 50, 75, 100]);
        // Matching takes as long as delivering.
        assert_eq!(ends(60, 4, 0.5).collect::<Vec<_>>(), [32, 48, 56, 60]);
        // Nothing is done with messages.
        assert_eq!(ends(60, 3, 0.0).collect::<Vec<_>>(), [60, 60, 60]);
        for (messages, threads, ratio) in [(1, 3, 1.0), (7, 64, 0.9), (1024, 64, 1.0), (1000, 16, 0.37)] {
            assert_eq!(ends(messages, threads, ratio).last(), Some(messages), "all are in a share");
        }
    }
}
