//! A job that is recorded: its folder, its command, and what became of it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use matchpoint_trace::native::Summary;
use matchpoint_trace::native::head::End;
use matchpoint_trace::native::manifest::{self, Manifest, RankFile};

use crate::compiler::{Recorder, recorder};
use crate::error::RecordError;
use crate::folder;
use crate::launcher::Launcher;
use crate::linked::{self, Family};
use crate::preload::{self, PRELOAD};
use crate::sites;

/// What to record, and how.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Where the trace goes: a folder that is made.
    pub output: PathBuf,
    /// A trace that is there already is replaced.
    pub replace: bool,
    /// The compiler of the MPI library, where the launcher does not tell.
    pub mpicc: Option<PathBuf>,
    /// Bytes that each process may write; afterwards calls are only counted.
    pub limit_per_process: Option<u64>,
    /// Where in the application calls were made is kept.
    pub call_sites: bool,
    /// The launcher, its options, the application and its arguments.
    pub command: Vec<String>,
}

/// A job that is ready to run.
#[derive(Debug)]
pub struct Recording {
    settings: Settings,
    launcher: Option<Launcher>,
    /// What will be loaded into the application.
    pub recorder: Recorder,
    manifest: Manifest,
    /// The folder was not there before.
    made: bool,
}

/// The variable that tells a process where to write.
pub const FOLDER: &str = "MATCHPOINT_RECORD_DIR";
const LIMIT: &str = "MATCHPOINT_RECORD_LIMIT";
const CALL_SITES: &str = "MATCHPOINT_RECORD_CALLSITES";

impl Recording {
    /// Finds the recorder and makes the folder. Nothing runs yet, but for a compiler, of which `compiles` is told before:
    /// for which library.
    ///
    /// # Errors
    /// The command is not there, no recorder can be had for its MPI library, or the folder cannot be made.
    pub fn prepare(settings: Settings, compiles: &mut dyn FnMut(&str)) -> Result<Recording, RecordError> {
        let Some(first) = settings.command.first() else {
            return Err(RecordError("there is no command to record; put it behind --".to_owned()));
        };
        let Some(found) = Launcher::find(first) else {
            return Err(RecordError(Launcher::not_found(first)));
        };
        let application = linked::application(&settings.command);
        if application.is_none() && linked::is_without_mpi(&found.path[0]) {
            return Err(RecordError(format!(
                "{first} calls no MPI, and starts nothing that could: it is linked with the system's libraries alone; put \
                 the launcher and the application behind --"
            )));
        }
        // Without a launcher the application starts itself.
        let is_launcher = application.as_ref().is_none_or(|(path, _)| *path != found.path[0]);
        let launcher = is_launcher.then_some(found);
        let family = application.as_ref().map(|(_, family)| *family);
        let recorder = recorder(launcher.as_ref(), family, settings.mpicc.as_deref(), compiles)?;
        if let Some((path, family)) = application.filter(|(_, family)| *family != recorder.family) {
            return Err(mismatch(&path, family, &recorder));
        }
        loadable(&recorder.path)?;
        let made = folder::make(&settings.output, settings.replace)?;
        let output =
            settings.output.canonicalize().map_err(|error| RecordError::file(&settings.output, &error))?;
        let manifest = Manifest {
            format: manifest::FORMAT.to_owned(),
            version: matchpoint_trace::native::VERSION,
            state: "prepared".to_owned(),
            command: settings.command.clone(),
            started: Some(folder::time(SystemTime::now())),
            ..Manifest::default()
        };
        let settings = Settings { output, ..settings };
        let recording = Recording { settings, launcher, recorder, manifest, made };
        folder::write(recording.output(), &recording.manifest)?;
        Ok(recording)
    }

    /// Notes that the job runs now. One that is started by hand stays `prepared`.
    ///
    /// # Errors
    /// The manifest cannot be written.
    pub fn begins(&mut self) -> Result<(), RecordError> {
        "running".clone_into(&mut self.manifest.state);
        folder::write(self.output(), &self.manifest)
    }

    /// The command with all that makes it be recorded.
    pub fn command(&self) -> Command {
        let words = &self.settings.command;
        let mut command = Command::new(&words[0]);
        let variables = self.variables();
        let preload::Merged { words, by_x } = preload::merge(words, &self.recorder.path.to_string_lossy());
        // Open MPI's launcher hands on only what it is told to, to processes on other hosts.
        let is_open_mpi = self.recorder.family == Family::OpenMpi;
        if is_open_mpi && self.launcher.as_ref().is_some_and(Launcher::is_of_library) {
            let names = variables.iter().map(|(name, _)| *name).filter(|name| *name != PRELOAD || !by_x);
            command.args(names.flat_map(|name| ["-x", name]));
        }
        command.args(&words[1..]);
        command.envs(variables);
        command
    }

