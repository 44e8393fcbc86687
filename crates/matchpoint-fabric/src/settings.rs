//! Settings of the provider: environment variables of `matchpoint run`.
//!
//! `matchpoint_process::settings` has the settings of all libraries in an MPI process.

use std::ffi::{CStr, CString};
use std::sync::OnceLock;

use matchpoint_process::settings::variable;

/// `ofi_matchpoint` (a utility provider, the default) or `matchpoint` (for MPI libraries that accept core
/// providers only).
pub const NAME: &str = "MATCHPOINT_PROVIDER";
/// The core provider that transports messages: `shm`, `tcp;ofi_rxm` …
pub const CORE: &str = "MATCHPOINT_CORE";
/// The signal that requests a list of the queues' entries, if any.
pub const SIGNAL: &str = "MATCHPOINT_QUEUES_SIGNAL";

pub struct Settings {
    pub name: CString,
    /// With `None`, the provider serves only requests for `core;ofi_matchpoint`.
    pub core: Option<CString>,
    pub signal: Option<i32>,
}

pub fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let string = |name| variable(name).and_then(|value| CString::new(value).ok());
        Settings {
            name: string(NAME).unwrap_or_else(|| CStr::to_owned(c"ofi_matchpoint")),
            core: string(CORE),
            signal: variable(SIGNAL).and_then(|value| value.parse().ok()),
        }
    })
}

impl Settings {
    /// libfabric appends the name of a utility provider to the core provider's name.
    pub fn is_utility(&self) -> bool {
        self.name.to_bytes().starts_with(b"ofi_")
    }
}
