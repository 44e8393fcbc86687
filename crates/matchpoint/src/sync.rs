//! Atomics from the standard library or, in tests compiled with `--cfg loom`, from the model checker
//! [loom](https://docs.rs/loom), which tries every order in which threads may run and every value that they may read.

#[cfg(all(test, loom))]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Looks so often before it lets others run: somewhat longer than a thread takes over a part of a block.
#[cfg(not(all(test, loom)))]
const SPINS: u32 = 200;

/// Returns once `holds` does, which another thread will see to. Spins for a short while, then gives its processor to
/// others between two looks, so that the one it waits for may be among them.
#[cfg(not(all(test, loom)))]
pub(crate) fn wait_until(mut holds: impl FnMut() -> bool) {
    let mut spins = 0;
    while !holds() {
        if spins < SPINS {
            spins += 1;
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

/// The same, told to the model checker. Who looks in vain changes nothing: what may follow is what may follow if it had not
/// looked yet, which is tried as well. So this order is taken to its end, and not varied further.
#[cfg(all(test, loom))]
pub(crate) fn wait_until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        loom::skip_branch();
        loom::thread::yield_now();
    }
}
