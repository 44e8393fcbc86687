//! What the files of a trace say of themselves, without their calls.

use std::fs;
use std::path::{Path, PathBuf};

use super::survey::Facts;
use crate::error::TraceError;
use crate::native::head::{End, Head, Module};
use crate::native::is_rank_file;
use crate::readers::map::Map;
use crate::search::SearchCost;

/// The file of one rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Where it is.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Calls in its blocks.
    pub calls: u64,
    /// Who wrote it.
    pub head: Head,
    /// How it ended; `None` if the process died.
    pub end: Option<End>,
    /// Functions that threads of a process that died had been within for a second or more.
    pub within: Vec<String>,
    /// Where its code lies; empty where call sites were not kept.
    pub modules: Vec<Module>,
    /// What it measured of its library.
    pub searches: Vec<SearchCost>,
}

/// All files of a folder that have a head, by rank. Those of processes that died before they wrote one are left out.
///
/// # Errors
/// The folder or a file cannot be read.
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
        within: facts.within().map(|(function, _)| function.to_owned()).collect(),
        calls: facts.calls,
        head: facts.head,
        end: facts.end,
        modules: facts.modules,
        searches: facts.searches,
    }))
}
