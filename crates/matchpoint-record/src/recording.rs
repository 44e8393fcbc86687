//! A recorded job: folder, command and result.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use matchpoint_trace::native::Summary;
use matchpoint_trace::native::head::End;
use matchpoint_trace::native::manifest::{self, Manifest, RankFile};

use crate::compiler::RECORDER;
use crate::error::RecordError;
use crate::folder;
use crate::preload::Preload;
use crate::sites;

/// Settings of a recording.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Folder of the trace, which is created.
    pub output: PathBuf,
    /// True: replaces an existing trace.
    pub replace: bool,
    /// Compiler of the MPI library, if the launcher has none.
    pub mpicc: Option<PathBuf>,
    /// Maximum bytes per process. Calls beyond the limit are counted, not recorded.
    pub limit_per_process: Option<u64>,
    /// True: records call sites.
    pub call_sites: bool,
    /// True: does not measure the MPI library's search cost per entry.
    pub no_search_cost: bool,
    /// Launcher, its options, application and arguments.
    pub command: Vec<String>,
}

/// A job that is ready to run.
#[derive(Debug)]
pub struct Recording {
    settings: Settings,
    preload: Preload,
    manifest: Manifest,
    /// True if the folder is new.
    is_new: bool,
}

/// The folder of the trace.
pub const FOLDER: &str = "MATCHPOINT_RECORD_DIR";
const LIMIT: &str = "MATCHPOINT_RECORD_LIMIT";
const SEARCH: &str = "MATCHPOINT_RECORD_SEARCH";
const CALL_SITES: &str = "MATCHPOINT_RECORD_CALLSITES";

impl Recording {
    /// Finds or compiles the recorder and creates the folder. Calls `compiles` with the name of the MPI
    /// library before a compilation.
    ///
    /// # Errors
    /// The command is missing, no recorder is available for its MPI library, or the folder cannot be created.
    pub fn prepare(settings: Settings, compiles: &mut dyn FnMut(&str)) -> Result<Recording, RecordError> {
        // Checked first, because a compilation takes time.
        folder::check(&settings.output, settings.replace)?;
        let preload = Preload::prepare(&RECORDER, &settings.command, settings.mpicc.as_deref(), compiles)?;
        let is_new = folder::create(&settings.output, settings.replace)?;
        let output =
            settings.output.canonicalize().map_err(|error| RecordError::of_file(&settings.output, &error))?;
        let manifest = Manifest {
            format: manifest::FORMAT.to_owned(),
            version: matchpoint_trace::native::VERSION,
            state: "prepared".to_owned(),
            command: settings.command.clone(),
            started: Some(folder::format_time(SystemTime::now())),
            ..Manifest::default()
        };
        let settings = Settings { output, ..settings };
        let recording = Recording { settings, preload, manifest, is_new };
        folder::write(recording.output(), &recording.manifest)?;
        Ok(recording)
    }

    /// Sets the state of the manifest to `running`. The manifest of a job started by hand stays `prepared`.
    ///
    /// # Errors
    /// The manifest cannot be written.
    pub fn begins(&mut self) -> Result<(), RecordError> {
        "running".clone_into(&mut self.manifest.state);
        folder::write(self.output(), &self.manifest)
    }

    /// The command with the recorder and its settings.
    pub fn command(&self) -> Command {
        self.preload.command(self.library(), &self.settings_of_recorder())
    }

    /// Path of the recorder.
    pub fn library(&self) -> &Path {
        &self.preload.library.path
    }

    /// All environment variables of the job's processes, for batch scripts.
    pub fn variables(&self) -> Vec<(&'static str, OsString)> {
        let mut variables = vec![self.preload_variable()];
        variables.extend(self.settings_of_recorder());
        variables
    }

    /// The variable that loads the recorder.
    pub fn preload_variable(&self) -> (&'static str, OsString) {
        self.preload.variable(self.library())
    }

    /// The environment variables with the recorder's settings.
    pub fn settings_of_recorder(&self) -> Vec<(&'static str, OsString)> {
        let mut variables = vec![(FOLDER, self.settings.output.clone().into_os_string())];
        variables.extend(self.settings.call_sites.then(|| (CALL_SITES, "1".into())));
        variables.extend(self.settings.no_search_cost.then(|| (SEARCH, "0".into())));
        variables.extend(self.settings.limit_per_process.map(|limit| (LIMIT, limit.to_string().into())));
        variables
    }

