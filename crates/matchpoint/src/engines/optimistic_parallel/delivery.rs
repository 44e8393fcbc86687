//! Pieces of a batch of messages, and delivery of matched messages.

use std::any::Any;
use std::cell::Cell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

use crate::engine::{Deliver, Message, RecvId};

pub(super) const BATCH: usize = 1024;

/// The first panic in a delivery. Other deliveries continue, so that no thread waits forever.
#[derive(Default)]
pub(super) struct Panicked(Mutex<Option<Box<dyn Any + Send>>>);

impl Panicked {
    fn store(&self, panic: Box<dyn Any + Send>) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            *first = Some(panic);
        } else {
            // Drop could panic in a thread that others wait for.
            mem::forget(panic);
        }
    }

    pub(super) fn end(self) {
        if let Some(panic) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            resume_unwind(panic);
        }
    }
}

/// Each thread has a copy, because a reference needs another cache line of the caller's core.
#[derive(Clone, Copy)]
pub(super) struct Delivery<'a> {
    deliver: Option<&'a Deliver<'a>>,
    panicked: &'a Panicked,
}

impl<'a> Delivery<'a> {
    pub(super) fn new(deliver: Option<&'a Deliver<'a>>, panicked: &'a Panicked) -> Self {
        Delivery { deliver, panicked }
    }

    pub(super) fn is_requested(&self) -> bool {
        self.deliver.is_some()
    }

    #[inline]
    pub(super) fn deliver_one(&self, number: usize, receive: RecvId) {
        self.deliver_all(number, &[Some(receive)]);
    }

    #[inline]
    pub(super) fn deliver_all(&self, first: usize, outcomes: &[Option<RecvId>]) {
        if self.is_requested() {
            self.match_each(outcomes.len(), |at| Some((first + at, outcomes[at]?)));
        }
    }

    /// Delivers each match before the next call of `matched`.
    #[inline]
    pub(super) fn match_each(
        &self,
        messages: usize,
        mut matched: impl FnMut(usize) -> Option<(usize, RecvId)>,
    ) {
        let next = Cell::new(0);
        // `catch_unwind` costs as much as a match, so the loop is inside.
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| {
            for at in next.get()..messages {
                next.set(at + 1);
                if let (Some((number, receive)), Some(deliver)) = (matched(at), self.deliver) {
                    deliver(number, receive);
                }
            }
        })) {
            self.panicked.store(panic);
        }
    }
}

/// `first` is the index of the first message in the batch.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub messages: &'a [Message],
    pub first: usize,
    pub delivery: Delivery<'a>,
}

impl<'a> Piece<'a> {
    #[inline(always)]
    pub(super) fn match_in_turn(
        self,
        outcomes: &mut [Option<RecvId>],
        mut matched: impl FnMut(&'a Message) -> Option<RecvId>,
    ) {
        self.delivery.match_each(self.messages.len(), |at| {
            outcomes[at] = matched(&self.messages[at]);
            Some((self.first + at, outcomes[at]?))
        });
    }
}

pub(super) type Outcomes = Vec<Option<RecvId>>;
