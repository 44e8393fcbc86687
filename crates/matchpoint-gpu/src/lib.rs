//! Matching on graphics processors, in batches: all messages that arrived against all receives that are posted.
//!
//! After Klenk, Fröning, Eberle and Dennison, "Relaxations for high-performance message passing on massively parallel SIMT
//! processors" (2017). Kernels in CUDA C++ ([`kernels`]), which NVRTC compiles for the card that is there:
//!
//! | [`Algorithm`] | from | order | wildcards |
//! |---|---|---|---|
//! | [`Matrix`](Algorithm::Matrix) | §V | MPI's | all |
//! | [`Partitioned`](Algorithm::Partitioned), by [segments](partition) | §VI-A | MPI's | no receive from any source |
//! | [`Hash`](Algorithm::Hash) | §VI-C | none | none |
//! | [`Ordered`](Algorithm::Ordered) | ours | MPI's | all |
//! | the same by the whole card ([`Division`]) | ours | MPI's | all |
//!
//! What a batch may be matched in: between the calls of a batch the order of posts and arrivals does not matter. Both sides
//! prefer what is older, so the receive posted first gets the oldest message that it accepts whenever that came, the next
//! one the oldest of what is left, and so on: there is no other matching in which nobody could have done better. Probes and
//! cancels do see what is matched already; they end a batch.
//!
//! [Engines](engine) that match by them keep the contract of every engine, and have [names](engines).
//!
//! A [`Machine`] runs the kernels: a [`Card`], or in tests the host, where `emulation/` runs the threads of a block as a card
//! would.

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
mod patience;
pub mod recorded;
pub mod resident;
mod wildcards;

pub use batch::Batch;
pub use card::Card;
pub use division::Division;
pub use engine::KernelEngine;
pub use machine::Machine;
pub use matcher::{Matcher, match_batch};
pub use matching::{Algorithm, Loaded};
pub use recorded::Recorded;
