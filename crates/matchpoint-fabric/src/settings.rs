//! The provider's own settings, which `matchpoint run` passes as environment variables. `matchpoint_process::settings`
//! has the others.

use std::ffi::{CStr, CString};
use std::sync::OnceLock;
use std::time::Duration;

use matchpoint_process::settings::variable;

/// Which name we go by: `ofi_matchpoint` (a utility provider, the default) or `matchpoint` (where the MPI picks among
/// core providers only).
pub const NAME: &str = "MATCHPOINT_PROVIDER";
/// The core provider that transports messages: `shm`, `tcp`, `tcp;ofi_rxm` …
pub const CORE: &str = "MATCHPOINT_CORE";
/// The front end: `auto`, `peer`, `layered`.
pub const FRONT_END: &str = "MATCHPOINT_FRONT_END";
/// The number of the signal on which a process tells what stands in its queues; none if unset.
pub const SIGNAL: &str = "MATCHPOINT_QUEUES_SIGNAL";
/// The longest message that the layered front end sends as it is, in bytes; the same for all processes of a job.
pub const EAGER: &str = "MATCHPOINT_EAGER_BYTES";
/// Bytes of messages that may wait in a layered endpoint before it takes more from the core only while the application
/// waits for something.
pub const KEPT: &str = "MATCHPOINT_KEPT_BYTES";

/// Seconds for which a peer above the core may owe an answer before it is found out whether it lives; 0: it is not.
pub const PATIENCE: &str = "MATCHPOINT_PATIENCE";

/// Where messages are matched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrontEnd {
    /// As the owner of the core's receive queue if it lets us, else above it.
    Auto,
    /// As the owner, or not at all.
    Peer,
    /// Above it, always.
    Layered,
}

/// All of it.
pub struct Settings {
    /// [`NAME`]
    pub name: CString,
    /// [`CORE`]; `None`: only where the application asks for `core;ofi_matchpoint` itself.
    pub core: Option<CString>,
    /// [`FRONT_END`]
    pub front_end: FrontEnd,
    /// [`SIGNAL`]
    pub signal: Option<i32>,
    /// [`EAGER`]
    pub eager_bytes: usize,
    /// [`KEPT`]
    pub kept_bytes: usize,
    /// [`PATIENCE`]
    pub patience: Duration,
}

/// The settings of this process, read once.
pub fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let string = |name| variable(name).and_then(|value| CString::new(value).ok());
        let bytes = |name, default| variable(name).and_then(|value| value.parse().ok()).unwrap_or(default);
        Settings {
            name: string(NAME).unwrap_or_else(|| CStr::to_owned(c"ofi_matchpoint")),
            core: string(CORE),
            front_end: match variable(FRONT_END).as_deref() {
                Some("peer") => FrontEnd::Peer,
                Some("layered") => FrontEnd::Layered,
                _ => FrontEnd::Auto,
            },
            signal: variable(SIGNAL).and_then(|value| value.parse().ok()),
            eager_bytes: bytes(EAGER, 16 << 10),
            kept_bytes: bytes(KEPT, 1 << 30),
            patience: variable(PATIENCE)
                .and_then(|value| Duration::try_from_secs_f64(value.parse().ok()?).ok())
                .unwrap_or(Duration::from_secs(2)),
        }
    })
}

/// The providers that a core consists of: of `tcp;ofi_rxm`, `tcp` and `ofi_rxm`.
pub fn parts(core: &CStr) -> impl Iterator<Item = &[u8]> {
    core.to_bytes().split(|&byte| byte == b';')
}

impl Settings {
    /// We are a utility provider: libfabric appends our name to the core's by itself.
    pub fn is_utility(&self) -> bool {
        self.name.to_bytes().starts_with(b"ofi_")
    }
}
