//! What a reader is.

use std::path::Path;

use crate::error::TraceError;
use crate::trace::Trace;

/// A format that can be read.
pub(super) struct Reader {
    /// What it is, for the list of what can be read.
    pub name: &'static str,
    /// Whether a path looks like it. A quick check. It also accepts a damaged trace, so that opening it reports the damage.
    pub recognise: fn(&Path) -> bool,
    /// Opens it.
    pub open: fn(&Path) -> Result<Box<dyn Trace>, TraceError>,
}
