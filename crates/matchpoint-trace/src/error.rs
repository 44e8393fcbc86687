//! What is wrong with a trace: which file, where in it, what was read, and what to do.

use std::fmt::{self, Display};
use std::io;
use std::path::{Path, PathBuf};

/// A trace that cannot be read.
#[derive(Debug)]
pub struct TraceError {
    /// Which file or folder.
    pub path: PathBuf,
    /// Where in it: a byte offset, for binary files.
    pub offset: Option<u64>,
    /// Where in it: a line, counted from 1, for text files.
    pub line: Option<u64>,
    /// What was found there.
    pub problem: String,
    /// What to do about it.
    pub advice: String,
}

impl TraceError {
    /// An error about all of a file.
    pub fn new(path: &Path, problem: impl Into<String>, advice: impl Into<String>) -> Self {
        TraceError {
            path: path.to_owned(),
            offset: None,
            line: None,
            problem: problem.into(),
            advice: advice.into(),
        }
    }

    /// At this byte of the file.
    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// At this line of the file.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// The file could not be opened or mapped.
    pub fn io(path: &Path, error: &io::Error) -> Self {
        TraceError::new(path, error.to_string(), "check the path and its permissions")
    }
}

impl Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        write!(f, ": {}; {}", self.problem, self.advice)
    }
}

impl std::error::Error for TraceError {}
