//! Communication profile of a run, for `partner:mode=static`: numbers of queued entries by process and source
//! (partner paper §4.2).
//!
//! A profile is a text file. The first line is [`VERSION`]. Empty lines and `#` comments are ignored.
//! `processes P` is the number of processes. `process R` starts the lines of process R. A line of four
//! numbers is a source:
//!
//! ```text
//! matchpoint-partners 1
//! processes 27
//! process 0
//! # context source posted unexpected
//! 0 1 12 3
//! 0 3 9 0
//! process 1
//! 0 0 12 3
//! ```
//!
//! *context* is the mapped context id: each process numbers contexts in the order of their first entry.
//! *source* is a rank of the communicator.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// First line of a profile.
pub const VERSION: &str = "matchpoint-partners 1";

/// Bound of process and context numbers, so that every key fits into 64 bits.
const IDS: u64 = 1 << 32;

/// Queued entries of one source at one process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Source {
    /// Mapped context id.
    pub context: u64,
    /// Rank of the source in the communicator.
    pub source: u32,
    /// Queued receives with this source.
    pub posted: u64,
    /// Unexpected messages from this source.
    pub unexpected: u64,
}

/// One process of a profile.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Process {
    /// The rank.
    pub process: u64,
    /// Sources by context and source.
    pub sources: Vec<Source>,
}

/// All processes of an application, or the process of one engine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Profile {
    /// The paper's P.
    pub processes: u64,
    /// The processes read from the file, in ascending order.
    pub known: Vec<Process>,
}

/// An invalid profile.
#[derive(Debug)]
pub struct ProfileError {
    path: PathBuf,
    /// Line number, from 1; 0 if the error concerns the whole file.
    line: usize,
    what: String,
}

impl Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for ProfileError {}

/// The processes that a reader selects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessSelection {
    /// All processes.
    All,
    /// The process that the file lists first.
    First,
    /// The process with this rank.
    Rank(u64),
}

impl Profile {
    /// Writes the profile.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{VERSION}\nprocesses {}", self.processes)?;
        writeln!(out, "# Lines below: context source posted unexpected")?;
        for Process { process, sources } in &self.known {
            writeln!(out, "process {process}")?;
            for Source { context, source, posted, unexpected } in sources {
                writeln!(out, "{context} {source} {posted} {unexpected}")?;
            }
        }
        Ok(())
    }

    /// Reads the file up to the last process of `selection`. Skips lines of other processes without checks,
    /// because many engines may read one file.
    ///
    /// # Errors
    /// The file is unreadable or damaged (the error has the line number), or has no selected process.
    pub fn read(path: &Path, selection: ProcessSelection) -> Result<Self, ProfileError> {
        let file = File::open(path).map_err(|cause| ProfileError {
            path: path.to_owned(),
            line: 0,
            what: format!("cannot be read: {cause}; `matchpoint profile TRACE -o FILE` writes a profile"),
        })?;
        Profile::parse(path, BufReader::new(file), selection)
    }

    fn parse(path: &Path, mut text: impl BufRead, selection: ProcessSelection) -> Result<Self, ProfileError> {
        let error = |line, what: String| ProfileError { path: path.to_owned(), line, what };
        let mut reader = Reader { profile: Profile::default(), selection, last: None, is_read: false };
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let bytes =
                text.read_until(b'\n', &mut line).map_err(|cause| error(number, cause.to_string()))?;
            if bytes == 0 {
                return reader.finish(number - 1).map_err(|what| error(0, what));
            }
            // Comments need not be UTF-8.
            let line = String::from_utf8_lossy(&line);
            if reader.parse_line(number, line.trim_end()).map_err(|what| error(number, what))? {
                break;
            }
        }
        Ok(reader.profile)
    }
}

struct Reader {
    profile: Profile,
    selection: ProcessSelection,
    last: Option<u64>,
    is_read: bool,
}

