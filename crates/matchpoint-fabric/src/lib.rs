//! A libfabric provider that matches tagged messages with Matchpoint's engines, on top of a provider that transports
//! them. `matchpoint run` puts it under unmodified programs on stock MPI libraries.
//!
//! libfabric loads the library and calls [`fi_prov_ini`]; from then on the application's calls come through tables of
//! functions of which some are ours ([`patch`]). The core provider asks us, as the owner of its receive queue ([`peer`]), for the
//! receive that a message matches; [`matching`] asks an engine. The core provider then completes the receive.
#![allow(unsafe_code)]

pub mod abi;
pub mod asked;
mod completion;
mod core_provider;
mod dump;
mod fabric;
mod held;
pub mod library;
pub mod lock;
pub mod matching;
mod object;
mod patch;
pub mod peer;
mod pool;
mod provider;
mod queue;
mod report;
mod settings;
mod short;
mod sources;

use std::ptr;

use abi::Provider;

/// What libfabric looks up and calls in a library that has just been loaded as a provider. Null: there is none.
#[unsafe(no_mangle)]
pub extern "C" fn fi_prov_ini() -> *mut Provider {
    if library::find().is_none() {
        return ptr::null_mut();
    }
    // The report names this process to the command, which sends the signal.
    dump::listen();
    report::write();
    provider::provider()
}
