//! Engines around engines: what would else be sprinkled over each of them.

pub mod counted;

pub use counted::{Counted, Counts, Depths, ProbeCounts, QueueCounts};
