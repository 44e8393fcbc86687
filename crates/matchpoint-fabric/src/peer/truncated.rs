//! Messages that are longer than their receives.
//!
//! Some core providers crash when they deliver such a message (shm of libfabric 2.5, from 1000 bytes on). The owner of the queue
//! knows both lengths first. So the core delivers the message into a separate buffer, with a separate context. When the
//! application reads the completion, the owner copies the part that fits, and returns the error `FI_ETRUNC` instead.

use std::ffi::c_void;
use std::ptr;

use libc::iovec;

use crate::abi::{CqTaggedEntry, errno, flags};
use crate::completion::Completion;
use crate::peer::entry::Entry;
use crate::peer::owner::Owner;
use crate::queue::Queue;

/// Bytes of a `struct fi_context2`: the core may write to the beginning of a context.
const CONTEXT: usize = 64;

/// A receive with a message that is longer than its buffers.
pub struct Truncated {
    /// The context of the core, which does not move.
    core: Box<[u8; CONTEXT]>,
    /// Of the application.
    context: *mut c_void,
    buffers: Vec<iovec>,
    /// Where the core delivers the message.
    whole: Vec<u8>,
}

impl Truncated {
    /// The context under which the core completes the receive.
    pub fn core_context(&self) -> *mut c_void {
        self.core.as_ptr().cast_mut().cast()
    }

    /// Of the application.
    pub fn context(&self) -> *mut c_void {
        self.context
    }

    /// The core has delivered the message: copies what fits, and returns the error for the application.
    ///
    /// # Safety
    /// The buffers of the receive are still the application's, and the core has filled `whole`.
    pub unsafe fn finish(mut self, done: &CqTaggedEntry) -> Completion {
        let delivered = done.len.min(self.whole.capacity());
        let mut at = 0;
        for part in &self.buffers {
            let bytes = part.iov_len.min(delivered - at);
            // SAFETY: the caller's; `at + bytes` is within what the core has delivered.
            unsafe { ptr::copy_nonoverlapping(self.whole.as_mut_ptr().add(at), part.iov_base.cast(), bytes) };
            at += bytes;
        }
        let mut completion = Completion::new(self.context, done.flags);
        let buf = self.buffers.first().map_or(ptr::null_mut(), |part| part.iov_base);
        completion.entry = CqTaggedEntry { op_context: self.context, len: at, buf, ..*done };
        completion.error = errno::ETRUNC;
        completion.left_out = delivered - at;
        completion
    }
}

impl Owner {
    /// The message of this entry has `bytes` bytes. If its receive holds fewer, the core delivers it to a separate buffer.
    ///
    /// A message of unknown length, or one for registered buffers, is left to the core; so is one for which there is no memory.
    #[inline]
    pub(crate) fn make_room(&mut self, entry: *mut Entry, bytes: usize) {
        // SAFETY: the entry was matched, so it is in no queue, and the core does not have it yet.
        let entry = unsafe { &mut *entry };
        if bytes > entry.room() && bytes != usize::MAX && !self.cq.is_null() {
            self.deliver_separately(entry, bytes);
        }
    }

    #[cold]
    fn deliver_separately(&mut self, entry: &mut Entry, bytes: usize) {
        let mut whole = Vec::new();
        if entry.is_registered() || whole.try_reserve_exact(bytes).is_err() {
            return;
        }
        let buffers = entry.parts().to_vec();
        let core = Box::new([0; CONTEXT]);
        let truncated = Truncated { core, context: entry.peer.context, buffers, whole };
        let own = iovec { iov_base: truncated.whole.as_ptr().cast_mut().cast(), iov_len: bytes };
        // SAFETY: one buffer, without a registration.
        unsafe { entry.buffers(&raw const own, ptr::null(), 1) };
        entry.peer.msg_size = bytes;
        entry.peer.context = truncated.core_context();
        // An error is reported even where completions are selective.
        entry.peer.flags |= flags::COMPLETION;
        // SAFETY: the endpoint is bound to this queue.
        unsafe { Queue::of(self.cq) }.expect_truncated(truncated);
    }
}
