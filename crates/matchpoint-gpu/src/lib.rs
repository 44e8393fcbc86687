//! Matching on graphics processors, in batches: all messages that arrived against all receives that are posted.
//!
//! After Klenk, Fröning, Eberle and Dennison, "Relaxations for high-performance message passing on massively parallel SIMT
//! processors" (2017). Three kernels, in CUDA C++ ([`kernels`]), which NVRTC compiles for the card that is there:
//!
//! | kernel | from | order | wildcards |
//! |---|---|---|---|
//! | [`Kernel::Matrix`] | §V | MPI's | all |
//! | the same, by [segments](partition) | §VI-A | MPI's | no receive from any source |
//! | [`Kernel::Hash`] | §VI-C | none | none |
//! | [`Kernel::Ordered`] | ours | MPI's | none |
//!
//! What a batch may be matched in: between the calls of a batch the order of posts and arrivals does not matter. Both sides
//! prefer what is older, so the receive posted first gets the oldest message that it accepts whenever that came, the next
//! one the oldest of what is left, and so on: there is no other matching in which nobody could have done better. Probes and
//! cancels do see what is matched already; they end a batch.
//!
//! No code here runs on a card yet: the kernels' logic is tested on a host, where `emulation/` runs the threads of a block
//! as a card would, and NVRTC compiles every kernel for every architecture that it is meant for.

pub mod compile;
pub mod kernels;
pub mod layout;
pub mod partition;

pub use kernels::Kernel;
