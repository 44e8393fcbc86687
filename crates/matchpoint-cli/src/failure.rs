//! Exit codes and error messages.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use matchpoint_replay::ReplayError;
use matchpoint_trace::TraceError;

/// Exit code after an interrupt: 128 + SIGINT, as in a shell.
pub const INTERRUPTED: u8 = 130;

/// Reason why a command did not finish.
#[derive(Debug)]
pub enum Failure {
    /// An error message, perhaps with a line `hint: …`.
    Message(String),
    /// An error message with its exit code.
    Coded(u8, String),
    /// The user interrupted the command.
    Interrupted,
    /// A process of ours has told the user, and ended with this code.
    Told(u8),
    /// Whoever read our output has read enough.
    BrokenPipe,
}

impl Failure {
    /// The command line asks for what cannot be had together, or names what is not there: ends as one that cannot be read.
    pub fn usage(what: String) -> Self {
        Failure::Coded(2, what)
    }

    /// A file could not be written.
    pub fn writing(path: &Path, error: &io::Error) -> Self {
        // Some name the file that was to have this name once it was whole, which nobody can look at.
        let said = error.to_string();
        let why = said.split(" at path \"").next().unwrap_or_default();
        Failure::Message(format!("cannot write {}: {why}; {}", path.display(), instead(path, error)))
    }

    /// Standard output could not be written.
    pub fn printing(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::Message(format!("cannot write to standard output: {error}")),
        }
    }
}

/// What to do where a file cannot be written.
fn instead(path: &Path, error: &io::Error) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_there = folder.is_dir();
    let folder = folder.display();
    match error.kind() {
        _ if path.is_dir() => "name a file in it, or another".to_owned(),
        io::ErrorKind::NotFound if !is_there => {
            format!("make the folder {folder} (mkdir -p), or name another file")
        }
        io::ErrorKind::NotADirectory => format!("{folder} is no folder: name another file"),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            format!("you may not write to {folder}: name a file elsewhere")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there, or name a file elsewhere".to_owned()
        }
        _ => "check that its folder exists and may be written to".to_owned(),
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        Failure::Message(error.to_string())
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Stopped => Failure::Interrupted,
            other => Failure::Message(other.to_string()),
        }
    }
}

/// Prints the error, if any, and returns the exit code.
pub fn exit_code(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) | Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => {
            anstream::eprintln!("matchpoint: error: {message}");
            ExitCode::FAILURE
        }
        Err(Failure::Coded(code, message)) => {
            anstream::eprintln!("matchpoint: error: {message}");
            ExitCode::from(code)
        }
        Err(Failure::Told(code)) => ExitCode::from(code),
        Err(Failure::Interrupted) => {
            anstream::eprintln!("matchpoint: interrupted; nothing was written");
            ExitCode::from(INTERRUPTED)
        }
    }
}
