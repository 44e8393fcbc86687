//! Readers of MPI traces: the calls of every rank, in recorded order.
//!
//! [`open`] recognizes the format of a path and returns a [`Trace`]. A [`RankReader`] of each rank fills one
//! [`Call`] after another without allocating.

#![allow(missing_docs)] // a name that explains an item needs no comment

pub mod call;
pub mod columns;
pub mod dumpi;
pub mod error;
pub mod function;
pub mod native;
pub mod readers;
mod search;
mod trace;

pub use call::Call;
pub use error::TraceError;
pub use function::{Class, Function};
pub use readers::open;
pub use search::{BurstCost, EntryCost, SearchCost};
pub use trace::{Arrival, Arrivals, Description, Missing, Nanoseconds, RankReader, Trace};
