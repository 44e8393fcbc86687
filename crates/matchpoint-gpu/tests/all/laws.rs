//! The laws of every engine, for engines that match on a machine.

use std::sync::Arc;

use matchpoint::Engine;
use matchpoint_conformance::{Options, Report, check};
use matchpoint_gpu::machine::Machine;
use matchpoint_gpu::{Algorithm, KernelEngine};

/// Report on all streams, with engines of one algorithm that share a machine.
pub fn report<M: Machine + Send + Sync + 'static>(
    machine: &Arc<M>,
    algorithm: Algorithm,
    options: &Options,
) -> Report {
    let make = || Box::new(KernelEngine::new(machine.clone(), algorithm)) as Box<dyn Engine>;
    check(&make, options).unwrap_or_else(|violation| panic!("{}\n{violation}", algorithm.name()))
}
