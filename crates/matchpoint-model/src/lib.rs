//! Performance models of irregular point-to-point communication.
//!
//! After *the paper*: Bienz, Gropp and Olson, "Improving Performance Models for Irregular Point-to-Point
//! Communication" (EuroMPI 2018).
//!
//! [`predict()`](predict::predict) estimates the cost of an [`Exchange`] on a [`Machine`]. Times are in
//! seconds, sizes in bytes, rates in bytes per second; names end with the unit.

#![allow(missing_docs)] // a name that explains an item needs no comment

pub mod contention;
pub mod estimate;
pub mod exchange;
pub mod figures;
mod file_error;
pub mod layout;
mod lines;
pub mod logp;
pub mod machine;
pub mod matrix_market;
pub mod memory;
pub mod partition;
pub mod predict;
pub mod queue;
pub mod sparse;
pub mod topology;
pub mod transport;

pub use estimate::{End, ParameterEstimate};
pub use exchange::{Exchange, Sent};
pub use file_error::FileError;
pub use layout::Layout;
pub use machine::{Locality, Machine, Missing, Protocol};
pub use partition::Partition;
pub use predict::{Prediction, ProcessCost, Search, Setting, Split, predict};
pub use queue::SearchOrder;
pub use topology::Topology;
