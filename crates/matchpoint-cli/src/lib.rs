//! The commands of `matchpoint`. No other crate prints or exits. `main.rs` and the tests use this library.
//!
//! The replay supplies measurements. [`judge`] and [`advice`] evaluate the measurements, and [`report`] renders the
//! results in one file for each output format. These three modules are pure functions.

#![allow(missing_docs)] // An internal library: items with a clear name need no documentation.

pub mod absent;
pub mod advice;
pub mod analyze;
pub mod bench;
pub mod benchmark;
pub mod calibrate;
pub mod check;
pub mod cli;
pub mod convert;
pub mod delivery;
pub mod derived;
pub mod distinct;
pub mod engines;
pub mod failure;
pub mod files;
pub mod format;
pub mod generate;
pub mod inconclusive;
pub mod job;
pub mod judge;
pub mod library_cost;
pub mod lines;
pub mod live;
pub mod load;
pub mod output;
pub mod places;
pub mod predict;
pub mod profile;
pub mod progress;
pub mod record;
pub mod report;
pub mod run;
pub mod stand_in;
pub mod top;
pub mod verdict;
pub mod wrap;
