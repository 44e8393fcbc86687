//! What becomes of our operations on the core.

use crate::abi::{Addr, CqErrEntry, CqTaggedEntry, errno};
use crate::layered::FrontEnd;
use crate::layered::operation::{INQUIRY, Kind, Operation, Stage, WHOLE};
use crate::layered::transfer::not_canceled;

impl FrontEnd {
    /// What an operation was to send cannot be: so what it is for fails.
    pub(super) fn undeliverable(&mut self, operation: *mut Operation, error: i32) {
        let error = not_canceled(error);
        // SAFETY: an operation that the core is done with, or never had.
        let (kind, of, to, flags) =
            unsafe { ((*operation).kind, (*operation).of, (*operation).destination(), (*operation).flags) };
        if kind == Kind::Send {
            self.sent(operation, error);
        } else {
            // An announcement is of a send, a request of a receive's data.
            match self.arena().find(of) {
                Some((Kind::Send, send)) => self.sent(send, error),
                Some((Kind::Data, data)) => self.abandoned(data, error),
                _ => {}
            }
            self.done(operation);
        }
        if kind == Kind::Control && flags & INQUIRY != 0 {
            self.inquiry_failed(to, error);
        } else {
            self.peer_may_be_gone(to);
        }
    }

    /// The core has completed one of our operations.
    ///
    /// # Safety
    /// `done.op_context` is one of our operations.
    pub unsafe fn completed(&mut self, done: &CqTaggedEntry, source: Addr) {
        let operation = done.op_context.cast::<Operation>();
        // SAFETY: the caller's.
        match unsafe { (*operation).kind } {
            Kind::Bounce => {
                // SAFETY: the core has put a message there.
                unsafe { self.arrived(operation, done, source) };
                self.post_buffer(operation);
            }
            Kind::Request => {
                // SAFETY: as above.
                unsafe { self.requested(operation, done.len) };
                self.post_buffer(operation);
            }
            Kind::Control => self.control_sent(operation),
            Kind::Send => self.sent(operation, 0),
            Kind::Data => self.received(operation, 0),
            Kind::Free => debug_assert!(false, "an operation completes once"),
        }
    }

    /// One of our operations has failed.
    ///
    /// # Safety
    /// `failed.op_context` is one of our operations.
    pub unsafe fn failed(&mut self, failed: &CqErrEntry) {
        let operation = failed.op_context.cast::<Operation>();
        // SAFETY: the caller's.
        match unsafe { (*operation).kind } {
            Kind::Bounce | Kind::Request if failed.err == errno::ECANCELED => {}
            Kind::Bounce => {
                // A message that does not fit, say: of another eager size than ours.
                self.lose(failed.tag, failed.len, failed.err);
                self.post_buffer(operation);
            }
            Kind::Request => self.post_buffer(operation),
            Kind::Control | Kind::Send => self.undeliverable(operation, failed.err),
            Kind::Data => self.received(operation, failed.err),
            Kind::Free => debug_assert!(false, "an operation completes once"),
        }
    }

    /// A control message is on its way; if the application's message was in it, its send is complete, else an answer is owed.
    fn control_sent(&mut self, control: *mut Operation) {
        // SAFETY: an operation that has come to its end.
        let (of, flags) = unsafe { ((*control).of, (*control).flags) };
        if let Some((Kind::Send, send)) = self.arena().find(of) {
            // SAFETY: just found.
            let stage = unsafe { &mut (*send).stage };
            if flags & WHOLE != 0 {
                self.sent(send, 0);
            } else if *stage == Stage::Announcing {
                *stage = Stage::Awaiting;
            }
        }
        self.done(control);
    }

    /// An operation has come to its end.
    pub(super) fn done(&mut self, operation: *mut Operation) {
        // SAFETY: the core has completed it.
        unsafe { self.arena().give_back(operation) };
    }
}
