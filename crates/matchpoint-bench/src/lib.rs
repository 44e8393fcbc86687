//! The standard workloads, and the costs of engines on them: time, memory, attempts.
//!
//! [`run()`] returns [`Results`] of every workload on every engine. A model without code of any engine checks every
//! result once, untimed.

#![allow(missing_docs)] // An internal library: items with a clear name need no documentation.

pub mod callers;
pub mod instructions;
pub mod latency;
pub mod measure;
pub mod model;
pub mod offload;
pub mod random;
pub mod rate;
pub mod reference;
pub mod results;
pub mod script;
pub mod statistics;
pub mod through_c;
pub mod workloads;

mod budget;
mod cold;
mod floor;
mod player;

pub use measure::{Options, run};
pub use results::{Cell, Outcome, Results};
pub use workloads::{Job, Workload};
