//! A finished command.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fmt, fs};

use serde_json::Value;
use tempfile::TempDir;

pub const MATCHPOINT: &str = env!("CARGO_BIN_EXE_matchpoint");

pub struct CommandOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    what: String,
}

pub fn matchpoint<T: AsRef<OsStr>>(arguments: impl IntoIterator<Item = T>) -> CommandOutput {
    CommandOutput::of(Command::new(MATCHPOINT).args(arguments))
}

pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap().join(path)
}

/// Builds libraries into the folder of the command. `scripts/test` builds the libraries before, and sets the variable.
pub fn build_libraries(packages: &[&str]) -> &'static Path {
    let folder = Path::new(MATCHPOINT).parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository("")).args(["build", "--locked", "--quiet", "--target-dir"]);
    cargo.arg(folder.parent().unwrap()).args(packages.iter().map(|name| format!("--package={name}")));
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    if env::var_os("MATCHPOINT_LIBRARIES_BUILT").is_none() {
        CommandOutput::of(&mut cargo).succeed();
    }
    folder
}

pub fn bundled(name: &str) -> String {
    repository(&format!("traces/{name}")).display().to_string()
}

pub fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

pub fn copy_bundled(name: &str, to: &Path) {
    for file in fs::read_dir(bundled(name)).unwrap().flatten() {
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

pub fn file(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

pub fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl CommandOutput {
    pub fn of(command: &mut Command) -> CommandOutput {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        CommandOutput { code: output.status.code(), stdout, stderr, what: format!("{command:?}") }
    }

    #[track_caller]
    pub fn succeed(self) -> CommandOutput {
        self.exit(0)
    }

    #[track_caller]
    pub fn exit(self, code: i32) -> CommandOutput {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Asserts this exit code and exactly one error. A hint may follow the error.
    #[track_caller]
    pub fn fail(self, code: i32) -> CommandOutput {
        assert_eq!((self.code, self.errors()), (Some(code), 1), "{self}");
        self
    }

    /// The number of lines on standard error without hints.
    pub fn errors(&self) -> usize {
        self.stderr.lines().filter(|line| !line.starts_with("hint: ")).count()
    }

    /// The error message and its hint. Asserts exit code 1.
    #[track_caller]
    pub fn complaint(self) -> String {
        let errors = self.stderr.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!((self.code, errors), (Some(1), 1), "{self}");
        self.stderr[self.stderr.find("error: ").unwrap()..].to_owned()
    }

    #[track_caller]
    pub fn reports(&self, words: &str) -> &CommandOutput {
        assert!(self.stderr.contains(words), "not reported: {words}\n{self}");
        self
    }

    #[track_caller]
    pub fn prints(&self, words: &str) -> &CommandOutput {
        assert!(self.stdout.contains(words), "not printed: {words}\n{self}");
        self
    }

    pub fn width(&self) -> usize {
        self.stdout.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }
}

impl fmt::Display for CommandOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nexit code {:?}\n{}{}", self.what, self.code, self.stdout, self.stderr)
    }
}
