//! Code that all Matchpoint libraries in an MPI process share: settings, measurements, and the report for
//! `matchpoint run`. The libfabric provider and the library of overflow matching use this crate.

pub mod arrivals;
pub mod clock;
pub mod observer;
pub mod report;
pub mod settings;
pub mod tally;

pub use observer::Observer;
pub use settings::settings;
pub use tally::Tally;
