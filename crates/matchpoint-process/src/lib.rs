//! Parts that every library of ours inside an MPI process needs: settings from the environment, measurements of the
//! matching, and the report that `matchpoint run` reads.
//!
//! The libfabric provider and the core of overflow matching use this crate. It depends on neither of them.

pub mod arrivals;
pub mod clock;
pub mod observer;
pub mod report;
pub mod settings;
pub mod tally;

pub use observer::Observer;
pub use settings::settings;
pub use tally::Tally;
