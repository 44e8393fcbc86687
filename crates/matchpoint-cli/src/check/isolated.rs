//! Checks a library in a separate process, because the library may crash.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, ExitStatus};

use matchpoint_replay::format::counted;

use super::finding::{BROKEN, Finding, Findings, UNABLE};
use crate::cli::Check;
use crate::failure::Failure;
use crate::output::{OutputId, Outputs, print};
use crate::report::schema;

/// Runs the command in another process, which loads the library.
pub(super) fn run(arguments: &Check, library: &Path) -> Result<(), Failure> {
    let started = |error: io::Error| {
        Failure::Coded(
            UNABLE,
            format!(
                "cannot start a process for the check: {error}\nhint: use --trail FILE, which needs none"
            ),
        )
    };
    let trail = tempfile::NamedTempFile::new().map_err(started)?;
    let so_far = tempfile::NamedTempFile::new().map_err(started)?;
    let mut again = Command::new(std::env::current_exe().map_err(started)?);
    again.args(std::env::args_os().skip(1)).arg("--trail").arg(trail.path());
    let status = again.arg("--so-far").arg(so_far.path()).status().map_err(started)?;
    match (status.success(), status.code()) {
        (true, _) => Ok(()),
        (_, Some(code)) => Err(Failure::Reported(code.try_into().unwrap_or(UNABLE))),
        (_, None) => Err(crashed(arguments, library, status, [trail.path(), so_far.path()])?),
    }
}

fn crashed(
    arguments: &Check,
    library: &Path,
    status: ExitStatus,
    [trail, so_far]: [&Path; 2],
) -> Result<Failure, Failure> {
    let library = library.display();
    let hint = "use --trail FILE under a debugger: the library is then loaded into one process";
    let [trail, so_far] = [trail, so_far].map(|path| fs::read_to_string(path).unwrap_or_default());
    let found: Option<Vec<Finding>> = so_far.lines().map(|line| serde_json::from_str(line).ok()).collect();
    let (Some(stream), Some(mut engines)) = (trail.lines().next(), found) else {
        let text = format!("'{library}' crashed while loading ({status})\nhint: {hint}");
        return Ok(Failure::Coded(UNABLE, text));
    };
    let mut left = arguments.named().len().max(1);
    let mut outputs = Outputs::default();
    let json = outputs.reserve_if(arguments.json.as_deref())?;
    if let Some(last) = engines.last_mut() {
        last.crashed(stream, status);
        if !json.is_some_and(OutputId::is_stdout) {
            print(&last.text(None))?;
        }
    }
    left = left.saturating_sub(engines.len());
    if let Some(json) = json {
        outputs.fill(json, |out| schema::write(&Findings { schema: 1, engines }, out))?;
    }
    outputs.finish("")?;
    let unchecked = match left {
        0 => String::new(),
        left => format!("; {} not checked", counted(left as u64, "engine")),
    };
    let text = format!("'{library}' crashed in the stream '{stream}' ({status}){unchecked}\nhint: {hint}");
    Ok(Failure::Coded(BROKEN, text))
}

/// Files for the case of a crash. The process writes the next stream and the findings so far.
pub(super) struct Trail {
    stream: Option<File>,
    so_far: Option<File>,
    /// Bytes of `so_far` about finished engines, before the finding of the current engine.
    finished: u64,
}

impl Trail {
    pub(super) fn new(arguments: &Check) -> Result<Self, Failure> {
        let file = |path: &Path| File::create(path).map_err(|error| Failure::writing(path, &error));
        Ok(Trail {
            stream: arguments.trail.as_deref().map(file).transpose()?,
            so_far: arguments.so_far.as_deref().map(file).transpose()?,
            finished: 0,
        })
    }

    /// Writes the previous finding, and the next stream. Errors are ignored.
    pub(super) fn note(&mut self, stream: &str, so_far: impl FnOnce() -> Finding) {
        if let Some(file) = &mut self.stream {
            let _ = replace(file, 0, stream);
        }
        if self.so_far.is_some() {
            self.write(&so_far());
        }
    }

    pub(super) fn finish(&mut self, finding: &Finding) {
        if let Some(end) = self.write(finding) {
            self.finished = end;
        }
    }

    /// Writes the finding of the current engine. Returns the end of the line in the file.
    fn write(&mut self, finding: &Finding) -> Option<u64> {
        let line = serde_json::to_string(finding).ok()?;
        replace(self.so_far.as_mut()?, self.finished, &line).ok()
    }
}

/// Replaces the rest of the file, from `from` on, by a line. Returns the end of the line.
fn replace(file: &mut File, from: u64, line: &str) -> io::Result<u64> {
    file.set_len(from)?;
    file.seek(SeekFrom::Start(from))?;
    writeln!(file, "{line}")?;
    file.stream_position()
}
