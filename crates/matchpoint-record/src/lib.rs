//! Records the point-to-point calls of an MPI application with any MPI library, without relinking.
//!
//! A preloaded C library, the recorder (`shim/`), records the calls (MPI-4.1 §15.2, the profiling interface).
//! The recorder needs the header of the MPI library, so the launcher's compiler compiles the recorder at the
//! first use. For MPI's standard binary interface (MPI-5.0 §20), the command contains a compiled recorder.
//!
//! Start with [`recording`]: the folder, the command with its environment, and the result.

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
