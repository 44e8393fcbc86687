//! The reports of `matchpoint bench`: one format, one file.

pub mod engines;
pub mod gpu;
pub mod latency;
pub mod plot;
pub mod rate;
mod standing;
mod tables;
pub mod threads;
pub mod through_c;
