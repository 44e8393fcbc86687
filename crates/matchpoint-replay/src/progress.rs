//! Progress of a replay, and the request to stop the replay.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes read, over all passes.
    pub bytes: AtomicU64,
    pub bytes_total: AtomicU64,
    pub calls: AtomicU64,
    stop: Arc<AtomicBool>,
}

impl Progress {
    /// Progress with a flag that requests the stop, as [`stop`](Self::stop) does.
    pub fn with_stop_flag(stop: Arc<AtomicBool>) -> Self {
        Progress { stop, ..Progress::default() }
    }

    /// Makes the replay return [`ReplayError::Stopped`](crate::ReplayError::Stopped).
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}
