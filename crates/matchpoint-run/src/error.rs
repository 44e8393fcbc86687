//! Errors before or after a job.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;

/// An error, as a message for the user with the failure and a remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunError(pub String);

impl RunError {
    pub(crate) fn file(path: &Path, error: &io::Error) -> RunError {
        RunError(format!("'{}': {error}\nhint: check the path and its permissions", path.display()))
    }
}

impl Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RunError {}
