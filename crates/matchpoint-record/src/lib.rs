//! Records the point-to-point calls of any MPI application, with any MPI, without relinking it.
//!
//! The work is done by a library of C (`shim/`) that is loaded into the application before its MPI library
//! (MPI-4.1 §15.2, the profiling interface). It must be compiled with the header of that MPI library, so its sources are
//! carried here, and compiled when they are first needed with the compiler that belongs to the launcher
//! ([`launcher`], [`compiler`]). For libraries with MPI's standard binary interface (MPI-5.0 §20) it is carried compiled.
//!
//! [`recording`] puts it together: a folder, a command with its environment, and what became of it.

pub mod compiler;
pub mod launcher;
pub mod linked;
pub mod preload;
pub mod recording;
pub mod shim;
pub mod sites;

mod error;
mod folder;

pub use error::RecordError;
