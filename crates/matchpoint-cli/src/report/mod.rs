//! The reports: one format, one file. A report is made of a [`Report`] and nothing else.

pub mod bench;
pub mod calibrate;
pub mod chart;
pub mod csv;
pub mod document;
mod escape;
pub mod html;
pub mod json;
pub mod predict;
pub mod run;
pub mod schema;
pub mod terminal;
pub mod validate;

use matchpoint_replay::Measurements;

use crate::advice::{self, Advice};
use crate::judge::judge;
use crate::verdict::Verdict;

/// What was measured, and what we make of it.
pub struct Report<'a> {
    /// What was measured.
    pub measurements: &'a Measurements,
    /// Whether matching is the problem.
    pub verdict: Verdict,
    /// What to change, and what to be careful about.
    pub advice: Vec<Advice>,
}

impl<'a> Report<'a> {
    /// Judges the measurements.
    pub fn new(measurements: &'a Measurements) -> Self {
        let verdict = judge(measurements);
        let advice = advice::advice(measurements, &verdict);
        Report { measurements, verdict, advice }
    }
}
