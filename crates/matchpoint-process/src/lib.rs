//! Parts of all Matchpoint libraries inside an MPI process: settings, measurements, and the report for
//! `matchpoint run`. The libfabric provider and the core of overflow matching use this crate.

pub mod arrivals;
pub mod clock;
pub mod observer;
pub mod report;
pub mod settings;
pub mod tally;

pub use observer::Observer;
pub use settings::settings;
pub use tally::Tally;
