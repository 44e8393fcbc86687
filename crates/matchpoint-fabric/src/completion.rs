//! Completions of ours, as the application reads them.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::ptr;

use libc::iovec;

use crate::abi::{ADDR_UNSPEC, Addr, CqTaggedEntry, errno};

/// One completion of ours.
pub struct Completion {
    /// What the application reads.
    pub entry: CqTaggedEntry,
    /// From whom.
    pub source: Addr,
    /// The error, or 0.
    pub error: c_int,
    /// Bytes of a truncated message that the receive has no room for.
    pub left_out: usize,
}

impl Completion {
    /// Of the operation with this context, with these flags; nothing else to say.
    pub fn new(context: *mut c_void, flags: u64) -> Self {
        let entry =
            CqTaggedEntry { op_context: context, flags, len: 0, buf: ptr::null_mut(), data: 0, tag: 0 };
        Completion { entry, source: ADDR_UNSPEC, error: 0, left_out: 0 }
    }
}

/// Bytes of a `struct fi_context2`: the core may write to the beginning of a context.
const CONTEXT: usize = 64;

/// A receive with a message that is longer than its buffers.
///
/// Some core providers crash when they deliver such a message (shm of libfabric 2.5, from 1000 bytes on). The owner of the queue
/// knows both lengths first. So the core delivers the message into a separate buffer, with a separate context. When the
/// application reads the completion, the owner copies the part that fits, and returns the error `FI_ETRUNC` instead.
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
    /// The receive has this context and these buffers, and its message `bytes` bytes. `None`: no memory.
    pub fn new(context: *mut c_void, buffers: &[iovec], bytes: usize) -> Option<Self> {
        let mut whole = Vec::new();
        whole.try_reserve_exact(bytes).ok()?;
        Some(Truncated { core: Box::new([0; CONTEXT]), context, buffers: buffers.to_vec(), whole })
    }

    /// Where the core delivers the message.
    pub fn buffer(&self) -> *mut c_void {
        self.whole.as_ptr().cast_mut().cast()
    }

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

/// Completions of ours that the application has not read from a queue, and those that are to come.
#[derive(Default)]
pub struct Completions {
    /// To be read next.
    pub now: VecDeque<Completion>,
    /// To be read after all that the core has now: a buffer for several messages is released after the last of them.
    pub late: VecDeque<Completion>,
    /// Receives that the core completes, and for which the application reads an error.
    pub truncated: Vec<Truncated>,
    /// An endpoint of the queue owes messages their names.
    pub owes_names: bool,
}

impl Completions {
    /// The receive that the core completes under this context, once.
    pub fn take_truncated(&mut self, core_context: *mut c_void) -> Option<Truncated> {
        let at = self.truncated.iter().position(|waits| waits.core_context() == core_context)?;
        Some(self.truncated.swap_remove(at))
    }
}
