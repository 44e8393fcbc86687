//! The settings of a process. `matchpoint run` passes settings to each process of a job in environment
//! variables.

use std::path::PathBuf;
use std::sync::OnceLock;

/// The engine, written `name:key=value,…`.
pub const ENGINE: &str = "MATCHPOINT_ENGINE";
/// The folder for reports, if any.
pub const REPORT: &str = "MATCHPOINT_REPORT";
/// The folder for files of arrival times, if any.
pub const ARRIVALS: &str = "MATCHPOINT_ARRIVALS";

/// Settings of all Matchpoint libraries.
pub struct Settings {
    /// [`ENGINE`], `hybrid` by default.
    pub engine: String,
    /// The folder in [`REPORT`], if any.
    pub report: Option<PathBuf>,
    /// The folder in [`ARRIVALS`], if any.
    pub arrivals: Option<PathBuf>,
}

/// Returns the settings of this process. Reads the environment once.
pub fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| Settings {
        engine: variable(ENGINE).unwrap_or_else(|| "hybrid".to_owned()),
        report: variable(REPORT).map(PathBuf::from),
        arrivals: variable(ARRIVALS).map(PathBuf::from),
    })
}

/// Returns the value of an environment variable. An empty value counts as unset.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
