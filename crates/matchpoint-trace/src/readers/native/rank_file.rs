//! The file of a rank.

use std::path::PathBuf;
use std::sync::Arc;

use super::survey::Facts;
use crate::readers::map::Map;

/// A rank's file, mapped.
pub(super) struct RankFile {
    pub path: PathBuf,
    pub map: Map,
    /// `Err` with the reason if it cannot be read: readers of the rank return that error.
    pub facts: Result<Arc<Facts>, String>,
}

impl RankFile {
    /// Whether it has none of the calls that its process made, or may have made.
    pub fn is_silent(&self) -> bool {
        let has_all =
            |facts: &Facts| facts.end.as_ref().is_some_and(|end| end.left_out == 0 && end.unseen == 0);
        self.facts.as_ref().is_ok_and(|facts| facts.calls == 0 && !facts.damage && !has_all(facts))
    }
}
