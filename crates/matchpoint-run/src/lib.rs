//! Puts our libfabric provider (`matchpoint-fabric`) under an MPI job that knows nothing of it.
//!
//! [`stack`] finds the MPI behind a command and its libfabric, [`hosts`] how far the job reaches, [`choice`] what
//! transports its messages, [`environment`] what that stack must be told, [`folder`] the place that libfabric loads the
//! provider from; [`job`] puts it together. [`report`] reads what the processes tell.
//!
//! The provider itself is a file to this crate: it is never linked.

pub mod arrivals;
pub mod choice;
pub mod environment;
pub mod folder;
pub mod hosts;
pub mod job;
pub mod libfabric;
pub mod report;
pub mod stack;
pub mod words;

mod error;
mod loader;
mod strings;

pub use error::RunError;
