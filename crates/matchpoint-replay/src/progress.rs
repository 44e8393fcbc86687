//! What a replay tells while it runs, and how it is stopped.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Shared between a replay and whoever watches it. Every field is a mere count: nothing is ordered by them.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of the trace read so far, in all passes together.
    pub bytes: AtomicU64,
    /// Bytes that will have been read at the end.
    pub bytes_total: AtomicU64,
    /// Calls replayed so far.
    pub calls: AtomicU64,
    stop: AtomicBool,
}

impl Progress {
    /// Asks the replay to give up soon: it then returns [`ReplayError::Stopped`](crate::ReplayError::Stopped).
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether it was asked to.
    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}
