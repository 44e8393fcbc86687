//! Where the findings go, and the exit codes.

use std::io::Write as _;

use super::tell::Findings;
use crate::cli::Check;
use crate::failure::Failure;
use crate::output::{Outputs, is_stdout};

/// Exit codes: a law is broken; nothing could be checked, as for options that are wrong. 0 says that no law is broken.
pub(super) const BROKEN: u8 = 1;
pub(super) const UNABLE: u8 = 2;

/// Where the JSON goes, if it is wanted.
pub(super) enum Json {
    Nowhere,
    /// By its number in [`Outputs`].
    File(usize),
    Stdout,
}

impl Json {
    pub fn prepare(arguments: &Check, outputs: &mut Outputs) -> Result<Self, Failure> {
        Ok(match arguments.json.as_deref() {
            None => Json::Nowhere,
            Some(path) if is_stdout(path) => Json::Stdout,
            Some(path) => Json::File(outputs.reserve(path)?),
        })
    }

    /// Nothing else is on standard output then.
    pub fn is_printed(&self) -> bool {
        matches!(self, Json::Stdout)
    }

    pub fn write(&self, findings: &Findings, outputs: &mut Outputs) -> Result<(), Failure> {
        match *self {
            Json::Nowhere => Ok(()),
            Json::File(file) => outputs.fill(file, |out| Ok(serde_json::to_writer_pretty(out, findings)?)),
            Json::Stdout => {
                let text = serde_json::to_string_pretty(findings);
                say(&format!("{}\n", text.map_err(|error| Failure::Message(error.to_string()))?))
            }
        }
    }
}

pub(super) fn say(text: &str) -> Result<(), Failure> {
    anstream::stdout().write_all(text.as_bytes()).map_err(|error| Failure::printing(&error))
}
