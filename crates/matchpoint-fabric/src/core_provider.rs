//! Calls into libfabric for the core provider, and the providers that serve one host only.

use std::cell::Cell;
use std::ffi::CStr;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Calls into libfabric for the core provider.
///
/// Some core providers (mrail, rxd, lnx) search for a provider below. During the call, Matchpoint's provider
/// is hidden from such searches.
pub fn call_core<T>(call: impl FnOnce() -> T) -> T {
    let before = INSIDE.replace(true);
    let outcome = call();
    INSIDE.set(before);
    outcome
}

/// Returns true if this thread is inside [`call_core`].
pub fn is_in_core_call() -> bool {
    INSIDE.get()
}

/// Returns true if the provider serves one host only. Such providers lack `FI_REMOTE_COMM`, which some MPI
/// libraries require.
pub fn is_single_host(core: &CStr) -> bool {
    matches!(core.to_bytes(), b"shm" | b"sm2")
}
