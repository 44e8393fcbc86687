//! Output of findings, and exit codes.

use std::io::Write as _;

use super::finding::Findings;
use crate::failure::Failure;
use crate::output::{Outputs, Place};
use crate::report::schema;

/// Exit codes: a broken law; nothing to check. 0: no law is broken.
pub(super) const BROKEN: u8 = 1;
pub(super) const UNABLE: u8 = 2;

pub(super) fn write(findings: &Findings, place: Option<Place>, outputs: &mut Outputs) -> Result<(), Failure> {
    place.map_or(Ok(()), |place| outputs.fill(place, |out| schema::write(findings, out)))
}

pub(super) fn print(text: &str) -> Result<(), Failure> {
    anstream::stdout().write_all(text.as_bytes()).map_err(|error| Failure::printing(&error))
}
