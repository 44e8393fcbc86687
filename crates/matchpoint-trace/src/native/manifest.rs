//! The manifest of a trace: command, state and files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::search::SearchCost;

/// File name of the manifest.
pub const FILE: &str = "manifest.json";

/// [`Manifest::format`]
pub const FORMAT: &str = "matchpoint trace";

/// Content of `manifest.json`.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`]
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// `prepared`, `running` or `finished`
    #[serde(default)]
    pub state: String,
    /// Ranks of `MPI_COMM_WORLD`.
    #[serde(default)]
    pub ranks: Option<u32>,
    /// Command line of the job.
    #[serde(default)]
    pub command: Vec<String>,
    /// First line of `MPI_Get_library_version`.
    #[serde(default)]
    pub mpi: String,
    /// Component that matches messages at the first rank, if known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub transport: String,
    /// Costs of an attempt, within a host and between hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub search: Vec<SearchCost>,
    /// Start of the job, in RFC 3339 format.
    #[serde(default)]
    pub started: Option<String>,
    /// End of the job, in RFC 3339 format.
    #[serde(default)]
    pub ended: Option<String>,
    /// Exit status of the launcher.
    #[serde(default)]
    pub exit_status: Option<i64>,
    /// Files of the ranks.
    #[serde(default)]
    pub files: Vec<RankFile>,
    /// Folders below with traces of spawned processes.
    #[serde(default)]
    pub spawned: Vec<String>,
}

impl Manifest {
    /// Files by rank, if the run has ended. During the run, the files are newer than the manifest.
    pub(crate) fn finished(&self) -> BTreeMap<u32, &RankFile> {
        let files = self.files.iter().filter(|_| self.state == "finished");
        files.map(|file| (file.rank, file)).collect()
    }
}

/// Properties of a rank's file.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct RankFile {
    /// Rank.
    pub rank: u32,
    /// Name of the file.
    pub file: String,
    /// Length of the file.
    #[serde(default)]
    pub bytes: u64,
    /// Calls in the file.
    #[serde(default)]
    pub calls: u64,
    /// The process called `MPI_Finalize`, and all calls were written.
    #[serde(default)]
    pub complete: bool,
}
