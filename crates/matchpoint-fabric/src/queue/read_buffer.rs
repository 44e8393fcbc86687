//! The application's buffer for completions.

use std::collections::VecDeque;
use std::ptr;

use crate::abi::{Addr, CqTaggedEntry};
use crate::completion::Completion;

/// The buffer of a read call, and its number of entries.
pub(super) struct ReadBuffer {
    pub(super) buf: *mut u8,
    pub(super) sources: *mut Addr,
    pub(super) count: usize,
    pub(super) taken: usize,
    pub(super) entry_bytes: usize,
}

impl ReadBuffer {
    /// Returns false if the buffer is full.
    #[inline]
    pub(super) fn append(&mut self, entry: &CqTaggedEntry, source: Addr) -> bool {
        if self.taken == self.count {
            return false;
        }
        // SAFETY: the buffer has `count` entries of the queue's format, a prefix of the longest format.
        // `sources` is null or has as many elements.
        unsafe {
            let to = self.buf.add(self.taken * self.entry_bytes);
            ptr::copy_nonoverlapping(ptr::from_ref(entry).cast(), to, self.entry_bytes);
            if !self.sources.is_null() {
                *self.sources.add(self.taken) = source;
            }
        }
        self.taken += 1;
        true
    }

    /// Appends completions of the provider, up to the first error.
    pub(super) fn append_all(&mut self, from: &mut VecDeque<Completion>) {
        while self.taken < self.count && from.front().is_some_and(|next| next.error == 0) {
            let Some(next) = from.pop_front() else { break };
            self.append(&next.entry, next.source);
        }
    }
}
