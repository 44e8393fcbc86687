//! Messages handed in together, and what is done with those that have found their receive, by whichever thread matched them.

use std::any::Any;
use std::cell::Cell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

use crate::engine::{Deliver, Message, RecvId};

/// Messages matched at once, at most.
pub(super) const BATCH: usize = 1024;

/// What the first delivery that panicked did so with: others go on, so that nobody waits for the one that did.
#[derive(Default)]
pub(super) struct Panicked(Mutex<Option<Box<dyn Any + Send>>>);

impl Panicked {
    /// A delivery panicked with this.
    fn note(&self, panic: Box<dyn Any + Send>) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            *first = Some(panic);
        } else {
            // Its destructor may panic, in a thread that others wait for.
            mem::forget(panic);
        }
    }

    /// Panics if one of them did.
    pub(super) fn end(self) {
        if let Some(panic) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            resume_unwind(panic);
        }
    }
}

/// A batch's deliveries. See the [module's documentation](self). Whoever needs it has a copy: a thread that would have to follow a
/// reference to it waits for another line from the caller's core.
#[derive(Clone, Copy)]
pub(super) struct Delivery<'a> {
    deliver: Option<&'a Deliver<'a>>,
    panicked: &'a Panicked,
}

impl<'a> Delivery<'a> {
    pub(super) fn new(deliver: Option<&'a Deliver<'a>>, panicked: &'a Panicked) -> Self {
        Delivery { deliver, panicked }
    }

    /// Whether there is anything to do.
    pub(super) fn is_asked(&self) -> bool {
        self.deliver.is_some()
    }

    /// The message of that number has found its receive.
    #[inline]
    pub(super) fn of(&self, number: usize, receive: RecvId) {
        self.all(number, &[Some(receive)]);
    }

    /// These are the outcomes of messages, the first of which has that number.
    #[inline]
    pub(super) fn all(&self, first: usize, outcomes: &[Option<RecvId>]) {
        if self.is_asked() {
            self.each(outcomes.len(), |at| Some((first + at, outcomes[at]?)));
        }
    }

    /// Has each of so many messages matched, in turn, and delivers it before the next: `matched` is told which of them, and gives its
    /// number and its receive.
    #[inline]
    pub(super) fn each(&self, messages: usize, mut matched: impl FnMut(usize) -> Option<(usize, RecvId)>) {
        let next = Cell::new(0);
        // To catch costs as much as to match a message may: once, unless there is something to be caught.
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| {
            for at in next.get()..messages {
                next.set(at + 1);
                if let (Some((number, receive)), Some(deliver)) = (matched(at), self.deliver) {
                    deliver(number, receive);
                }
            }
        })) {
            self.panicked.note(panic);
        }
    }
}

/// Messages handed in together, the first of which has a number in the batch.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub messages: &'a [Message],
    pub first: usize,
    pub delivery: Delivery<'a>,
}

impl<'a> Piece<'a> {
    /// Has messages matched one after the other, each delivered before the next.
    #[inline(always)]
    pub(super) fn in_turn(
        self,
        outcomes: &mut [Option<RecvId>],
        mut matched: impl FnMut(&'a Message) -> Option<RecvId>,
    ) {
        self.delivery.each(self.messages.len(), |at| {
            outcomes[at] = matched(&self.messages[at]);
            Some((self.first + at, outcomes[at]?))
        });
    }
}

pub(super) type Outcomes = Vec<Option<RecvId>>;
