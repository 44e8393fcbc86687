//! Progress of a replay, and the request to stop it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Counters shared by a replay and its observers. Their order of updates has no meaning.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of the trace read so far, in all passes together.
    pub bytes: AtomicU64,
    /// Bytes that all passes read.
    pub bytes_total: AtomicU64,
    /// Calls replayed so far.
    pub calls: AtomicU64,
    stop: AtomicBool,
}

impl Progress {
    /// Requests the end of the replay, which returns [`ReplayError::Stopped`](crate::ReplayError::Stopped).
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Returns true after [`stop`](Self::stop).
    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}
