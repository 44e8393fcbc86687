//! What can go wrong before the application runs.

use std::fmt::{self, Display};
use std::path::Path;

/// A sentence for the user: what was tried, what came of it, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordError(pub(crate) String);

impl RecordError {
    pub(crate) fn file(path: &Path, error: &std::io::Error) -> Self {
        // Some name the file that was to have this name once it was whole, which nobody can look at.
        let said = error.to_string();
        let why = said.split(" at path \"").next().unwrap_or_default();
        RecordError(format!("'{}': {why}\nhint: check the path and its permissions", path.display()))
    }
}

impl Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RecordError {}
