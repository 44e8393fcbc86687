//! A library that is being checked may crash: it gets a process of its own, and the one that is left tells where.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, ExitStatus};

use super::{BROKEN, UNABLE};
use crate::failure::Failure;

/// Runs this same command once more, in a process that loads the library.
///
/// # Errors
/// What that process told the user already, or that it crashed.
pub(super) fn run(library: &Path) -> Result<(), Failure> {
    let started = |error: io::Error| {
        Failure::Coded(
            UNABLE,
            format!("cannot start a process to check in: {error}; --trail FILE needs none"),
        )
    };
    let trail = tempfile::NamedTempFile::new().map_err(started)?;
    let mut again = Command::new(std::env::current_exe().map_err(started)?);
    let status = again.args(std::env::args_os().skip(1)).arg("--trail").arg(trail.path()).status();
    let status = status.map_err(started)?;
    match (status.success(), status.code()) {
        (true, _) => Ok(()),
        (_, Some(code)) => Err(Failure::Told(code.try_into().unwrap_or(UNABLE))),
        (_, None) => Err(crashed(library, status, trail.path())),
    }
}

fn crashed(library: &Path, status: ExitStatus, trail: &Path) -> Failure {
    let played = fs::read_to_string(trail).unwrap_or_default();
    let (code, played) = match played.lines().next() {
        Some(stream) if !stream.is_empty() => (BROKEN, format!("while the stream `{stream}` was played")),
        _ => (UNABLE, "while it was loaded".to_owned()),
    };
    let text = format!(
        "{} crashed {played} ({status}); the same command with --trail FILE loads it into one process, for a debugger",
        library.display()
    );
    Failure::Coded(code, text)
}

/// Where the process that may crash writes down what it is about to do.
pub(super) struct Trail(Option<File>);

impl Trail {
    /// Writes to `path`, if there is one.
    pub(super) fn new(path: Option<&Path>) -> Result<Self, Failure> {
        let file = path.map(|path| File::create(path).map_err(|error| Failure::writing(path, &error)));
        Ok(Trail(file.transpose()?))
    }

    /// The stream that comes next. What cannot be written is not worth stopping for.
    pub(super) fn note(&mut self, stream: &str) {
        if let Some(file) = &mut self.0 {
            let _ = file.seek(SeekFrom::Start(0)).and_then(|_| writeln!(file, "{stream}"));
        }
    }
}
