//! Differences between the binary and the text form.

use std::path::Path;
use std::sync::OnceLock;

use super::sections::Counts;
use super::version::Version;
use crate::error::TraceError;
use crate::readers::map::Map;
use crate::trace::RankReader;

/// Facts of a file before its stream is read.
#[derive(Default)]
pub(super) struct Facts {
    /// Version of the writer.
    pub version: Option<Version>,
    /// Calls, and calls not written, by function.
    pub counts: Option<Counts>,
    /// Calls have wall clock times, and processor times.
    pub timed: (bool, bool),
}

/// Stream of a file.
pub(super) type OpenedStream = Result<Box<dyn RankReader>, TraceError>;

/// Form of a trace.
pub(super) struct Form {
    /// Suffix of the version in the description.
    pub suffix: &'static str,
    /// Rank in a file name.
    pub rank: fn(&Path) -> Option<u32>,
    /// Reads the facts of a file.
    pub facts: fn(&Path) -> Result<Facts, TraceError>,
    /// Opens the stream of a file. The map is kept for the next pass.
    pub stream: fn(&Path, &OnceLock<Map>) -> OpenedStream,
}
