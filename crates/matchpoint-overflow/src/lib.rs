//! The core of overflow matching: an engine for receives and messages beyond the limits of the MPI library.
//!
//! The shim of `matchpoint run` defines the MPI functions. It loads this library and calls
//! [`matchpoint_core`], the only exported symbol. [`interface`] has the types, [`core`] the matching.
#![allow(unsafe_code)]

pub mod core;
mod functions;
pub mod interface;
mod members;

use interface::CoreFunctions;

/// The functions of the core.
#[unsafe(no_mangle)]
pub extern "C" fn matchpoint_core() -> *const CoreFunctions {
    &raw const functions::FUNCTIONS
}
