//! Message matching on graphics processors, in batches of messages and receives.
//!
//! The algorithms follow Klenk, Fröning, Eberle and Dennison, "Relaxations for high-performance message
//! passing on massively parallel SIMT processors" (2017). NVRTC compiles the [`kernels`] for the present
//! card.
//!
//! | [`Algorithm`] | source | order | wildcards |
//! |---|---|---|---|
//! | [`Matrix`](Algorithm::Matrix) | §V | MPI's | all |
//! | [`Partitioned`](Algorithm::Partitioned), by [segments](partition) | §VI-A | MPI's | no any-source receive |
//! | [`Hash`](Algorithm::Hash) | §VI-C | none | none |
//! | [`Ordered`](Algorithm::Ordered) | Matchpoint | MPI's | all |
//! | `Ordered` on the whole card ([`Division`]) | Matchpoint | MPI's | all |
//!
//! Within a batch, the interleaving of posts and arrivals does not affect the result. The first posted
//! receive gets the oldest message that it matches, and each next receive the oldest remaining message. This
//! is the only stable matching, because both sides prefer older entries. A probe or a cancel depends on
//! earlier matches and ends the batch.
//!
//! [Engines](engine) with these kernels keep the contract of every engine. Their names are in [`engines`].
//!
//! A [`Machine`] runs the kernels: a [`Card`], or in tests the host (`emulation/`).

#![allow(missing_docs)] // a name that explains an item needs no comment

pub mod batch;
mod buffer;
pub mod card;
pub mod compaction;
pub mod compile;
pub mod division;
pub mod engine;
pub mod engines;
pub mod figures;
pub mod kernels;
pub mod machine;
mod matcher;
pub mod matching;
pub mod measure;
pub mod partition;
pub mod recorded;
pub mod resident;
mod timeout;
mod wildcards;

pub use batch::Batch;
pub use card::Card;
pub use division::Division;
pub use engine::KernelEngine;
pub use machine::Machine;
pub use matcher::{Matcher, match_batch};
pub use matching::{Algorithm, Loaded};
pub use recorded::Recorded;
