//! Readers of MPI traces: every call of every rank, streamed in the order its process recorded it.
//!
//! [`open`] finds out what a path holds and gives a [`Trace`]; each rank of it is read through a [`RankReader`],
//! which fills one [`Call`] after another without allocating. Readers know nothing of matching or of engines.

pub mod call;
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