    /// The folder of the trace.
    pub fn output(&self) -> &Path {
        &self.settings.output
    }

    /// Completes the manifest from the files of the job. Failed writes are part of the result, so that a full
    /// disk loses no recorded file.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn finish(mut self, exit_status: Option<i32>) -> Result<Recorded, RecordError> {
        let output = self.settings.output.clone();
        self.manifest.exit_status = exit_status.map(i64::from);
        let (mut spawned, mut unwritten) = (Vec::new(), Vec::new());
        for folder in folder::spawned(&output) {
            let (files, written) = folder::describe_spawned(&folder)?;
            unwritten.extend(written.err());
            self.manifest.spawned.extend(folder.file_name().map(|name| name.to_string_lossy().into_owned()));
            spawned.push((folder, files.len()));
        }
        let files = folder::describe(&output, &mut self.manifest)?;
        unwritten.extend(folder::write(&output, &self.manifest).err());
        if files.is_empty() && spawned.is_empty() {
            folder::remove_unused(&output, self.is_new);
        }
        if self.settings.call_sites && !files.is_empty() {
            unwritten.extend(sites::write(&output, &files).err());
        }
        let is_incomplete = |file: &&RankFile| !file.complete;
        let ends = || files.iter().filter_map(|file| file.end.as_ref());
        Ok(Recorded {
            ranks: self.manifest.ranks.unwrap_or(0),
            missing: missing_ranks(&self.manifest),
            incomplete: self.manifest.files.iter().filter(is_incomplete).map(|file| file.rank).collect(),
            silent: without_calls(&files, |end| end.is_none()),
            all_left_out: without_calls(&files, |end| end.is_some_and(|end| end.left_out > 0)),
            calls: self.manifest.files.iter().map(|file| file.calls).sum(),
            within: files
                .iter()
                .flat_map(|file| file.unfinished.iter().map(|function| (function.clone(), file.head.rank)))
                .collect(),
            unseen: ends().map(|end| end.unseen).sum(),
            left_out: ends().map(|end| end.left_out).sum(),
            waited_ns: ends().map(|end| end.waited_ns).max().unwrap_or(0),
            bytes: self.manifest.files.iter().map(|file| file.bytes).sum(),
            mpi: self.manifest.mpi,
            spawned,
            unwritten,
            output,
        })
    }
}

/// Ranks without calls, if the end of their file satisfies `has_end`.
fn without_calls(files: &[Summary], has_end: impl Fn(Option<&End>) -> bool) -> Vec<u32> {
    let without = files.iter().filter(|file| file.calls == 0 && has_end(file.end.as_ref()));
    without.map(|file| file.head.rank).collect()
}

/// The result of a recorded job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The folder of the trace.
    pub output: PathBuf,
    /// First line of the MPI library's version.
    pub mpi: String,
    /// Size of `MPI_COMM_WORLD`; 0 if nothing was recorded.
    pub ranks: u32,
    /// Ranks without a file.
    pub missing: Vec<u32>,
    /// Ranks that were killed, aborted, or over the limit.
    pub incomplete: Vec<u32>,
    /// Incomplete ranks that ended before a call was written.
    pub silent: Vec<u32>,
    /// Incomplete ranks with no call below the limit.
    pub all_left_out: Vec<u32>,
    /// MPI function and rank, for each rank that spent its last second or more in one call.
    pub within: Vec<(String, u32)>,
    /// Calls in the trace.
    pub calls: u64,
    /// Calls beyond the limit, which are not recorded.
    pub left_out: u64,
    /// Calls not recorded for other reasons.
    pub unseen: u64,
    /// Longest wait of a process for the recorder's writing thread, in ns.
    pub waited_ns: u64,
    /// Bytes of all rank files.
    pub bytes: u64,
    /// Folders of spawned processes and of further jobs, with the numbers of processes.
    pub spawned: Vec<(PathBuf, usize)>,
    /// Errors of manifests and call sites after the job.
    pub unwritten: Vec<RecordError>,
}

fn missing_ranks(manifest: &Manifest) -> Vec<u32> {
    let mut present: Vec<u32> = manifest.files.iter().map(|file| file.rank).collect();
    present.sort_unstable();
    (0..manifest.ranks.unwrap_or(0)).filter(|rank| present.binary_search(rank).is_err()).collect()
}
