//! Interface of a reader.

use std::path::Path;

use crate::error::TraceError;
use crate::trace::Trace;

pub(super) struct Reader {
    pub name: &'static str,
    /// Fast test. Accepts a damaged trace, so that the reader reports the damage.
    pub is_trace: fn(&Path) -> bool,
    pub open: fn(&Path) -> Result<Box<dyn Trace>, TraceError>,
}
