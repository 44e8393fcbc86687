//! A calibration, from the first missing measurement to the last.

use std::path::PathBuf;
use std::time::SystemTime;

use matchpoint_model::Locality;

use crate::conversation::{Conversation, Hello};
use crate::error::CalibrateError;
use crate::plan::{Measurement, Settings, measurements, rounds};
use crate::ranks::Pair;
use crate::raw::{FORMAT, Head, Measured, Raw, SentAtOnce, VERSION, Writer};

#[derive(Debug, Clone)]
pub struct Request {
    pub raw: PathBuf,
    pub replace: bool,
    pub settings: Settings,
    pub command: Vec<String>,
    pub host: String,
}

#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Including an earlier run.
    pub done: usize,
    pub total: usize,
    pub next: &'a Measurement,
}

impl Request {
    /// Before the job starts.
    ///
    /// # Errors
    /// The file is complete or damaged, or has another command.
    pub fn earlier(&self) -> Result<Option<Raw>, CalibrateError> {
        if self.replace || !self.raw.exists() {
            return Ok(None);
        }
        let raw = Raw::read(&self.raw)?;
        let path = self.raw.display();
        if raw.complete {
            return Err(CalibrateError(format!(
                "'{path}' already contains all measurements\nhint: fit them with --from {path}, or measure again \
                 with --replace"
            )));
        }
        if raw.head.settings != self.settings {
            return Err(self.another("what is to be measured"));
        }
        Ok(Some(raw))
    }

    fn another(&self, differs: &str) -> CalibrateError {
        CalibrateError(format!(
            "'{}' belongs to an interrupted calibration with other settings: {differs}\nhint: repeat its command, or \
             start again with --replace",
            self.raw.display()
        ))
    }

    /// Reads the ranks of a job, and checks that the job can continue `earlier`.
    ///
    /// # Errors
    /// The job ends, the ranks allow no measurement, the job differs from `earlier`, or the file cannot be
    /// written.
    pub fn begin(
        &self,
        earlier: Option<Raw>,
        mut benchmark: Conversation,
    ) -> Result<Session, CalibrateError> {
        let head = self.head(benchmark.hello()?);
        if measurements(&head.ranks, &self.settings).is_empty() {
            return Err(CalibrateError(format!(
                "the job has {} process, but an exchange needs two\nhint: start more, for example with -n 2",
                head.ranks.0.len()
            )));
        }
        let all = rounds(&head.ranks, &self.settings);
        let total = all.len();
        let (writer, missing, tried) = match earlier {
            None => (Writer::begin(&self.raw, &head)?, all, Vec::new()),
            Some(raw) => {
                raw.continues(&head).map_err(|differs| self.another(&differs))?;
                (Writer::resume(&self.raw, &raw)?, raw.missing(), raw.sent_at_once)
            }
        };
        let untried = |locality: &Locality| !tried.iter().any(|tried| tried.placement == *locality);
        let untried = Locality::ALL.into_iter().filter(untried);
        let to_try =
            untried.filter_map(|locality| Some((locality, head.ranks.pair(locality).ok()?))).collect();
        Ok(Session { benchmark, writer, settings: self.settings.clone(), missing, to_try, total })
    }

    fn head(&self, hello: Hello) -> Head {
        Head {
            format: FORMAT.to_owned(),
            version: VERSION,
            command: self.command.clone(),
            started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            mpi: hello.mpi,
            tick_s: hello.tick_s,
            host: self.host.clone(),
            settings: self.settings.clone(),
            ranks: hello.ranks,
        }
    }
}

pub struct Session {
    benchmark: Conversation,
    writer: Writer,
    settings: Settings,
    missing: Vec<(u32, Measurement)>,
    /// Pairs with an untested eager limit.
    to_try: Vec<(Locality, Pair)>,
    total: usize,
}

impl Session {
    /// Stops if `goes_on`, called before each measurement, returns false.
    ///
    /// # Errors
    /// The benchmark ends, `goes_on` returns false, or the file cannot be written. Completed measurements are in the
    /// file.
    pub fn measure(mut self, goes_on: &mut dyn FnMut(Step<'_>) -> bool) -> Result<(), CalibrateError> {
        let Settings { batch_s, budget_s, rounds, .. } = self.settings;
        let before = self.total - self.missing.len();
        for (index, (round, measurement)) in self.missing.into_iter().enumerate() {
            let done = before + index;
            if !goes_on(Step { done, total: self.total, next: &measurement }) {
                return Err(CalibrateError("interrupted".to_owned()));
            }
            let budget_s = budget_s / f64::from(rounds);
            let seconds = self.benchmark.measure(done, &measurement, batch_s.min(budget_s), budget_s)?;
            self.writer.add(&Measured { round, measurement, seconds })?;
        }
        // The eager limit is measured last, because all connections exist by then.
        for (placement, pair) in self.to_try {
            let at_once_max_bytes =
                eager_max(&mut self.benchmark, self.total, pair, self.settings.bytes_max)?;
            self.writer.add_sent_at_once(&SentAtOnce { placement, pair, at_once_max_bytes })?;
        }
        drop(self.benchmark);
        self.writer.end()
    }
}

/// The largest eager message up to `most`, by bisection. The bisection assumes that if a message is not
/// eager, no larger message is eager.
fn eager_max(
    benchmark: &mut Conversation,
    number: usize,
    pair: Pair,
    most: u32,
) -> Result<u32, CalibrateError> {
    if benchmark.is_eager(number, pair, most)? {
        return Ok(most);
    }
    let (mut at_once, mut waits) = (0, most);
    while waits - at_once > 1 {
        let middle = at_once + (waits - at_once) / 2;
        if benchmark.is_eager(number, pair, middle)? {
            at_once = middle;
        } else {
            waits = middle;
        }
    }
    Ok(at_once)
}
