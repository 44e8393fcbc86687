//! The settings that `matchpoint run` passes to every process of a job, as environment variables.

use std::path::PathBuf;
use std::sync::OnceLock;

/// The engine, `name:key=value,…`.
pub const ENGINE: &str = "MATCHPOINT_ENGINE";
/// The folder for reports, if any.
pub const REPORT: &str = "MATCHPOINT_REPORT";
/// The folder for files of arrival times, if any.
pub const ARRIVALS: &str = "MATCHPOINT_ARRIVALS";

/// Settings of all Matchpoint libraries.
pub struct Settings {
    /// [`ENGINE`], `hybrid` by default.
    pub engine: String,
    /// [`REPORT`]
    pub report: Option<PathBuf>,
    /// [`ARRIVALS`]
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

/// An empty value counts as unset.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
