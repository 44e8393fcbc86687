//! Cold caches, as after a compute phase.
//!
//! Only the core's private caches become cold. A shared last-level cache may have hundreds of megabytes, more
//! than a buffer of a tool.

use std::hint::black_box;

/// Several times the private caches of a core.
const FLUSH_BYTES: usize = 16 << 20;

const LINE: usize = 64;

/// A buffer whose traversal evicts all other data from the caches.
#[derive(Default)]
pub(crate) struct Flush(Vec<u8>);

impl Flush {
    /// Evicts all other data from the private caches.
    pub fn flush(&mut self) {
        // Allocated lazily by the measuring thread: the allocation takes as long as a few thousand calls.
        if self.0.is_empty() {
            self.0 = vec![1; FLUSH_BYTES];
        }
        for line in self.0.chunks_mut(LINE) {
            line[0] = line[0].wrapping_add(1);
        }
        black_box(&self.0);
    }
}
