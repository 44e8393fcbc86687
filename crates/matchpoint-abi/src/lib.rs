//! Rust types of the C interface in `matchpoint.h`, and engines from other libraries with this interface.
//!
//! `matchpoint-capi` implements the interface. [`Library`] loads another implementation, which creates a
//! [`matchpoint::Engine`].

pub mod convert;
mod foreign;
mod library;
pub mod types;

pub use foreign::{ForeignEngine, Function};
pub use library::{Library, LoadError};
