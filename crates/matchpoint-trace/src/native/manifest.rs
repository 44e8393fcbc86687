//! The manifest of a trace: command, state and files. A field without a comment is described by its name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::search::SearchCost;

pub const FILE: &str = "manifest.json";

/// Value of [`Manifest::format`].
pub const FORMAT: &str = "matchpoint trace";

#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Manifest {
    pub format: String,
    pub version: u32,
    #[serde(default)]
    pub state: String,
    #[serde(default)]
    pub ranks: Option<u32>,
    #[serde(default)]
    pub command: Vec<String>,
    #[serde(default)]
    pub mpi: String,
    /// Component of the MPI library that matches messages at the first rank, if known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub transport: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub search: Vec<SearchCost>,
    #[serde(default)]
    pub started: Option<String>,
    #[serde(default)]
    pub ended: Option<String>,
    #[serde(default)]
    pub exit_status: Option<i64>,
    #[serde(default)]
    pub files: Vec<RankFile>,
    #[serde(default)]
    pub spawned: Vec<String>,
}

impl Manifest {
    /// Files by rank, if the run has ended. During a run, the files may be newer than the manifest.
    pub(crate) fn finished(&self) -> BTreeMap<u32, &RankFile> {
        let files = self.files.iter().filter(|_| self.state == "finished");
        files.map(|file| (file.rank, file)).collect()
    }
}

#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct RankFile {
    pub rank: u32,
    pub file: String,
    #[serde(default)]
    pub bytes: u64,
    #[serde(default)]
    pub calls: u64,
    #[serde(default)]
    pub complete: bool,
}
