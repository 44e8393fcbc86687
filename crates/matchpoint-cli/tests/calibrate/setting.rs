//! A folder for a calibration, and the command.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use matchpoint_model::machine::{self, Machine};
use serde_json::Value;
use tempfile::{TempDir, tempdir_in};

use crate::mpi;
pub use crate::ran::{CommandOutput, MATCHPOINT};

/// Time limit of a job, in seconds.
const SECONDS: &str = "200";

pub const QUICK: &[&str] =
    &["--seconds", "0.005", "--max-bytes", "32K", "--max-messages", "100", "--total-bytes", "16K"];

pub struct Setting {
    folder: TempDir,
}

impl Setting {
    /// Creates the folder below the folder of all tests, which every emulated host mounts.
    pub fn new() -> Setting {
        Setting { folder: tempdir_in(mpi::scratch()).unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn words(&self, options: &[&str]) -> Vec<Box<OsStr>> {
        let mut words: Vec<Box<OsStr>> = ["timeout", "-k", "5", SECONDS, MATCHPOINT, "calibrate"]
            .map(|word| OsStr::new(word).into())
            .into();
        words.extend(options.iter().map(|option| OsStr::new(option).into()));
        words.extend(["-o".as_ref(), self.path("machine.toml").as_os_str()].map(Into::into));
        words.extend(["--json".as_ref(), self.path("machine.json").as_os_str()].map(Into::into));
        words
    }

    pub fn run<T: AsRef<OsStr>>(
        &self,
        options: &[&str],
        launcher: impl IntoIterator<Item = T>,
    ) -> CommandOutput {
        let words = self.words(options);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        let mut launcher = launcher.into_iter().peekable();
        if launcher.peek().is_some() {
            command.arg("--").args(launcher);
        }
        CommandOutput::of(command.env("XDG_CACHE_HOME", mpi::cache()))
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.path(name)).unwrap()).unwrap()
    }

    pub fn machine(&self) -> Machine {
        machine::read(&self.path("machine.toml")).unwrap()
    }

    pub fn raw(&self) -> String {
        std::fs::read_to_string(self.path("machine.raw.jsonl")).unwrap()
    }
}