impl Reader {
    /// Returns true after the last line of the selected processes.
    fn parse_line(&mut self, at: usize, line: &str) -> Result<bool, String> {
        if at == 1 {
            return if line == VERSION {
                Ok(false)
            } else {
                Err(format!("the first line of a profile is `{VERSION}`, not `{}`", excerpt(line)))
            };
        }
        if let Some(process) = line.strip_prefix("process ") {
            return self.parse_process(number(without_comment(process), "rank of a process", IDS)?);
        }
        if !self.is_read && self.last.is_some() {
            return Ok(false);
        }
        match without_comment(line) {
            "" => Ok(false),
            line => self.parse_other(line).map(|()| false),
        }
    }

    fn parse_process(&mut self, process: u64) -> Result<bool, String> {
        if process >= self.profile.processes {
            return Err(match self.profile.processes {
                0 => "`processes P` is missing before the first `process`".to_owned(),
                of => format!("process {process} is not below the number of processes, {of}"),
            });
        }
        if self.last.is_some_and(|last| last >= process) {
            return Err(format!(
                "process {process} is out of order: list each process once, in ascending order"
            ));
        }
        if self.is_read && self.selection != ProcessSelection::All {
            return Ok(true);
        }
        self.last = Some(process);
        self.is_read = match self.selection {
            ProcessSelection::All | ProcessSelection::First => true,
            ProcessSelection::Rank(selection) => selection == process,
        };
        if self.is_read {
            self.profile.known.push(Process { process, sources: Vec::new() });
        }
        Ok(false)
    }

    fn parse_other(&mut self, line: &str) -> Result<(), String> {
        if let Some(processes) = line.strip_prefix("processes ") {
            if self.profile.processes > 0 {
                return Err("`processes` is given twice".to_owned());
            }
            self.profile.processes = number(processes, "number of processes", IDS)?;
            return if self.profile.processes == 0 {
                Err("the number of processes is 0".to_owned())
            } else {
                Ok(())
            };
        }
        let processes = self.profile.processes;
        let Some(process) = self.profile.known.last_mut() else {
            return Err(format!("`processes P` or `process R` was expected here, not `{}`", excerpt(line)));
        };
        let source = source(line)?;
        if u64::from(source.source) >= processes {
            return Err(format!("rank {} is not below the number of processes, {processes}", source.source));
        }
        let before = process.sources.last().map(|before| (before.context, before.source));
        if before.is_some_and(|before| before >= (source.context, source.source)) {
            return Err("a source is out of order: list each source once, by context and rank".to_owned());
        }
        process.sources.push(source);
        Ok(())
    }

    fn finish(self, lines: usize) -> Result<Profile, String> {
        let lacks = |what: String| Err(format!("{what}; the file ends after {lines} lines"));
        match self.selection {
            _ if lines == 0 => Err(format!("is empty; a profile begins with `{VERSION}`")),
            _ if self.profile.processes == 0 => lacks("has no `processes P`".to_owned()),
            ProcessSelection::Rank(rank) if self.profile.known.is_empty() => {
                lacks(format!("has no `process {rank}`, and may be the profile of another run"))
            }
            _ if self.profile.known.is_empty() => lacks("has no `process R`".to_owned()),
            _ => Ok(self.profile),
        }
    }
}

fn source(line: &str) -> Result<Source, String> {
    let mut words = line.split_ascii_whitespace();
    let mut next = |what, below| match words.next() {
        Some(word) => number(word, what, below),
        None => Err(format!("no {what}: a line is CONTEXT SOURCE POSTED UNEXPECTED")),
    };
    let source = Source {
        context: next("number of a context", IDS)?,
        source: next("rank of a source", IDS)? as u32,
        posted: next("number of posted receives", u64::MAX)?,
        unexpected: next("number of unexpected messages", u64::MAX)?,
    };
    match words.next() {
        Some(word) => Err(format!(
            "`{}` is one word too many: a line is CONTEXT SOURCE POSTED UNEXPECTED",
            excerpt(word)
        )),
        None => Ok(source),
    }
}

fn number(word: &str, what: &str, below: u64) -> Result<u64, String> {
    let number = word.trim().parse().ok().filter(|&number| number < below);
    number.ok_or_else(|| format!("`{}` is no {what}", excerpt(word)))
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim()
}

