//! Completions that the provider writes.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::ptr;

use libc::iovec;

use crate::abi::{ADDR_UNSPEC, Addr, CqTaggedEntry, errno};

/// A completion that the provider writes.
pub struct Completion {
    /// The entry of the completion queue.
    pub entry: CqTaggedEntry,
    /// The source of the message.
    pub source: Addr,
    /// The error, or 0.
    pub error: c_int,
    /// Bytes of a truncated message beyond the buffers (`olen`).
    pub left_out: usize,
}

impl Completion {
    /// A successful completion with this context and these flags.
    pub fn new(context: *mut c_void, flags: u64) -> Self {
        let entry =
            CqTaggedEntry { op_context: context, flags, len: 0, buf: ptr::null_mut(), data: 0, tag: 0 };
        Completion { entry, source: ADDR_UNSPEC, error: 0, left_out: 0 }
    }
}

/// Bytes of a `struct fi_context2`. The core provider may write to a context.
const CONTEXT: usize = 64;

/// A receive with a message that is longer than its buffers.
///
/// Some core providers crash when they deliver such a message (shm of libfabric 2.5, from 1000 bytes on). The core
/// provider therefore delivers the message to a separate buffer, with a separate context. When the application reads
/// the completion, the provider copies the part that fits and returns `FI_ETRUNC`.
pub struct Truncated {
    /// The context for the core provider. Its address is stable.
    core: Box<[u8; CONTEXT]>,
    /// The context of the application.
    context: *mut c_void,
    buffers: Vec<iovec>,
    /// The buffer for the whole message.
    whole: Vec<u8>,
}

impl Truncated {
    /// Allocates a buffer of `bytes` bytes for a receive with this context and these buffers. `None`: no memory.
    pub fn new(context: *mut c_void, buffers: &[iovec], bytes: usize) -> Option<Self> {
        let mut whole = Vec::new();
        whole.try_reserve_exact(bytes).ok()?;
        Some(Truncated { core: Box::new([0; CONTEXT]), context, buffers: buffers.to_vec(), whole })
    }

    /// The buffer for the whole message.
    pub fn buffer(&self) -> *mut c_void {
        self.whole.as_ptr().cast_mut().cast()
    }

    /// The context for the core provider.
    pub fn core_context(&self) -> *mut c_void {
        self.core.as_ptr().cast_mut().cast()
    }

    /// The context of the application.
    pub fn context(&self) -> *mut c_void {
        self.context
    }

    /// Copies the part of the delivered message that fits, and returns the error completion.
    ///
    /// # Safety
    /// The buffers of the receive still belong to the provider, and the core provider has filled `whole`.
    pub unsafe fn finish(mut self, done: &CqTaggedEntry) -> Completion {
        let delivered = done.len.min(self.whole.capacity());
        let mut at = 0;
        for part in &self.buffers {
            let bytes = part.iov_len.min(delivered - at);
            // SAFETY: guaranteed by the caller. `at + bytes` is within the delivered bytes.
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

/// Completions of the provider for one completion queue.
#[derive(Default)]
pub struct Completions {
    /// Completions to read next.
    pub now: VecDeque<Completion>,
    /// Completions to read after all current completions of the core provider: a multi-receive buffer is released after
    /// its last message.
    pub late: VecDeque<Completion>,
    /// Receives that the core provider completes and that the application reads as an error.
    pub truncated: Vec<Truncated>,
    /// An endpoint of the queue has messages with a pending source.
    pub owes_names: bool,
}

impl Completions {
    /// Removes the truncated receive with this core context.
    pub fn take_truncated(&mut self, core_context: *mut c_void) -> Option<Truncated> {
        let at = self.truncated.iter().position(|waits| waits.core_context() == core_context)?;
        Some(self.truncated.swap_remove(at))
    }
}
