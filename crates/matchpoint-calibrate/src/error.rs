//! Errors of a calibration.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalibrateError(pub String);

impl CalibrateError {
    pub(crate) fn file(path: &Path, error: &io::Error) -> CalibrateError {
        CalibrateError(format!("'{}': {error}\nhint: check the path and its permissions", path.display()))
    }
}

impl Display for CalibrateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CalibrateError {}

impl From<matchpoint_record::RecordError> for CalibrateError {
    fn from(error: matchpoint_record::RecordError) -> Self {
        CalibrateError(error.to_string())
    }
}
