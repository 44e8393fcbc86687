//! Our own format of recorded traces, as `docs/reference/trace-format.md` describes it: what its reader and its writer share.
//!
//! A trace is a folder: a [`manifest`], and a file for each process, which is a sequence of blocks ([`block`]). The first is
//! a [`head`], which says what fields the calls of each function have; [`layout`] says which those should be.

pub mod arrivals;
pub mod block;
pub mod head;
pub mod layout;
pub mod manifest;
pub(crate) mod varint;
mod writer;

use std::path::Path;

pub use writer::{Settings, Writer};

pub use crate::readers::native::{Entry, Follower, Lost, Queues, Summary, summaries};

/// The version that is written. Older ones are read as well.
pub const VERSION: u32 = 2;

/// No trace has more ranks than this; a larger number is a damaged one.
pub(crate) const MOST_RANKS: u32 = 1 << 20;

/// The name of a rank's file.
pub fn file_name(rank: u32) -> String {
    format!("rank-{rank:05}.mpt")
}

/// The rank that a file is of, by its name: `rank-00012.mpt`.
pub fn rank_of_file_name(name: &str) -> Option<u32> {
    rank_of(Path::new(name))
}

/// Whether this is the name of a rank's file.
pub(crate) fn is_rank_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("mpt"))
}

/// The rank in the name of a file: `rank-00012.mpt`.
pub(crate) fn rank_of(path: &Path) -> Option<u32> {
    let stem = path.file_stem().filter(|_| is_rank_file(path))?.to_str()?;
    let digits = stem.strip_prefix("rank-")?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}