fn excerpt(line: &str) -> String {
    line.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, selection: ProcessSelection) -> Result<Profile, String> {
        Profile::parse(Path::new("app.partners"), text.as_bytes(), selection)
            .map_err(|error| error.to_string())
    }

    fn source(context: u64, source: u32, posted: u64, unexpected: u64) -> Source {
        Source { context, source, posted, unexpected }
    }

    #[test]
    fn written_profile_is_read_back() {
        let sources = vec![source(0, 1, 12, 3), source(0, 3, 0, 9), source(2, 1, u64::MAX - 1, 0)];
        let known = vec![Process { process: 4, sources }, Process { process: 6, sources: Vec::new() }];
        let profile = Profile { processes: 7, known };
        let mut text = Vec::new();
        profile.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(parse(&text, ProcessSelection::All), Ok(profile.clone()));
        for (selection, at) in
            [(ProcessSelection::First, 0), (ProcessSelection::Rank(4), 0), (ProcessSelection::Rank(6), 1)]
        {
            let one = Profile { processes: 7, known: vec![profile.known[at].clone()] };
            assert_eq!(parse(&text, selection), Ok(one));
        }
    }

    #[test]
    fn profile_error_reports_line_and_expected_text() {
        let profile_with =
            |rest: &str| format!("{VERSION}\nprocesses 4\n\nprocess 1 # the second\n0 2 3 4\n{rest}");
        for (text, expected) in [
            (String::new(), "app.partners: is empty; a profile begins with `matchpoint-partners 1`"),
            (
                "MPI".into(),
                "app.partners:1: the first line of a profile is `matchpoint-partners 1`, not `MPI`",
            ),
            (format!("{VERSION}\n"), "app.partners: has no `processes P`; the file ends after 1 lines"),
            (format!("{VERSION}\nprocess 0"), "app.partners:2: `processes P` is missing before"),
            (format!("{VERSION}\nprocesses 0"), "app.partners:2: the number of processes is 0"),
            (format!("{VERSION}\nprocesses 3\n1 2 3 4"), "app.partners:3: `processes P` or `process R` was"),
            (profile_with("process 4"), "app.partners:6: process 4 is not below the number of processes, 4"),
            (profile_with("process 1"), "app.partners:6: process 1 is out of order"),
            (profile_with("processes 4"), "app.partners:6: `processes` is given twice"),
            (profile_with("0 3 x 4"), "app.partners:6: `x` is no number of posted receives"),
            (profile_with("0 3 -1 4"), "app.partners:6: `-1` is no number of posted receives"),
            (
                profile_with("0 3 4"),
                "app.partners:6: no number of unexpected messages: a line is CONTEXT SOURCE",
            ),
            (profile_with("0 3 4 5 6"), "app.partners:6: `6` is one word too many"),
            (profile_with("0 4 4 5"), "app.partners:6: rank 4 is not below the number of processes, 4"),
            (profile_with("4294967296 3 4 5"), "app.partners:6: `4294967296` is no number of a context"),
            (profile_with("0 2 4 5"), "app.partners:6: a source is out of order"),
        ] {
            let error = parse(&text, ProcessSelection::All).expect_err(expected);
            assert!(error.starts_with(expected), "{error}");
        }
        let error = parse(&profile_with("process 3"), ProcessSelection::Rank(2))
            .expect_err("process 2 is not listed");
        assert!(error.contains("has no `process 2`"), "{error}");
    }

    #[test]
    fn lines_of_other_ranks_are_skipped() {
        let text = format!("{VERSION}\nprocesses 4\nprocess 0\nx\nprocess 1\n0 2 3 4\nprocess 2\nx\n");
        let profile = parse(&text, ProcessSelection::Rank(1)).unwrap();
        assert_eq!(profile.known, [Process { process: 1, sources: vec![source(0, 2, 3, 4)] }]);
        assert!(
            parse(&text, ProcessSelection::All).is_err() && parse(&text, ProcessSelection::First).is_err()
        );
    }
}