    /// What the job's processes need in their environment, for batch scripts.
    pub fn variables(&self) -> Vec<(&'static str, OsString)> {
        let mut preload = self.recorder.path.clone().into_os_string();
        if let Some(others) = env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        let mut variables = vec![(PRELOAD, preload), (FOLDER, self.settings.output.clone().into_os_string())];
        variables.extend(self.settings.call_sites.then(|| (CALL_SITES, "1".into())));
        variables.extend(self.settings.limit_per_process.map(|limit| (LIMIT, limit.to_string().into())));
        variables
    }

    /// Where the trace is.
    pub fn output(&self) -> &Path {
        &self.settings.output
    }

    /// Looks at what the job left, and completes the manifest. What cannot be written then is told in what it returns: a
    /// full disk does not take away what the job has left.
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
            folder::forget(&output, self.made);
        }
        if self.settings.call_sites && !files.is_empty() {
            unwritten.extend(sites::write(&output, &files).err());
        }
        let told = |file: &&RankFile| !file.complete;
        let ends = || files.iter().filter_map(|file| file.end.as_ref());
        Ok(Recorded {
            ranks: self.manifest.ranks.unwrap_or(0),
            missing: missing(&self.manifest),
            incomplete: self.manifest.files.iter().filter(told).map(|file| file.rank).collect(),
            silent: without_calls(&files, |end| end.is_none()),
            all_left_out: without_calls(&files, |end| end.is_some_and(|end| end.left_out > 0)),
            calls: self.manifest.files.iter().map(|file| file.calls).sum(),
            within: files
                .iter()
                .flat_map(|file| file.within.iter().map(|function| (function.clone(), file.head.rank)))
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

/// Ranks whose file holds no call and has such an end.
fn without_calls(files: &[Summary], has_end: impl Fn(Option<&End>) -> bool) -> Vec<u32> {
    let without = files.iter().filter(|file| file.calls == 0 && has_end(file.end.as_ref()));
    without.map(|file| file.head.rank).collect()
}

/// A job that has run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Where the trace is.
    pub output: PathBuf,
    /// The first line of what the library calls itself.
    pub mpi: String,
    /// Of `MPI_COMM_WORLD`; 0 if nothing was recorded.
    pub ranks: u32,
    /// Ranks without a file.
    pub missing: Vec<u32>,
    /// Ranks whose file has no proper end: killed, aborted, or over the limit.
    pub incomplete: Vec<u32>,
    /// Those of them that died before any call was written.
    pub silent: Vec<u32>,
    /// Those of them of which no call was within the limit.
    pub all_left_out: Vec<u32>,
    /// Functions of MPI, and ranks that had been within them for a second or more when they died.
    pub within: Vec<(String, u32)>,
    /// Calls in the trace.
    pub calls: u64,
    /// Calls that were only counted.
    pub left_out: u64,
    /// Calls that were not recorded for another reason than a limit.
    pub unseen: u64,
    /// The longest that one process waited for the recorder to write.
    pub waited_ns: u64,
    /// Of all rank files.
    pub bytes: u64,
    /// Folders of processes that the application spawned, and of further jobs of the command, and how many there are in each.
    pub spawned: Vec<(PathBuf, usize)>,
    /// What of the manifests and call sites could not be written once the job had ended, and why.
    pub unwritten: Vec<RecordError>,
}

/// The loader takes a list of names with either between them, and knows no way around that.
fn loadable(recorder: &Path) -> Result<(), RecordError> {
    let name = recorder.as_os_str().as_encoded_bytes();
    if !name.iter().any(|byte| byte.is_ascii_whitespace() || *byte == b':') {
        return Ok(());
    }
    Err(RecordError(format!(
        "{}: LD_PRELOAD cannot name a file with a space or a colon in its path; set XDG_CACHE_HOME to a folder without",
        recorder.display()
    )))
}

fn missing(manifest: &Manifest) -> Vec<u32> {
    let mut present: Vec<u32> = manifest.files.iter().map(|file| file.rank).collect();
    present.sort_unstable();
    (0..manifest.ranks.unwrap_or(0)).filter(|rank| present.binary_search(rank).is_err()).collect()
}

fn mismatch(application: &Path, family: Family, recorder: &Recorder) -> RecordError {
    RecordError(format!(
        "{} is linked with {}, but the MPI that was found is {}; start it with the launcher of its own MPI, or name that \
         MPI's compiler with --mpicc",
        application.display(),
        family.name(),
        recorder.library
    ))
}
