//! Runs an MPI job that knows nothing of Matchpoint with its messages matched by an engine of ours.
//!
//! [`overflow`] loads a library above the MPI library, whichever that is. [`below`] puts our libfabric provider
//! (`matchpoint-fabric`) under it: [`stack`] finds the MPI behind a command and its libfabric, [`choice`] the core provider,
//! [`environment`] the settings of that stack. [`hosts`] finds how far the job reaches, [`folder`] makes the place for
//! libraries and reports, [`job`] combines these, and [`report`] reads what the processes report.
//!
//! Core and provider are files to this crate: neither is linked.

pub mod arrivals;
pub mod below;
pub mod choice;
pub mod environment;
pub mod folder;
pub mod hosts;
pub mod job;
pub mod libfabric;
pub mod overflow;
pub mod report;
pub mod stack;
pub mod words;

mod error;
mod loader;
mod strings;

pub use error::RunError;
