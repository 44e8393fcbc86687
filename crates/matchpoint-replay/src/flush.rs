//! Cold caches, as after a compute phase: the core's own. A shared last-level cache of hundreds of megabytes keeps what
//! it has, and no buffer that a tool may hold would change that.

use std::hint::black_box;

/// Several times what a core's private caches hold.
const FLUSH_BYTES: usize = 16 << 20;

/// Bytes in a cache line.
const LINE: usize = 64;

/// A buffer that is walked through to push everything else out of the caches.
#[derive(Default)]
pub(crate) struct Flush(Vec<u8>);

impl Flush {
    /// Pushes everything else out of the private caches.
    pub fn flush(&mut self) {
        // Made by the thread that measures, when it is needed: making it takes as long as a few thousand calls.
        if self.0.is_empty() {
            self.0 = vec![1; FLUSH_BYTES];
        }
        for line in self.0.chunks_mut(LINE) {
            line[0] = line[0].wrapping_add(1);
        }
        black_box(&self.0);
    }
}
