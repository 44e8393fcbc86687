//! Readers by format. A new reader needs a folder here and an entry in `READERS`.

pub mod dumpi;
mod map;
pub mod native;
#[cfg(feature = "otf2")]
mod otf2;
mod reader;
mod unknown;

use std::path::Path;

use self::reader::Reader;
use crate::error::TraceError;
use crate::trace::Trace;

const READERS: &[Reader] = &[
    native::READER,
    dumpi::BINARY,
    dumpi::TEXT,
    #[cfg(feature = "otf2")]
    otf2::READER,
];

/// Opens a trace. `path` is a folder, or the main file of the format.
///
/// # Errors
/// The path has no trace, more than one, or a damaged trace.
pub fn open(path: &Path) -> Result<Box<dyn Trace>, TraceError> {
    std::fs::metadata(path).map_err(|error| TraceError::io(path, &error))?;
    match READERS.iter().find(|reader| (reader.is_trace)(path)) {
        Some(reader) => (reader.open)(path),
        None => {
            let is_known = |path: &Path| READERS.iter().any(|reader| (reader.is_trace)(path));
            Err(unknown::explain(path, READERS.iter().map(|reader| reader.name), &is_known))
        }
    }
}
