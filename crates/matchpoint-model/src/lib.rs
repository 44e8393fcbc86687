//! Performance models of irregular point-to-point communication, after Bienz, Gropp and Olson, "Improving Performance
//! Models for Irregular Point-to-Point Communication" (EuroMPI 2018): *the paper* in what follows.
//!
//! A [`Machine`] has the parameters; an [`Exchange`] says who sends how much to whom; [`predict()`](predict::predict)
//! says what that costs. Times are seconds, sizes bytes, rates bytes per second; names say which.

pub mod contention;
pub mod estimate;
pub mod exchange;
pub mod figures;
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

pub use estimate::{End, Estimate};
pub use exchange::{Exchange, Sent};
pub use layout::Layout;
pub use machine::{Locality, Machine, Missing, Protocol};
pub use partition::Partition;
pub use predict::{Prediction, ProcessCost, Search, Setting, Split, predict};
pub use queue::SearchOrder;
pub use topology::Topology;
