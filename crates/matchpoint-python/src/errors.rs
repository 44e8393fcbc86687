//! Python exceptions with the words of the command's errors.

use std::ffi::OsString;
use std::fmt::Display;

use matchpoint_cli::cli::{Command, try_parse};
use matchpoint_cli::failure::Failure;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    matchpoint_mpi,
    MatchpointError,
    PyException,
    "Error of a trace, a file or an engine. The text is that of the command, with its hint on a separate line."
);

/// The exception for a failed command. Wrong arguments raise `ValueError`.
pub(crate) fn exception(failure: Failure) -> PyErr {
    match failure {
        Failure::Message(message) => MatchpointError::new_err(message),
        Failure::Coded(_, message) => PyValueError::new_err(message),
        Failure::Interrupted => PyKeyboardInterrupt::new_err(()),
        Failure::Reported(code) => MatchpointError::new_err(format!("a process ended with code {code}")),
        Failure::BrokenPipe => MatchpointError::new_err("the reader of the output closed the pipe"),
    }
}

/// The exception for a wrong argument.
pub(crate) fn wrong_argument(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The exception for an Arrow table that cannot be made or read.
pub(crate) fn arrow_error(error: impl Display) -> PyErr {
    MatchpointError::new_err(error.to_string())
}

/// Parses the words of a command, without the program's name.
pub(crate) fn parse(words: Vec<OsString>) -> PyResult<Command> {
    let words: Vec<OsString> = [OsString::from("matchpoint")].into_iter().chain(words).collect();
    try_parse(&words).map(|parsed| parsed.command).map_err(|error| {
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        // The usage of the command does not apply to Python.
        let end = ["\n\nUsage:", "\n\nFor more information"].iter().filter_map(|tail| text.find(tail)).min();
        PyValueError::new_err(text[..end.unwrap_or(text.len())].trim_end().to_owned())
    })
}

/// The error for words that another function of the package made.
pub(crate) fn other_command() -> PyErr {
    PyValueError::new_err("the words belong to another command")
}
