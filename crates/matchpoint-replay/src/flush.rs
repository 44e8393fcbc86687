//! Cold caches, as after a compute phase.

use std::hint::black_box;

/// More than a core's private caches hold, and enough of a shared one to push out what was touched before.
const FLUSH_BYTES: usize = 16 << 20;

/// Bytes in a cache line.
const LINE: usize = 64;

/// A buffer that is walked through to push everything else out of the caches.
pub(crate) struct Flush(Vec<u8>);

impl Default for Flush {
    fn default() -> Self {
        Flush(vec![1; FLUSH_BYTES])
    }
}

impl Flush {
    /// Pushes everything else out.
    pub fn flush(&mut self) {
        for line in self.0.chunks_mut(LINE) {
            line[0] = line[0].wrapping_add(1);
        }
        black_box(&self.0);
    }
}
