//! The manifest: what was run, how it ended, which files there are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::search::SearchCost;

/// The name of its file.
pub const FILE: &str = "manifest.json";

/// What [`Manifest::format`] says.
pub const FORMAT: &str = "matchpoint trace";

/// What `manifest.json` holds.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// Of the format.
    pub version: u32,
    /// `prepared` until the job begins, `running`, then `finished`.
    #[serde(default)]
    pub state: String,
    /// Processes in `MPI_COMM_WORLD`.
    #[serde(default)]
    pub ranks: Option<u32>,
    /// The command line.
    #[serde(default)]
    pub command: Vec<String>,
    /// First line of what `MPI_Get_library_version` says.
    #[serde(default)]
    pub mpi: String,
    /// The part of the library that matches messages at the first rank; empty: unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub transport: String,
    /// What that library paid for an entry that it compared, within a host and between hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub search: Vec<SearchCost>,
    /// RFC 3339.
    #[serde(default)]
    pub started: Option<String>,
    /// RFC 3339.
    #[serde(default)]
    pub ended: Option<String>,
    /// Of the launcher.
    #[serde(default)]
    pub exit_status: Option<i64>,
    /// A file for each rank.
    #[serde(default)]
    pub files: Vec<RankFile>,
    /// Folders inside, each a trace.
    #[serde(default)]
    pub spawned: Vec<String>,
}

impl Manifest {
    /// What it says of the files of a run that has ended, by rank; of one that has not, its files say more.
    pub(crate) fn finished(&self) -> BTreeMap<u32, &RankFile> {
        let files = self.files.iter().filter(|_| self.state == "finished");
        files.map(|file| (file.rank, file)).collect()
    }
}

/// A rank's file.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct RankFile {
    /// Whose it is.
    pub rank: u32,
    /// Its name.
    pub file: String,
    /// Its length.
    #[serde(default)]
    pub bytes: u64,
    /// Calls in it.
    #[serde(default)]
    pub calls: u64,
    /// The process reached `MPI_Finalize`, and all was written.
    #[serde(default)]
    pub complete: bool,
}
