//! Runs an unmodified MPI job with its messages matched by a Matchpoint engine.
//!
//! [`overflow`] loads a library above any MPI library. [`below`] puts the libfabric provider
//! (`matchpoint-fabric`) below the MPI library: [`stack`] finds the MPI library and its libfabric, [`choice`]
//! the core provider, [`environment`] the settings. [`job`] combines these parts with [`hosts`], [`folder`]
//! and [`report`]. This crate links neither the core nor the provider; both are files.

pub mod arrivals;
pub mod below;
pub mod choice;
pub mod environment;
pub mod folder;
pub mod hosts;
pub mod job;
pub mod launcher_options;
pub mod libfabric;
pub mod overflow;
pub mod report;
pub mod stack;

mod error;
mod loader;
mod strings;

pub use error::RunError;
