//! The reports of `matchpoint bench`: one format, one file.

pub mod batches;
pub mod gpu;
pub mod json;
pub mod plot;
pub mod rate;
mod standing;
mod tables;
pub mod terminal;
pub mod threads;
