//! A libfabric provider that matches tagged messages with Matchpoint's engines.
//!
//! The provider works on top of a core provider, which transports the messages, under unmodified programs and
//! MPI libraries.
//!
//! 1. libfabric loads the library and calls [`fi_prov_ini`].
//! 2. The provider replaces function tables of the core provider's objects ([`patch`]). The application calls
//!    through these tables.
//! 3. The provider owns the receive queue of the core provider ([`peer`]). The core provider requests the
//!    receive of each message.
//! 4. An engine finds the receive ([`matching`]). The core provider completes the receive.

#![allow(missing_docs)] // a name that explains an item needs no comment
#![allow(unsafe_code)]

pub mod abi;
mod completion;
pub mod criteria;
mod dump;
mod fabric;
pub mod library;
pub mod lock;
mod locked;
pub mod matching;
mod object;
mod patch;
pub mod peer;
mod pool;
mod provider;
mod queue;
mod report;
mod settings;
mod short_queues;
mod sources;

use std::ptr;

use abi::Provider;

/// The entry point of a libfabric provider. Returns null if libfabric lacks a required function.
#[unsafe(no_mangle)]
pub extern "C" fn fi_prov_ini() -> *mut Provider {
    if library::find().is_none() {
        return ptr::null_mut();
    }
    // After the report exists, `matchpoint run` may send the signal.
    dump::install_handler();
    report::write();
    provider::provider()
}
