//! The reports of `matchpoint bench`, one file per format.

pub mod engines;
pub mod gpu;
pub mod latency;
pub mod plot;
mod ranking;
pub mod rate;
mod tables;
pub mod threads;
pub mod through_c;
