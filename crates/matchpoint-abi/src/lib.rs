//! The C interface as data ([`types`]), its conversion ([`convert`]), and engines of foreign libraries.
//!
//! `matchpoint-capi` implements the interface. [`Library`] loads another implementation and creates a
//! [`matchpoint::Engine`] from it.

pub mod convert;
mod foreign;
mod library;
pub mod types;

pub use foreign::{ForeignEngine, Function};
pub use library::{Library, LoadError};
