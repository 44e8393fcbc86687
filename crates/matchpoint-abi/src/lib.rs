//! The C interface as data ([`types`], and how they stand for the contract's: [`convert`]), and both ways through it:
//! `matchpoint-capi` puts our engines behind it, [`Library`] loads what others put there, and makes a
//! [`matchpoint::Engine`] of it.

pub mod convert;
mod foreign;
mod library;
pub mod types;

pub use foreign::{Foreign, Function};
pub use library::{Library, LoadError};
