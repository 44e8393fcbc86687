//! What the binary and the text form differ in, to a trace of either.

use std::path::Path;
use std::sync::OnceLock;

use super::sections::Counts;
use super::version::Version;
use crate::error::TraceError;
use crate::readers::map::Map;
use crate::trace::RankReader;

/// What a file tells before its stream is read.
#[derive(Default)]
pub(super) struct Facts {
    /// Which version wrote it.
    pub version: Option<Version>,
    /// How often each function was called, and how often that was not written.
    pub counts: Option<Counts>,
    /// Whether its calls have wall clock times, and processor times.
    pub timed: (bool, bool),
}

/// The stream of a file, from its beginning.
pub(super) type Begun = Result<Box<dyn RankReader>, TraceError>;

/// A form in which the streams of a trace are written.
pub(super) struct Form {
    /// What the description of a trace adds to the version.
    pub suffix: &'static str,
    /// The rank that the name of a file gives.
    pub rank: fn(&Path) -> Option<u32>,
    /// Reads what a file tells.
    pub facts: fn(&Path) -> Result<Facts, TraceError>,
    /// Begins to read the stream of a file. What can be used by the next pass again is kept.
    pub stream: fn(&Path, &OnceLock<Map>) -> Begun,
}
