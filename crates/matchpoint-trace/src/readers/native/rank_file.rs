//! A rank's file, with the facts about its blocks.

use std::path::PathBuf;
use std::sync::Arc;

use super::facts::Facts;
use crate::readers::map::Map;

pub(super) struct RankFile {
    pub path: PathBuf,
    pub map: Map,
    /// `Err` is the error of the rank's readers.
    pub facts: Result<Arc<Facts>, String>,
}

impl RankFile {
    /// True for a file without calls of a process that may have made calls.
    pub fn is_silent(&self) -> bool {
        let has_all =
            |facts: &Facts| facts.end.as_ref().is_some_and(|end| end.left_out == 0 && end.unseen == 0);
        self.facts.as_ref().is_ok_and(|facts| facts.calls == 0 && !facts.has_damage && !has_all(facts))
    }
}
