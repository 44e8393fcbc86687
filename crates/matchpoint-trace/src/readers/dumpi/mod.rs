//! DUMPI, the format of SST's tracing library: a `.meta` file, and a `.bin` file for each rank.
//!
//! A `.bin` file is a stream of records, one for each call, then tables (counts of calls, sizes of datatypes, …), and
//! last an index of where they are. Integers have their most significant byte first. A record is a function's number,
//! a mask of what it holds, thread, times and counters if so, and the function's arguments. Communicators, groups
//! and requests are numbered by each process for itself, and requests are recycled.

mod action;
mod binary;
mod clock;
mod comms;
mod cursor;
mod decode;
mod files;
mod form;
mod frequent;
mod identity;
mod ids;
mod layout;
mod meta;
mod record;
mod sections;
mod sizes;
mod stream;
mod survey;
pub mod text;
mod trace;
mod version;
pub mod writer;

pub(super) use binary::READER as BINARY;
pub use binary::read_bytes;
pub(super) use text::READER as TEXT;
