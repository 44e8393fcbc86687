//! Exit codes and error messages.

use std::error::Error;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use matchpoint_replay::ReplayError;

/// Exit code after an interrupt: 128 + SIGINT, as in a shell.
pub const INTERRUPTED: u8 = 130;

#[derive(Debug)]
pub enum Failure {
    /// An error message, and perhaps a second line `hint: …`.
    Message(String),
    Coded(u8, String),
    Interrupted,
    /// A child process has printed the error. The code is its exit code.
    Reported(u8),
    /// The reader of standard output closed the pipe.
    BrokenPipe,
}

impl Failure {
    pub fn usage(message: String) -> Self {
        Failure::Coded(2, message)
    }

    pub fn writing(path: &Path, error: &io::Error) -> Self {
        // Some errors contain the name of a temporary file, which users do not know.
        let text = error.to_string();
        let reason = text.split(" at path \"").next().unwrap_or_default();
        Failure::Message(format!("cannot write '{}': {reason}\nhint: {}", path.display(), hint(path, error)))
    }

    pub fn printing(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::Message(format!("cannot write to standard output: {error}")),
        }
    }
}

/// `.` for a name without a folder.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn hint(path: &Path, error: &io::Error) -> String {
    let folder = folder_of(path);
    let is_there = folder.is_dir();
    let folder = folder.display();
    match error.kind() {
        _ if path.is_dir() => "name a file in this folder, or another file".to_owned(),
        io::ErrorKind::NotFound if !is_there => {
            format!("create the folder '{folder}' (mkdir -p), or name another file")
        }
        io::ErrorKind::NotADirectory => format!("'{folder}' is not a folder: name another file"),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            format!("'{folder}' is not writable: name a file in another folder")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free disk space, or name a file in another folder".to_owned()
        }
        _ => "check that the folder exists and is writable".to_owned(),
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let error: &dyn Error = &error;
        match error.downcast_ref() {
            Some(ReplayError::Stopped) => Failure::Interrupted,
            _ => Failure::Message(error.to_string()),
        }
    }
}

pub fn exit_code(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) | Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => {
            print(&message);
            ExitCode::FAILURE
        }
        Err(Failure::Coded(code, message)) => {
            print(&message);
            ExitCode::from(code)
        }
        Err(Failure::Reported(code)) => ExitCode::from(code),
        Err(Failure::Interrupted) => {
            anstream::eprintln!("matchpoint: interrupted: no file was written");
            ExitCode::from(INTERRUPTED)
        }
    }
}

pub fn fact(message: &str) -> &str {
    message.split("\nhint: ").next().unwrap_or_default()
}

pub fn print(message: &str) {
    anstream::eprintln!("error: {message}");
}
