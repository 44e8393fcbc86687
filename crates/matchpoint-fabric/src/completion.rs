//! Completions that the provider writes.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::ptr;

use libc::iovec;

use crate::abi::{ADDR_UNSPEC, Addr, CqTaggedEntry, errno};

pub struct Completion {
    pub entry: CqTaggedEntry,
    pub source: Addr,
    /// Positive error code; 0 for a successful completion.
    pub error: c_int,
    /// Bytes of a truncated message beyond the buffers (`olen`).
    pub excess_bytes: usize,
}

impl Completion {
    pub fn new(context: *mut c_void, flags: u64) -> Self {
        let entry =
            CqTaggedEntry { op_context: context, flags, len: 0, buf: ptr::null_mut(), data: 0, tag: 0 };
        Completion { entry, source: ADDR_UNSPEC, error: 0, excess_bytes: 0 }
    }
}

/// Bytes of a `struct fi_context2`. The core provider may write to a context.
const CONTEXT_BYTES: usize = 64;

/// A receive with a message that is longer than its buffers.
///
/// Some core providers crash when they deliver such a message (shm of libfabric 2.5, from 1000 bytes on). The core
/// provider therefore delivers the message to a separate buffer, with a separate context. When the application reads
/// the completion, the provider copies the part that fits and returns `FI_ETRUNC`.
pub struct TruncatedReceive {
    /// The context for the core provider. The address of the context is stable.
    core_context: Box<[u8; CONTEXT_BYTES]>,
    context: *mut c_void,
    buffers: Vec<iovec>,
    whole: Vec<u8>,
}

impl TruncatedReceive {
    pub fn new(context: *mut c_void, buffers: &[iovec], bytes: usize) -> Option<Self> {
        let mut whole = Vec::new();
        whole.try_reserve_exact(bytes).ok()?;
        Some(TruncatedReceive {
            core_context: Box::new([0; CONTEXT_BYTES]),
            context,
            buffers: buffers.to_vec(),
            whole,
        })
    }

    pub fn buffer(&self) -> *mut c_void {
        self.whole.as_ptr().cast_mut().cast()
    }

    pub fn core_context(&self) -> *mut c_void {
        self.core_context.as_ptr().cast_mut().cast()
    }

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
        completion.excess_bytes = delivered - at;
        completion
    }
}

#[derive(Default)]
pub struct CompletionList {
    pub ready: VecDeque<Completion>,
    /// Completions that the application reads after all current completions of the core provider: a
    /// multi-receive buffer is released after its last message.
    pub deferred: VecDeque<Completion>,
    pub truncated: Vec<TruncatedReceive>,
    pub has_pending_sources: bool,
}

impl CompletionList {
    pub fn take_truncated(&mut self, core_context: *mut c_void) -> Option<TruncatedReceive> {
        let at = self.truncated.iter().position(|receive| receive.core_context() == core_context)?;
        Some(self.truncated.swap_remove(at))
    }
}
