//! The provider's own settings, which `matchpoint run` passes as environment variables. `matchpoint_process::settings`
//! has the others.

use std::ffi::{CStr, CString};
use std::sync::OnceLock;

use matchpoint_process::settings::variable;

/// Which name we go by: `ofi_matchpoint` (a utility provider, the default) or `matchpoint` (where the MPI picks among
/// core providers only).
pub const NAME: &str = "MATCHPOINT_PROVIDER";
/// The core provider that transports messages: `shm`, `tcp;ofi_rxm` …
pub const CORE: &str = "MATCHPOINT_CORE";
/// The number of the signal that requests a list of the queues' entries. Unset: none.
pub const SIGNAL: &str = "MATCHPOINT_QUEUES_SIGNAL";

/// All of them.
pub struct Settings {
    /// [`NAME`]
    pub name: CString,
    /// [`CORE`]; `None`: only where the application asks for `core;ofi_matchpoint` itself.
    pub core: Option<CString>,
    /// [`SIGNAL`]
    pub signal: Option<i32>,
}

/// The settings of this process, read once.
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
    /// We are a utility provider: libfabric appends our name to the core's by itself.
    pub fn is_utility(&self) -> bool {
        self.name.to_bytes().starts_with(b"ofi_")
    }
}
