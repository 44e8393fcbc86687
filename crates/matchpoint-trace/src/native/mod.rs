//! Matchpoint's trace format (`docs/reference/trace-format.md`): types common to reader and writer.
//!
//! A trace is a folder with a [`manifest`] and one file per process. A file is a sequence of blocks
//! ([`block`]). The first block is the [`head`], with the fields of each function's calls, as in [`layout`].

pub mod arrivals;
pub mod block;
pub mod head;
pub mod layout;
pub mod manifest;
pub(crate) mod varint;
mod writer;

use std::path::Path;

pub use writer::{Settings, Writer};

pub use crate::readers::native::{Entry, FollowError, Follower, Queues, Summary, summaries};

/// Version of the written format. The reader also reads older versions.
pub const VERSION: u32 = 2;

/// Maximum number of ranks. A larger number in a file is damage.
pub(crate) const MOST_RANKS: u32 = 1 << 20;

pub fn file_name(rank: u32) -> String {
    format!("rank-{rank:05}.mpt")
}

/// Rank in a file name such as `rank-00012.mpt`.
pub fn rank_of_file_name(name: &str) -> Option<u32> {
    rank_of(Path::new(name))
}

pub(crate) fn is_rank_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("mpt"))
}

pub(crate) fn rank_of(path: &Path) -> Option<u32> {
    let stem = path.file_stem().filter(|_| is_rank_file(path))?.to_str()?;
    let digits = stem.strip_prefix("rank-")?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}
