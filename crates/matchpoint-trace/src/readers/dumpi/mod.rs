//! DUMPI, the format of SST's tracing library: a `.meta` file, and a `.bin` file per rank.
//!
//! A `.bin` file is a stream of records, one per call, followed by tables and an index, in big-endian order.
//! A record has a function number, a mask, optional thread, times and counters, and the arguments. Each
//! process numbers its communicators, groups and requests, and reuses request numbers.

mod action;
mod binary;
mod clock;
mod comms;
mod cursor;
mod decode;
mod file_notes;
mod files;
mod form;
mod frequent;
mod ids;
mod layout;
mod meta;
mod record;
mod sections;
mod stream;
pub mod text;
mod trace;
mod version;
pub mod writer;

pub(super) use binary::READER as BINARY;
pub use binary::read_bytes;
pub(super) use text::READER as TEXT;
