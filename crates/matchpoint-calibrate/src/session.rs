//! A calibration, from the first measurement to the last, or from where it stopped.

use std::path::PathBuf;
use std::time::SystemTime;

use crate::conversation::{Conversation, Hello};
use crate::error::CalibrateError;
use crate::plan::{Measurement, Settings, measurements};
use crate::raw::{FORMAT, Head, Measured, Raw, VERSION, Writer};

/// What is wanted.
#[derive(Debug, Clone)]
pub struct Request {
    /// Where the raw measurements go.
    pub raw: PathBuf,
    /// Whether to begin anew, if there are some.
    pub replace: bool,
    /// How much is measured.
    pub settings: Settings,
    /// The launcher and its options.
    pub command: Vec<String>,
    /// Processor and cores of this host.
    pub host: String,
}

/// How far it is.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Measurements that are made, those of an earlier run included.
    pub done: usize,
    /// All of them.
    pub total: usize,
    /// The next.
    pub next: &'a Measurement,
}

impl Request {
    /// Looks at what is there of an earlier run, before anything is started.
    ///
    /// # Errors
    /// It is complete, or damaged, or is to go on with another command.
    pub fn earlier(&self) -> Result<Option<Raw>, CalibrateError> {
        if self.replace || !self.raw.exists() {
            return Ok(None);
        }
        let raw = Raw::read(&self.raw)?;
        let path = self.raw.display();
        if raw.complete {
            return Err(CalibrateError(format!(
                "{path} has all measurements already; fit them with --from {path}, or measure again with --replace"
            )));
        }
        if raw.head.settings != self.settings {
            return Err(self.another("what is to be measured"));
        }
        Ok(Some(raw))
    }

    fn another(&self, differs: &str) -> CalibrateError {
        CalibrateError(format!(
            "{} is of a calibration that was interrupted, and cannot go on with this one, for these differ: {differs}; repeat \
             its command, or begin anew with --replace",
            self.raw.display()
        ))
    }

    /// Has everything measured that `earlier` lacks. `tells` is told before each measurement.
    ///
    /// # Errors
    /// The ranks cannot measure anything, the benchmark ended, or the file cannot be written. What was measured until then
    /// is in the file.
    pub fn run(
        &self,
        earlier: Option<Raw>,
        mut benchmark: Conversation,
        tells: &mut dyn FnMut(Step<'_>),
    ) -> Result<(), CalibrateError> {
        let head = self.head(benchmark.hello()?);
        let total = measurements(&head.ranks, &self.settings).len();
        if total == 0 {
            return Err(CalibrateError(format!(
                "the job has {} process, and it takes two to exchange a message; start more, as with -n 2",
                head.ranks.0.len()
            )));
        }
        let (mut writer, missing) = self.writer(earlier.as_ref(), &head)?;
        let before = total - missing.len();
        for (index, measurement) in missing.into_iter().enumerate() {
            tells(Step { done: before + index, total, next: &measurement });
            let Settings { batch_s, budget_s, .. } = self.settings;
            let seconds = benchmark.measure(before + index, &measurement, batch_s, budget_s)?;
            writer.add(&Measured { measurement, seconds })?;
        }
        drop(benchmark);
        writer.end()
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
            ranks: hello.topology,
        }
    }

    fn writer(
        &self,
        earlier: Option<&Raw>,
        head: &Head,
    ) -> Result<(Writer, Vec<Measurement>), CalibrateError> {
        let Some(raw) = earlier else {
            return Ok((Writer::begin(&self.raw, head)?, measurements(&head.ranks, &self.settings)));
        };
        raw.continues(head).map_err(|differs| self.another(&differs))?;
        Ok((Writer::resume(&self.raw, raw)?, raw.missing()))
    }
}
