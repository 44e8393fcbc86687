//! The core provider: calls into libfabric for it, and whether it serves one host only.

use std::cell::Cell;
use std::ffi::CStr;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Calls into libfabric on behalf of the core. Providers that look for something to stand on are led back to us
/// (mrail, rxd, lnx): while we are inside, we are not there.
pub fn into_core<T>(call: impl FnOnce() -> T) -> T {
    let before = INSIDE.replace(true);
    let outcome = call();
    INSIDE.set(before);
    outcome
}

/// This thread is in such a call.
pub fn is_inside() -> bool {
    INSIDE.get()
}

/// Providers that serve one host only, and say so by lacking `FI_REMOTE_COMM`, which some MPI libraries insist on.
pub fn is_local(core: &CStr) -> bool {
    matches!(core.to_bytes(), b"shm" | b"sm2")
}
