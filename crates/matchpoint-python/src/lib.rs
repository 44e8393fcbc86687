//! The compiled module of the Python package `matchpoint_mpi`.
//!
//! The module contains the classes, and functions that take the arguments of a command line. The package in
//! `python/` has the functions for users. Types are in `__init__.py` and `_native.pyi`.
#![cfg(feature = "module")]

mod bench;
mod calls;
mod engine;
mod errors;
mod events;
mod machine;
mod numbers;
mod predict;
mod report;
mod table;
mod wait;

use pyo3::prelude::*;

/// Compiled part of matchpoint_mpi.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::bench::bench;
    #[pymodule_export]
    use super::calls::Calls;
    #[pymodule_export]
    use super::engine::Engine;
    #[pymodule_export]
    use super::errors::MatchpointError;
    #[pymodule_export]
    use super::events::{Replay, events, replay};
    #[pymodule_export]
    use super::machine::Machine;
    #[pymodule_export]
    use super::predict::{Prediction, predict};
    #[pymodule_export]
    use super::report::{Report, Verdict, analyze};
    #[pymodule_export]
    use super::table::Table;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        matchpoint_cli::engines::make_known();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
