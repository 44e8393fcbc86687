//! The manifest of a trace: command, state and files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::search::SearchCost;

/// File name.
pub const FILE: &str = "manifest.json";

/// Value of [`Manifest::format`].
pub const FORMAT: &str = "matchpoint trace";

/// Content of `manifest.json`.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// `prepared`, `running` or `finished`.
    #[serde(default)]
    pub state: String,
    /// Processes in `MPI_COMM_WORLD`.
    #[serde(default)]
    pub ranks: Option<u32>,
    /// Command line.
    #[serde(default)]
    pub command: Vec<String>,
    /// First line of the result of `MPI_Get_library_version`.
    #[serde(default)]
    pub mpi: String,
    /// Component of the library that matches messages at the first rank; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub transport: String,
    /// Cost of an attempt in that library, within a host and between hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub search: Vec<SearchCost>,
    /// RFC 3339.
    #[serde(default)]
    pub started: Option<String>,
    /// RFC 3339.
    #[serde(default)]
    pub ended: Option<String>,
    /// Exit status of the launcher.
    #[serde(default)]
    pub exit_status: Option<i64>,
    /// Files of the ranks.
    #[serde(default)]
    pub files: Vec<RankFile>,
    /// Folders in this folder with traces of spawned processes.
    #[serde(default)]
    pub spawned: Vec<String>,
}

impl Manifest {
    /// Files by rank, after the end of the run. During the run, the files have newer data.
    pub(crate) fn finished(&self) -> BTreeMap<u32, &RankFile> {
        let files = self.files.iter().filter(|_| self.state == "finished");
        files.map(|file| (file.rank, file)).collect()
    }
}

/// A rank's file.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct RankFile {
    /// Rank.
    pub rank: u32,
    /// File name.
    pub file: String,
    /// Length in bytes.
    #[serde(default)]
    pub bytes: u64,
    /// Calls in the file.
    #[serde(default)]
    pub calls: u64,
    /// The process called `MPI_Finalize`, and all calls were written.
    #[serde(default)]
    pub complete: bool,
}
