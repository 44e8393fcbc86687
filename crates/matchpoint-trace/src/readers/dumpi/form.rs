//! Differences between the binary and the text form of DUMPI.

use std::path::Path;
use std::sync::OnceLock;

use super::sections::Counts;
use super::version::Version;
use crate::error::TraceError;
use crate::readers::map::Map;
use crate::trace::RankReader;

#[derive(Default)]
pub(super) struct Facts {
    pub version: Option<Version>,
    pub counts: Option<Counts>,
    /// Calls have wall clock times; calls have processor times.
    pub timed: (bool, bool),
}

pub(super) type OpenedStream = Result<Box<dyn RankReader>, TraceError>;

pub(super) struct Form {
    pub suffix: &'static str,
    pub rank: fn(&Path) -> Option<u32>,
    pub facts: fn(&Path) -> Result<Facts, TraceError>,
    /// Opens the stream of a file. The mapped file is kept for the next pass.
    pub stream: fn(&Path, &OnceLock<Map>) -> OpenedStream,
}
