//! `locked`: an engine behind one lock.

use std::sync::{Mutex, PoisonError};

use super::Concurrent;
use crate::engine::Engine;
use crate::footprint::Footprint;
use crate::forwarded;

/// One engine behind one lock, as in MPI libraries. The baseline of benchmarks.
pub struct Locked(Mutex<Box<dyn Engine>>);

impl Locked {
    /// Wraps `engine`.
    pub fn new(engine: Box<dyn Engine>) -> Self {
        Locked(Mutex::new(engine))
    }

    fn call<A>(&self, call: impl FnOnce(&mut dyn Engine) -> A) -> A {
        // After a panic, the engine stays usable, as without threads.
        call(&mut **self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Concurrent for Locked {
    forwarded!(concurrent: post_selector arrive arrive_batch deliver_batch probe matched_probe cancel retract readdress);
    forwarded!(concurrent: set_hints close fail_source visit posted_len unexpected_len);

    fn substitute(&self) -> Option<String> {
        self.call(|engine| engine.substitute().map(str::to_owned))
    }

    fn footprint(&self) -> Footprint {
        let inside = self.call(|engine| engine.footprint());
        let own = size_of::<Self>() as u64;
        Footprint { fixed_bytes: inside.fixed_bytes + own, peak_bytes: inside.peak_bytes + own, ..inside }
    }
}
