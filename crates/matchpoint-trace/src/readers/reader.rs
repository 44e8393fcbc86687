//! What a reader is.

use std::path::Path;

use crate::error::TraceError;
use crate::trace::Trace;

/// A format that can be read.
pub(super) struct Reader {
    /// What it is, for the list of what can be read.
    pub name: &'static str,
    /// Whether a path looks like it. Quick; a damaged trace should still be recognised, so that it can be told what
    /// is wrong with it.
    pub recognise: fn(&Path) -> bool,
    /// Opens it.
    pub open: fn(&Path) -> Result<Box<dyn Trace>, TraceError>,
}
