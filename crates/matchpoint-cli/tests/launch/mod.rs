//! A job of an MPI launcher, under a command of `matchpoint`.

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fmt, fs};

use tempfile::TempDir;

use crate::mpi::Mpi;
use crate::ran;

pub struct Job {
    pub folder: TempDir,
    pub command: Command,
}

pub struct JobOutput {
    pub folder: TempDir,
    ran: ran::CommandOutput,
}

impl Job {
    pub fn with(self, mpi: &Mpi, ranks: u32, program: &Path) -> Job {
        let (launcher, ranks) = (mpi.mpiexec(), ranks.to_string());
        self.args([launcher.as_os_str(), OsStr::new("-n"), OsStr::new(&ranks), program.as_os_str()])
    }

    pub fn args<T: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = T>) -> Job {
        self.command.args(words);
        self
    }

    pub fn counting(self) -> Job {
        let prefix = self.folder.path().join("count");
        self.args([OsStr::new("--count"), prefix.as_os_str()])
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Job {
        self.command.env(name, value);
        self
    }

    /// Runs the job. Asserts that the job deletes the temporary folders of `matchpoint run`.
    pub fn run(mut self) -> JobOutput {
        let ran = JobOutput { ran: ran::CommandOutput::of(&mut self.command), folder: self.folder };
        let places = [ran.folder.path().join("tmp"), ran.folder.path().to_owned()];
        let left = places.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
        let mut names = left.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let ours = names.find(|name| name.starts_with("matchpoint-run"));
        assert_eq!(ours, None, "a folder of the run was left\n{ran}");
        ran
    }

    pub fn succeed(self) -> JobOutput {
        let ran = self.run();
        assert_eq!(ran.code, Some(0), "{ran}");
        ran
    }
}

impl JobOutput {
    pub fn prefix(&self) -> PathBuf {
        self.folder.path().join("count")
    }
}

impl Deref for JobOutput {
    type Target = ran::CommandOutput;

    fn deref(&self) -> &ran::CommandOutput {
        &self.ran
    }
}

impl fmt::Display for JobOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ran.fmt(f)
    }
}
