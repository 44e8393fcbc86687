//! Records the point-to-point calls of an MPI application, with any MPI library, without relinking.
//!
//! A preloaded C library (`shim/`) records the calls (MPI-4.1 §15.2, the profiling interface). The launcher's
//! compiler compiles its sources at the first use ([`launcher`], [`compiler`]), because it needs the header
//! of the MPI library. For libraries with MPI's standard binary interface (MPI-5.0 §20), the command contains
//! a compiled library.
//!
//! [`recording`] combines the parts: the folder, the command with its environment, and the result.

pub mod compiler;
pub mod launcher;
pub mod linked;
pub mod preload;
pub mod recording;
pub mod shim;
pub mod sites;
pub mod watch;

mod error;
mod folder;

pub use error::RecordError;
