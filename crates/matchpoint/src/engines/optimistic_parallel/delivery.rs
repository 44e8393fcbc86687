//! What is done with messages that have found their receive, by whichever thread matched them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

use crate::engine::{Deliver, RecvId};

/// A batch's deliveries. See the [module's documentation](self).
pub(super) struct Delivery<'a> {
    deliver: Option<&'a Deliver<'a>>,
    /// What the first one panicked with: others go on, so that nobody waits for the one that did.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'a> Delivery<'a> {
    pub(super) fn new(deliver: Option<&'a Deliver<'a>>) -> Self {
        Delivery { deliver, panic: Mutex::new(None) }
    }

    /// Whether there is anything to do.
    pub(super) fn is_asked(&self) -> bool {
        self.deliver.is_some()
    }

    /// The message of that number has found its receive.
    #[inline]
    pub(super) fn of(&self, number: usize, receive: RecvId) {
        let Some(deliver) = self.deliver else { return };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| deliver(number, receive))) {
            *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        }
    }

    /// Panics if one of them did.
    pub(super) fn end(self) {
        if let Some(panic) = self.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
            resume_unwind(panic);
        }
    }
}
