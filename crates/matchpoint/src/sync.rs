//! Atomics and cells from the standard library or, in tests compiled with `--cfg loom`, from the model checker
//! [loom](https://docs.rs/loom), which tries every order in which threads may run and every value that they may read.

#[cfg(all(test, loom))]
pub(crate) use loom::cell::UnsafeCell;
#[cfg(all(test, loom))]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// What loom has a cell of its own for, so that it sees who looks into it while another writes.
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

/// How long threads look for what another is about to do before they let go of their processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Looks.
    pub(crate) looks: u32,
}

impl Patience {
    /// For so many threads: none where there are not as many processors, as the one that is waited for may need this one.
    pub(crate) fn of(threads: usize, looks: u32) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Patience { looks: if threads <= processors { looks } else { 0 } }
    }
}

/// After so many offers of its processor a thread sleeps between two looks.
#[cfg(not(all(test, loom)))]
const OFFERS: u32 = 64;

/// So long.
#[cfg(not(all(test, loom)))]
const NAP: std::time::Duration = std::time::Duration::from_micros(50);

/// Returns once `holds` does, which another thread will see to. Looks for a while, then gives its processor to others
/// between two looks, so that the one it waits for may be among them, and at last sleeps.
#[cfg(not(all(test, loom)))]
pub(crate) fn wait_until(patience: Patience, mut holds: impl FnMut() -> bool) {
    let mut waited = 0;
    while !holds() {
        if waited < patience.looks {
            std::hint::spin_loop();
        } else if waited < patience.looks + OFFERS {
            std::thread::yield_now();
        } else {
            std::thread::sleep(NAP);
        }
        waited = waited.saturating_add(1);
    }
}

/// The same, told to the model checker. Who looks in vain changes nothing: what may follow is what may follow if it had not
/// looked yet, which is tried as well. So this order is taken to its end, and not varied further.
#[cfg(all(test, loom))]
pub(crate) fn wait_until(_: Patience, mut holds: impl FnMut() -> bool) {
    while !holds() {
        loom::skip_branch();
        loom::thread::yield_now();
    }
}
