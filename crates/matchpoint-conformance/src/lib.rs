//! The laws of MPI message matching, as code that runs on any engine.
//!
//! ```
//! use matchpoint::engines;
//! use matchpoint_conformance::{Options, check};
//!
//! let report = check(&|| engines::create("list").unwrap(), &Options::quick())?;
//! assert!(report.matches > 1000);
//! # Ok::<(), Box<matchpoint_conformance::Violation>>(())
//! ```
//!
//! A [`Judge`] keeps both queues itself, says of each outcome whether the [contract](matchpoint::engine) permits it,
//! and follows the engine where the contract leaves it a choice. [`check`] makes it watch the engine through streams of
//! events, [random](generate), [adversarial] and [deep], some of them by turns on two engines, and when a law breaks shrinks the stream to the shortest
//! script that breaks the same law. Saved in this crate's `scripts/`, with a comment that says what it is about, such a
//! script is played on every engine from then on.

pub mod adversarial;
mod check;
mod choices;
pub mod deep;
mod disguise;
pub mod generate;
mod issued;
mod judge;
mod law;
mod played;
mod renumber;
mod run;
mod shrink;
mod terms;
mod turns;

pub use check::{Options, check, check_watched};
pub use choices::Choices;
pub use disguise::Disguise;
pub use issued::Issued;
pub use judge::Judge;
pub use law::{Broken, Law};
pub use played::{Report, Substitute, Violation, check_events};
pub use run::{Run, run};
pub use shrink::shrink;
pub use terms::{Calls, Terms, is_mpi};
