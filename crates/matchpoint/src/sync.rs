//! Atomics and cells: of the standard library, or under `--cfg loom` of the model checker
//! [loom](https://docs.rs/loom).

#[cfg(all(test, loom))]
pub(crate) use loom::cell::UnsafeCell;
#[cfg(all(test, loom))]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// A cell with the interface of loom's cell, which detects concurrent accesses.
#[cfg(not(all(test, loom)))]
#[derive(Default)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(all(test, loom)))]
impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline]
    pub(crate) fn with<A>(&self, look: impl FnOnce(*const T) -> A) -> A {
        look(self.0.get())
    }

    #[inline]
    pub(crate) fn with_mut<A>(&self, change: impl FnOnce(*mut T) -> A) -> A {
        change(self.0.get())
    }
}

/// Polls before a waiting thread yields its processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PollLimit {
    pub(crate) polls: u32,
}

impl PollLimit {
    /// 0 on a machine with fewer processors than `threads`: the awaited thread may need this processor.
    pub(crate) fn of(threads: usize, polls: u32) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        PollLimit { polls: if threads <= processors { polls } else { 0 } }
    }
}

/// Number of yields before a waiting thread sleeps between polls.
#[cfg(not(all(test, loom)))]
const YIELDS: u32 = 64;

#[cfg(not(all(test, loom)))]
const SLEEP: std::time::Duration = std::time::Duration::from_micros(50);

/// Polls, then yields, and finally sleeps between polls.
#[cfg(not(all(test, loom)))]
pub(crate) fn wait_until(poll_limit: PollLimit, mut holds: impl FnMut() -> bool) {
    let mut waited = 0;
    while !holds() {
        if waited < poll_limit.polls {
            std::hint::spin_loop();
        } else if waited < poll_limit.polls + YIELDS {
            std::thread::yield_now();
        } else {
            std::thread::sleep(SLEEP);
        }
        waited = waited.saturating_add(1);
    }
}

/// A failed poll changes no state, so loom need not explore interleavings after a failed poll.
#[cfg(all(test, loom))]
pub(crate) fn wait_until(_: PollLimit, mut holds: impl FnMut() -> bool) {
    while !holds() {
        loom::skip_branch();
        loom::thread::yield_now();
    }
}
