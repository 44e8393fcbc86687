//! Source and tag of a traced status.

use std::num::NonZeroU32;

use matchpoint_trace::call::{Completion, Peer, Status, TagArg};

/// `Option<StatusEnvelope>` has only 8 bytes, because every pending request and receive has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StatusEnvelope {
    /// Rank + 1.
    source: NonZeroU32,
    tag: i32,
}

/// The source that means an unknown source and tag. No message has this source.
const NO_SOURCE: NonZeroU32 = NonZeroU32::MAX;
const NO_TAG: i32 = i32::MIN;

impl StatusEnvelope {
    /// `None` if the program ignored the status or the call was cancelled.
    #[inline]
    pub fn from_status(status: Option<Status>) -> Option<Self> {
        let status = status.filter(|status| !status.cancelled)?;
        let source = if let Peer::Rank(source) = status.source { Some(source) } else { None };
        let tag = if let TagArg::Is(tag) = status.tag { tag } else { NO_TAG };
        Some(StatusEnvelope { source: source.map_or(NO_SOURCE, plus_one), tag })
    }

    #[inline]
    pub fn from_envelope((source, tag): (u32, i32)) -> Self {
        StatusEnvelope { source: plus_one(source), tag }
    }

    #[inline]
    pub fn source(self) -> Option<u32> {
        (self.source != NO_SOURCE).then(|| self.source.get() - 1)
    }

    #[inline]
    pub fn tag(self) -> Option<i32> {
        (self.tag != NO_TAG).then_some(self.tag)
    }
}

#[inline]
fn plus_one(source: u32) -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(source)
}

/// Smaller than a [`Completion`], because every process keeps its next call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompletedRequest {
    pub index: u32,
    pub cancelled: bool,
    pub reported: Option<StatusEnvelope>,
}

impl CompletedRequest {
    #[inline]
    pub fn from_completion(&Completion { index, status }: &Completion) -> Self {
        let cancelled = status.is_some_and(|status| status.cancelled);
        CompletedRequest { index, cancelled, reported: StatusEnvelope::from_status(status) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wild_status_fields_are_none() {
        let from_status = |source, tag| {
            StatusEnvelope::from_status(Some(Status { source, tag, bytes: None, cancelled: false })).unwrap()
        };
        let exact = from_status(Peer::Rank(0), TagArg::Is(-1));
        assert_eq!((exact.source(), exact.tag()), (Some(0), Some(-1)));
        assert_eq!(exact, StatusEnvelope::from_envelope((0, -1)));
        let open = from_status(Peer::Any, TagArg::Any);
        assert_eq!((open.source(), open.tag()), (None, None));
        assert_eq!(size_of::<Option<StatusEnvelope>>(), 8);
        assert_eq!(size_of::<CompletedRequest>(), 16);
    }
}
