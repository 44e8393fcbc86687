//! The standard workloads, and what engines cost on them: time, memory, entries examined.
//!
//! [`run()`] plays every workload through every engine, in turn, and returns [`Results`]: plain data. Each answer of each
//! engine is compared with that of a model which shares no code with any engine; timing is separate from that.

pub mod callers;
pub mod full;
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
