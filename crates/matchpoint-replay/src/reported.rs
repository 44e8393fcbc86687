//! What a traced receive or probe reported of its message.

use matchpoint_trace::call::{Peer, Status, TagArg};

/// The part of a status that matching is about: 12 bytes, since every pending request and receive keeps one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reported {
    source: u32,
    tag: i32,
    has_source: bool,
    has_tag: bool,
}

impl Reported {
    /// `None`: the status was ignored, or speaks of a call that was cancelled.
    #[inline]
    pub fn of(status: Option<Status>) -> Option<Self> {
        let status = status.filter(|status| !status.cancelled)?;
        let (source, has_source) =
            if let Peer::Rank(source) = status.source { (source, true) } else { (0, false) };
        let (tag, has_tag) = if let TagArg::Is(tag) = status.tag { (tag, true) } else { (0, false) };
        Some(Reported { source, tag, has_source, has_tag })
    }

    #[inline]
    pub fn source(self) -> Option<u32> {
        self.has_source.then_some(self.source)
    }

    #[inline]
    pub fn tag(self) -> Option<i32> {
        self.has_tag.then_some(self.tag)
    }
}
