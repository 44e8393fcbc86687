//! Message matching in MPI: the contract of an engine, and the engines.
//!
//! ```
//! use matchpoint::{ContextId, Envelope, Message, MsgId, Rank, Receive, RecvId, Selector, Tag, Wild, engines};
//!
//! let mut engine = engines::create("list")?;
//! let world = ContextId(0);
//! // MPI_Irecv(…, MPI_ANY_SOURCE, 7, …)
//! let selector = Selector::new(world, Wild::Any, Wild::Is(Tag(7)));
//! assert_eq!(engine.post(Receive::new(RecvId(1), selector))?, None);
//! // A message with tag 7 arrives from rank 3, and finds it.
//! let envelope = Envelope::new(world, Rank(3), Tag(7));
//! assert_eq!(engine.arrive_message(Message::new(MsgId(1), envelope))?, Some(RecvId(1)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Read [`engines::list`] first: this engine defines the expected results of all others.

mod blocks;
mod communicators;
pub mod concurrent;
pub mod effort;
pub mod engine;
pub mod engines;
mod entry;
pub mod envelope;
pub mod event;
pub mod footprint;
mod forward;
mod hashes;
pub mod hints;
mod linked;
mod maintenance;
pub mod migration;
pub mod offload;
mod peers;
mod ring;
pub mod scan;
mod scan_engine;
mod sync;
pub mod wrap;

pub use concurrent::Concurrent;
pub use effort::Attempts;
pub use engine::{
    Deliver, Drained, Engine, Entry, Message, MsgId, Place, Queue, Readdressed, Receive, RecvId, Refused,
};
pub use envelope::{ContextId, Envelope, Pair, Rank, Selector, Tag, TagMask, Wild};
pub use event::{Event, Outcome};
pub use footprint::Footprint;
pub use hints::{Hints, Order};
pub use migration::migrate_entries;
pub use scan::InstructionSet;
