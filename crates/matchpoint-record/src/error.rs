//! Error messages of recordings.

use std::fmt::{self, Display};
use std::path::Path;

/// A message for the user: what failed, why, and a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordError(pub(crate) String);

impl RecordError {
    pub(crate) fn of_file(path: &Path, error: &std::io::Error) -> Self {
        // Without the name of the temporary file, which no longer exists.
        let message = error.to_string();
        let reason = message.split(" at path \"").next().unwrap_or_default();
        RecordError(format!("'{}': {reason}\nhint: check the path and its permissions", path.display()))
    }
}

impl Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RecordError {}
