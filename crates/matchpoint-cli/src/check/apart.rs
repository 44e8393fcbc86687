//! A library that is being checked may crash: it gets a process of its own, and the one that is left tells where.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, ExitStatus};

use super::output::{BROKEN, UNABLE, say, write};
use super::tell::{Finding, Findings};
use crate::cli::Check;
use crate::failure::Failure;
use crate::format::counted;
use crate::output::{Outputs, Place};

/// Runs this same command once more, in a process that loads the library.
///
/// # Errors
/// What that process told the user already, or that it crashed.
pub(super) fn run(arguments: &Check, library: &Path) -> Result<(), Failure> {
    let started = |error: io::Error| {
        Failure::Coded(
            UNABLE,
            format!("cannot start a process to check in: {error}; --trail FILE needs none"),
        )
    };
    let trail = tempfile::NamedTempFile::new().map_err(started)?;
    let so_far = tempfile::NamedTempFile::new().map_err(started)?;
    let mut again = Command::new(std::env::current_exe().map_err(started)?);
    again.args(std::env::args_os().skip(1)).arg("--trail").arg(trail.path());
    let status = again.arg("--so-far").arg(so_far.path()).status().map_err(started)?;
    match (status.success(), status.code()) {
        (true, _) => Ok(()),
        (_, Some(code)) => Err(Failure::Told(code.try_into().unwrap_or(UNABLE))),
        (_, None) => Err(crashed(arguments, library, status, [trail.path(), so_far.path()])?),
    }
}

/// Tells what that process has not told any more: a crash is a law broken as others are, though nobody knows a script.
fn crashed(
    arguments: &Check,
    library: &Path,
    status: ExitStatus,
    [trail, so_far]: [&Path; 2],
) -> Result<Failure, Failure> {
    let library = library.display();
    let debugger = "the same command with --trail FILE loads it into one process, for a debugger";
    let [trail, so_far] = [trail, so_far].map(|path| fs::read_to_string(path).unwrap_or_default());
    let found: Option<Vec<Finding>> = so_far.lines().map(|line| serde_json::from_str(line).ok()).collect();
    let (Some(stream), Some(mut engines)) = (trail.lines().next(), found) else {
        let text = format!("{library} crashed while it was loaded ({status}); {debugger}");
        return Ok(Failure::Coded(UNABLE, text));
    };
    let mut left = arguments.named().len().max(1);
    let mut outputs = Outputs::default();
    let json = outputs.reserve_if(arguments.json.as_deref())?;
    if let Some(last) = engines.last_mut() {
        last.crashed(stream, status);
        if !json.is_some_and(Place::is_stdout) {
            say(&last.text(None))?;
        }
    }
    left = left.saturating_sub(engines.len());
    write(&Findings { schema: 1, engines }, json, &mut outputs)?;
    outputs.finish("")?;
    let unchecked = match left {
        0 => String::new(),
        left => format!("; {} behind it not checked", counted(left as u64, "engine")),
    };
    let text =
        format!("{library} crashed while the stream `{stream}` was played ({status}){unchecked}; {debugger}");
    Ok(Failure::Coded(BROKEN, text))
}

/// Where the process that may crash writes down what it is about to do, and what it found so far.
pub(super) struct Trail {
    stream: Option<File>,
    so_far: Option<File>,
    /// Bytes of `so_far` that are about engines that were checked; behind them stands the one that is.
    finished: u64,
}

impl Trail {
    /// Writes to the files that the arguments name, if they do.
    pub(super) fn new(arguments: &Check) -> Result<Self, Failure> {
        let file = |path: &Path| File::create(path).map_err(|error| Failure::writing(path, &error));
        Ok(Trail {
            stream: arguments.trail.as_deref().map(file).transpose()?,
            so_far: arguments.so_far.as_deref().map(file).transpose()?,
            finished: 0,
        })
    }

    /// The stream that comes next, and what would be found without it. What cannot be written is not worth stopping for.
    pub(super) fn note(&mut self, stream: &str, so_far: impl FnOnce() -> Finding) {
        if let Some(file) = &mut self.stream {
            let _ = replace(file, 0, stream);
        }
        if let Some(file) = &mut self.so_far {
            let _ = serde_json::to_string(&so_far())
                .map_err(io::Error::from)
                .and_then(|line| replace(file, self.finished, &line));
        }
    }

    /// An engine was checked.
    pub(super) fn finish(&mut self, finding: &Finding) {
        let Some(file) = &mut self.so_far else { return };
        let written = serde_json::to_string(finding)
            .map_err(io::Error::from)
            .and_then(|line| replace(file, self.finished, &line));
        if let Ok(end) = written {
            self.finished = end;
        }
    }
}

/// Writes a line in the place of all that stands from there on. Where that ends.
fn replace(file: &mut File, from: u64, line: &str) -> io::Result<u64> {
    // A shorter one would leave the end of a longer one behind.
    file.set_len(from)?;
    file.seek(SeekFrom::Start(from))?;
    writeln!(file, "{line}")?;
    file.stream_position()
}
