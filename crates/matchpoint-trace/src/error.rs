//! Errors of traces: file, position, problem and advice.

use std::fmt::{self, Display};
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct TraceError {
    pub path: PathBuf,
    pub offset: Option<u64>,
    /// Line of the error in a text file, from 1.
    pub line: Option<u64>,
    pub problem: String,
    pub advice: String,
}

impl TraceError {
    pub fn new(path: &Path, problem: impl Into<String>, advice: impl Into<String>) -> Self {
        TraceError {
            path: path.to_owned(),
            offset: None,
            line: None,
            problem: problem.into(),
            advice: advice.into(),
        }
    }

    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

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
