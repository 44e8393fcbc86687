//! The raw measurements: a file of lines, each a JSON object. An interruption loses at most the last line.
//! `docs/reference/calibrate.md` describes the file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use matchpoint_model::Locality;
use serde::{Deserialize, Serialize};

use crate::error::CalibrateError;
use crate::plan::{Measurement, Settings, measurements, rounds};
use crate::ranks::{Pair, Ranks};
use crate::typical::{over_rounds, typical};

pub const FORMAT: &str = "matchpoint calibration";

/// Incremented when the meaning of a member changes.
pub const VERSION: u32 = 2;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub format: String,
    pub version: u32,
    pub command: Vec<String>,
    pub started: String,
    pub mpi: String,
    pub tick_s: f64,
    pub host: String,
    pub settings: Settings,
    pub ranks: Ranks,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// From 0.
    pub round: u32,
    #[serde(flatten)]
    pub measurement: Measurement,
    /// For each batch, the time of all messages in one direction, of the slowest pair.
    pub seconds: Vec<f64>,
}

/// Largest eager message (§2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SentAtOnce {
    pub placement: Locality,
    pub pair: Pair,
    /// 0 if no message is eager; `bytes_max` if all tested sizes are eager.
    pub at_once_max_bytes: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Repeated {
    pub measurement: Measurement,
    /// `None` for a missing round.
    pub rounds: Vec<Option<f64>>,
    /// Typical time of a round over all rounds, in seconds.
    pub whole_s: f64,
}

impl Repeated {
    /// Typical time of all rounds, or of one round. `None` for a missing round.
    pub fn time_s(&self, round: Option<usize>) -> Option<f64> {
        match round {
            Some(round) => self.rounds.get(round).copied().flatten(),
            None => Some(self.whole_s),
        }
    }
}

/// The last line of a complete calibration.
#[derive(Serialize, Deserialize)]
struct End {
    complete: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Raw {
    pub head: Head,
    pub measured: Vec<Measured>,
    pub sent_at_once: Vec<SentAtOnce>,
    pub complete: bool,
    /// Bytes of whole lines, without a truncated last line.
    whole_bytes: usize,
}

impl Raw {
    /// # Errors
    /// The file cannot be read, has another format, or has a damaged line other than the last line.
    pub fn read(path: &Path) -> Result<Raw, CalibrateError> {
        let bytes = fs::read(path).map_err(|error| CalibrateError::file(path, &error))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            wrong(path, 1, &format!("byte {} is not text", error.utf8_error().valid_up_to()))
        })?;
        Raw::parse(&text, path)
    }

    pub fn parse(text: &str, path: &Path) -> Result<Raw, CalibrateError> {
        // Text after the last newline is an incomplete line.
        let whole_bytes = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole_bytes].lines().enumerate();
        let Some((_, first)) = lines.next() else {
            return Err(wrong(path, 1, "no complete line"));
        };
        let head: Head = serde_json::from_str(first).map_err(|error| wrong(path, 1, &error.to_string()))?;
        if head.format != FORMAT || head.version != VERSION {
            let found = format!("this is {} {}, not {FORMAT} {VERSION}", head.format, head.version);
            return Err(wrong(path, 1, &found));
        }
        head.settings.check().map_err(|what| wrong(path, 1, &what))?;
        let mut raw =
            Raw { head, measured: Vec::new(), sent_at_once: Vec::new(), complete: false, whole_bytes };
        for (index, line) in lines {
            raw.add(line).map_err(|what| wrong(path, index + 1, &what))?;
        }
        Ok(raw)
    }

    fn add(&mut self, line: &str) -> Result<(), String> {
        if self.complete {
            return Err("a line after the last one".to_owned());
        }
        if let Ok(end) = serde_json::from_str::<End>(line) {
            self.complete = end.complete;
            return Ok(());
        }
        if let Ok(tried) = serde_json::from_str::<SentAtOnce>(line) {
            self.sent_at_once.push(tried);
            return Ok(());
        }
        let measured: Measured = serde_json::from_str(line).map_err(|error| error.to_string())?;
        check(&measured, self.head.ranks.0.len())?;
        if measured.round >= self.head.settings.rounds {
            return Err(format!("round {} of {}", measured.round, self.head.settings.rounds));
        }
        self.measured.push(measured);
        Ok(())
    }

    /// Checks that a job can continue the file: same ranks at the same locations, same MPI library, same
    /// settings.
    ///
    /// # Errors
    /// The first difference.
    pub fn continues(&self, head: &Head) -> Result<(), String> {
        let own = &self.head;
        let differs = [
            ("where the ranks are", own.ranks != head.ranks),
            ("the MPI library", own.mpi != head.mpi),
            ("what is to be measured", own.settings != head.settings),
            ("the host", own.host != head.host),
        ];
        let all: Vec<&str> = differs.iter().filter(|(_, differs)| *differs).map(|(what, _)| *what).collect();
        if all.is_empty() { Ok(()) } else { Err(all.join(", and ")) }
    }

    pub fn missing(&self) -> Vec<(u32, Measurement)> {
        let is_made = |of: &(u32, Measurement)| {
            self.measured.iter().any(|made| made.round == of.0 && made.measurement == of.1)
        };
        let mut all = rounds(&self.head.ranks, &self.head.settings);
        all.retain(|one| !is_made(one));
        all
    }

    /// In planned order.
    pub fn repeated(&self) -> Vec<Repeated> {
        let rounds = self.head.settings.rounds as usize;
        let planned = measurements(&self.head.ranks, &self.head.settings);
        let of = |measurement: Measurement| {
            let (mut each, mut batches) = (vec![None; rounds], Vec::new());
            for made in self.measured.iter().filter(|made| made.measurement == measurement) {
                each[made.round as usize] = Some(typical(&made.seconds));
                batches.push(&made.seconds[..]);
            }
            Repeated { measurement, rounds: each, whole_s: over_rounds(&batches) }
        };
        let all = planned.into_iter().map(of);
        all.filter(|one| one.rounds.iter().any(Option::is_some)).collect()
    }
}

