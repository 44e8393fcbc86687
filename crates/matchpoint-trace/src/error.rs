//! Errors of traces: file, position, problem and advice.

use std::fmt::{self, Display};
use std::io;
use std::path::{Path, PathBuf};

/// A trace that cannot be read.
#[derive(Debug)]
pub struct TraceError {
    /// File or folder with the error.
    pub path: PathBuf,
    /// Offset in a binary file.
    pub offset: Option<u64>,
    /// Line of the error in a text file, from 1.
    pub line: Option<u64>,
    /// Problem that the reader found.
    pub problem: String,
    /// Advice for the user.
    pub advice: String,
}

impl TraceError {
    /// Error about a whole file.
    pub fn new(path: &Path, problem: impl Into<String>, advice: impl Into<String>) -> Self {
        TraceError {
            path: path.to_owned(),
            offset: None,
            line: None,
            problem: problem.into(),
            advice: advice.into(),
        }
    }

    /// Adds the byte offset of the error.
    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Adds the line of the error.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// A file could not be opened or mapped.
    pub fn io(path: &Path, error: &io::Error) -> Self {
        TraceError::new(path, error.to_string(), "check the path and its permissions")
    }
}

impl Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read '{}'", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        write!(f, ": {}\nhint: {}", self.problem, self.advice)
    }
}

impl std::error::Error for TraceError {}
