//! The reports, one file per format. Each is a pure function of its data.

pub mod bench;
pub mod calibrate;
pub mod chart;
pub mod columns;
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
use matchpoint_replay::analysis::advice::{self, Advice};
use matchpoint_replay::analysis::judge;
use matchpoint_replay::analysis::verdict::Verdict;

pub struct Report<'a> {
    pub measurements: &'a Measurements,
    pub verdict: Verdict,
    pub advice: Vec<Advice>,
}

impl<'a> Report<'a> {
    pub fn new(measurements: &'a Measurements) -> Self {
        let verdict = judge(measurements);
        let advice = advice::advice(measurements, &verdict);
        Report { measurements, verdict, advice }
    }
}
