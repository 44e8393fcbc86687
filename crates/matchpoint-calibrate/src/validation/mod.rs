//! Comparison of modelled and measured times of an operation.
//!
//! The benchmark receives every message of an operation, and reports time and arrival order. The comparison uses the time
//! of the slowest rank.

pub mod measured;
pub mod models;
pub mod played;
pub mod searched;
mod validated;

pub use self::measured::{Asked, Operation, volume_attempts};
pub use self::validated::{
    Application, Job, Judgement, ModelError, Modelled, Row, Searched, Step, Times, Validated, Worst,
};
