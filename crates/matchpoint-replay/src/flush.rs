//! Cold caches, as after a compute phase. Only the core's private caches are flushed: a shared last-level
//! cache may be larger than any buffer.

use std::hint::black_box;

const FLUSH_BYTES: usize = 16 << 20;

const LINE: usize = 64;

#[derive(Default)]
pub(crate) struct CacheFlusher(Vec<u8>);

impl CacheFlusher {
    pub fn flush(&mut self) {
        // The first use allocates, because the allocation takes as long as a few thousand calls.
        if self.0.is_empty() {
            self.0 = vec![1; FLUSH_BYTES];
        }
        for line in self.0.chunks_mut(LINE) {
            line[0] = line[0].wrapping_add(1);
        }
        black_box(&self.0);
    }
}
