//! What becomes of an operation of ours, as the application reads it.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::abi::{ADDR_UNSPEC, Addr, CqTaggedEntry};

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
