//! Wrappers of engines.

pub mod counted;

pub use counted::{Counted, Counts, Depths, ProbeCounts, QueueCounts};
