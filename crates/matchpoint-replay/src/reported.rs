//! What a traced receive or probe reported of its message.

use matchpoint_trace::call::{Peer, Status, TagArg};

/// The part of a status that matching is about: small, since every pending request keeps one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reported {
    pub source: Option<u32>,
    pub tag: Option<i32>,
}

impl Reported {
    /// `None`: the status was ignored, or speaks of a call that was cancelled.
    pub fn of(status: Option<Status>) -> Option<Self> {
        let status = status.filter(|status| !status.cancelled)?;
        let source = if let Peer::Rank(source) = status.source { Some(source) } else { None };
        let tag = if let TagArg::Is(tag) = status.tag { Some(tag) } else { None };
        Some(Reported { source, tag })
    }
}
