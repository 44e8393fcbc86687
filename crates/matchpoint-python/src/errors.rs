//! Conversion of errors to Python exceptions, with the text of the command's errors.

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

/// Converts the error of a command. A wrong argument becomes `ValueError`.
pub(crate) fn exception(failure: Failure) -> PyErr {
    match failure {
        Failure::Message(message) => MatchpointError::new_err(message),
        Failure::Coded(_, message) => PyValueError::new_err(message),
        Failure::Interrupted => PyKeyboardInterrupt::new_err(()),
        Failure::Reported(code) => MatchpointError::new_err(format!("a process ended with code {code}")),
        Failure::BrokenPipe => MatchpointError::new_err("the reader of the output closed the pipe"),
    }
}

pub(crate) fn wrong_argument(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The exception for an Arrow table that cannot be created or read.
pub(crate) fn arrow_error(error: impl Display) -> PyErr {
    MatchpointError::new_err(error.to_string())
}

/// Parses the arguments of a command line, without the program's name.
pub(crate) fn parse(arguments: Vec<OsString>) -> PyResult<Command> {
    let line: Vec<OsString> = [OsString::from("matchpoint")].into_iter().chain(arguments).collect();
    try_parse(&line).map(|parsed| parsed.command).map_err(|error| {
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        // The command's usage is left out: it does not apply to Python.
        let end = ["\n\nUsage:", "\n\nFor more information"].iter().filter_map(|tail| text.find(tail)).min();
        PyValueError::new_err(text[..end.unwrap_or(text.len())].trim_end().to_owned())
    })
}

/// The error for the arguments of another command.
pub(crate) fn other_command() -> PyErr {
    PyValueError::new_err("the arguments are those of another command")
}
