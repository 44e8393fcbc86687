//! The commands of `matchpoint`. No other crate prints or exits. `main.rs` and the tests use this library.
//!
//! The replay supplies measurements and conclusions. [`report`] renders the results with pure functions, in one file for
//! each output format.

#![allow(missing_docs)] // An internal library: items with a clear name need no documentation.

pub mod absent;
pub mod analyze;
pub mod bench;
pub mod benchmark;
pub mod calibrate;
pub mod check;
pub mod cli;
pub mod convert;
pub mod delivery;
pub mod engines;
pub mod failure;
pub mod files;
pub mod generate;
pub mod job;
pub mod live;
pub mod load;
pub mod output;
pub mod predict;
pub mod profile;
pub mod progress;
pub mod record;
pub mod report;
pub mod run;
pub mod top;
pub mod wrap;
