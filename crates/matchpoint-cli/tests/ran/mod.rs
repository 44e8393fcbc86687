//! A finished command.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fmt, fs};

use serde_json::Value;

pub const MATCHPOINT: &str = env!("CARGO_BIN_EXE_matchpoint");

pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    what: String,
}

/// Runs `matchpoint` with these arguments.
pub fn matchpoint<T: AsRef<OsStr>>(arguments: impl IntoIterator<Item = T>) -> Ran {
    Ran::of(Command::new(MATCHPOINT).args(arguments))
}

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap().join(path)
}

/// A trace of `traces/`.
pub fn bundled(name: &str) -> String {
    repository(&format!("traces/{name}")).display().to_string()
}

/// Writes a program of the shell.
pub fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Copies a trace of `traces/`.
pub fn copy_bundled(name: &str, to: &Path) {
    for file in fs::read_dir(bundled(name)).unwrap().flatten() {
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// The words of a text, with one space between two words: lines break where they are full.
pub fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Ran {
    pub fn of(command: &mut Command) -> Ran {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        Ran { code: output.status.code(), stdout, stderr, what: format!("{command:?}") }
    }

    #[track_caller]
    pub fn succeed(self) -> Ran {
        self.exit(0)
    }

    #[track_caller]
    pub fn exit(self, code: i32) -> Ran {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// The command failed with this code and one error, perhaps with a hint.
    #[track_caller]
    pub fn fail(self, code: i32) -> Ran {
        assert_eq!((self.code, self.errors()), (Some(code), 1), "{self}");
        self
    }

    /// Lines of standard error, hints excluded.
    pub fn errors(&self) -> usize {
        self.stderr.lines().filter(|line| !line.starts_with("hint: ")).count()
    }

    /// The error of the command, with its hint.
    #[track_caller]
    pub fn complaint(self) -> String {
        let errors = self.stderr.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!((self.code, errors), (Some(1), 1), "{self}");
        self.stderr[self.stderr.find("error: ").unwrap()..].to_owned()
    }

    /// Standard error contains these words.
    #[track_caller]
    pub fn says(&self, words: &str) -> &Ran {
        assert!(self.stderr.contains(words), "not said: {words}\n{self}");
        self
    }

    /// Standard output contains these words.
    #[track_caller]
    pub fn prints(&self, words: &str) -> &Ran {
        assert!(self.stdout.contains(words), "not printed: {words}\n{self}");
        self
    }

    /// The columns of the widest line of standard output.
    pub fn width(&self) -> usize {
        self.stdout.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    /// The JSON on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nexit code {:?}\n{}{}", self.what, self.code, self.stdout, self.stderr)
    }
}
