//! Calls into libfabric for the core provider, and the providers that serve one host only.

use std::cell::Cell;
use std::ffi::CStr;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Calls libfabric for the core provider.
///
/// Some core providers (mrail, rxd, lnx) search for a provider below. The call hides Matchpoint's provider
/// from such searches.
pub fn call_core<T>(call: impl FnOnce() -> T) -> T {
    let before = INSIDE.replace(true);
    let outcome = call();
    INSIDE.set(before);
    outcome
}

pub fn is_in_core_call() -> bool {
    INSIDE.get()
}

/// True for a provider that serves one host only. Such providers lack `FI_REMOTE_COMM`, which some MPI libraries
/// require.
pub fn is_single_host(core: &CStr) -> bool {
    matches!(core.to_bytes(), b"shm" | b"sm2")
}
