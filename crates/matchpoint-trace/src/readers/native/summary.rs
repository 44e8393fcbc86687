//! Summaries of a trace's files, without calls.

use std::fs;
use std::path::{Path, PathBuf};

use super::facts::Facts;
use crate::error::TraceError;
use crate::native::head::{End, Head, Module};
use crate::native::is_rank_file;
use crate::readers::map::Map;
use crate::search::SearchCost;

#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub path: PathBuf,
    pub bytes: u64,
    pub calls: u64,
    pub head: Head,
    /// `None` if the process did not write the end of the file.
    pub end: Option<End>,
    /// Functions that threads entered a second or longer before the last write, and have not left.
    pub unfinished: Vec<String>,
    pub modules: Vec<Module>,
    pub searches: Vec<SearchCost>,
}

/// Summaries of the files in a folder, by rank. A file without a head is omitted, because its process ended
/// early.
pub fn summaries(folder: &Path) -> Result<Vec<Summary>, TraceError> {
    let failed = |error| TraceError::io(folder, &error);
    let paths = fs::read_dir(folder).map_err(failed)?.flatten().map(|entry| entry.path());
    let mut found = Vec::new();
    for path in paths.filter(|path| is_rank_file(path)) {
        found.extend(summary(path)?);
    }
    found.sort_by_key(|summary: &Summary| summary.head.rank);
    Ok(found)
}

fn summary(path: PathBuf) -> Result<Option<Summary>, TraceError> {
    let bytes = fs::metadata(&path).map_err(|error| TraceError::io(&path, &error))?.len();
    if bytes == 0 {
        return Ok(None);
    }
    let map = Map::open(&path)?;
    let Ok(facts) = Facts::of(&path, &map) else { return Ok(None) };
    Ok(Some(Summary {
        path,
        bytes,
        unfinished: facts.unfinished_calls().map(|(function, _)| function.to_owned()).collect(),
        calls: facts.calls,
        head: facts.head,
        end: facts.end,
        modules: facts.modules,
        searches: facts.searches,
    }))
}
