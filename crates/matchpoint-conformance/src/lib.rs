//! The laws of MPI message matching, executable on any engine.
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
//! An [`Oracle`] checks each outcome against the [contract](matchpoint::engine). [`check`] runs streams of
//! events: [random](generate), [adversarial] and [deep], some of them interleaved on two engines. If an
//! engine breaks a law, [`check`] returns the shortest script found that breaks the same law. The scripts in
//! this crate's `scripts/`, each with a comment about its purpose, run on every engine.
#![allow(missing_docs)] // a name that explains an item needs no comment

pub mod adversarial;
mod check;
mod choices;
pub mod deep;
pub mod generate;
mod interleave;
mod issued;
mod law;
mod oracle;
mod relabel;
mod renumber;
mod report;
mod run;
mod shrink;
mod terms;

pub use check::{Options, check, check_watched};
pub use choices::Choices;
pub use issued::Issued;
pub use law::{Broken, Law};
pub use oracle::Oracle;
pub use relabel::Relabelling;
pub use report::{Report, Substitute, Violation, check_events};
pub use run::{Run, run};
pub use shrink::shrink;
pub use terms::{OptionalCalls, Terms, is_mpi};