/// Checks that a measurement of a file or of the benchmark is plausible.
fn check(measured: &Measured, ranks: usize) -> Result<(), String> {
    let Measured { measurement, seconds, .. } = measured;
    if seconds.is_empty() {
        return Err("`seconds` is empty".to_owned());
    }
    if let Some(bad) = seconds.iter().find(|&&second| !(second.is_finite() && second > 0.0)) {
        return Err(format!("{bad} s is not a time of a message"));
    }
    if measurement.messages == 0 || measurement.pairs.is_empty() {
        return Err("`messages` and `pairs` must be one at least".to_owned());
    }
    let is_rank = |rank: u32| (rank as usize) < ranks;
    match measurement.pairs.iter().find(|(one, other)| !is_rank(*one) || !is_rank(*other)) {
        Some((one, other)) => Err(format!("the pair {one}, {other} is not of the {ranks} ranks")),
        None => Ok(()),
    }
}

fn wrong(path: &Path, line: usize, what: &str) -> CalibrateError {
    CalibrateError(format!(
        "cannot read '{}', line {line}: {what}\nhint: remove the line, or measure again with --replace",
        path.display()
    ))
}

#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: File,
}

impl Writer {
    pub fn begin(path: &Path, head: &Head) -> Result<Writer, CalibrateError> {
        let file = File::create(path).map_err(|error| CalibrateError::file(path, &error))?;
        let mut writer = Writer { path: path.to_owned(), file };
        writer.line(head)?;
        Ok(writer)
    }

    /// Continues a file, without a truncated last line.
    pub fn resume(path: &Path, raw: &Raw) -> Result<Writer, CalibrateError> {
        let failed = |error: io::Error| CalibrateError::file(path, &error);
        let file = File::options().append(true).open(path).map_err(failed)?;
        file.set_len(raw.whole_bytes as u64).map_err(failed)?;
        Ok(Writer { path: path.to_owned(), file })
    }

    /// # Errors
    /// A time is implausible, or the file cannot be written.
    pub fn add(&mut self, measured: &Measured) -> Result<(), CalibrateError> {
        check(measured, usize::MAX).map_err(|what| {
            let bytes = measured.measurement.bytes;
            CalibrateError(format!(
                "impossible measurement with messages of {bytes} bytes: {what}\nhint: check MPI_Wtime of this MPI"
            ))
        })?;
        self.line(measured)
    }

    pub fn add_sent_at_once(&mut self, tried: &SentAtOnce) -> Result<(), CalibrateError> {
        self.line(tried)
    }

    pub fn end(mut self) -> Result<(), CalibrateError> {
        self.line(&End { complete: true })
    }

    fn line(&mut self, of: &impl Serialize) -> Result<(), CalibrateError> {
        let failed = |error: io::Error| CalibrateError::file(&self.path, &error);
        let mut line = serde_json::to_vec(of).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        // Each line is written at once, because an interruption would lose a buffer.
        self.file.write_all(&line).map_err(failed)
    }
}
