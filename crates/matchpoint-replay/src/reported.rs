//! Source and tag of a traced status.

use std::num::NonZeroU32;

use matchpoint_trace::call::{Completion, Peer, Status, TagArg};

/// `Option<Reported>` has 8 bytes, because every pending request and receive keeps one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reported {
    /// Source + 1.
    source: NonZeroU32,
    tag: i32,
}

/// Unknown source and tag. No message has them.
const NO_SOURCE: NonZeroU32 = NonZeroU32::MAX;
const NO_TAG: i32 = i32::MIN;

impl Reported {
    /// `None` if the program ignored the status or the call was cancelled.
    #[inline]
    pub fn of(status: Option<Status>) -> Option<Self> {
        let status = status.filter(|status| !status.cancelled)?;
        let source = if let Peer::Rank(source) = status.source { Some(source) } else { None };
        let tag = if let TagArg::Is(tag) = status.tag { tag } else { NO_TAG };
        Some(Reported { source: source.map_or(NO_SOURCE, one_more), tag })
    }

    #[inline]
    pub fn message((source, tag): (u32, i32)) -> Self {
        Reported { source: one_more(source), tag }
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
fn one_more(source: u32) -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(source)
}

/// A third of a [`Completion`]'s bytes, because every process keeps its next call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completed {
    pub index: u32,
    pub cancelled: bool,
    pub reported: Option<Reported>,
}

impl Completed {
    #[inline]
    pub fn of(&Completion { index, status }: &Completion) -> Self {
        let cancelled = status.is_some_and(|status| status.cancelled);
        Completed { index, cancelled, reported: Reported::of(status) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_open_is_not_reported() {
        let of =
            |source, tag| Reported::of(Some(Status { source, tag, bytes: None, cancelled: false })).unwrap();
        let exact = of(Peer::Rank(0), TagArg::Is(-1));
        assert_eq!((exact.source(), exact.tag()), (Some(0), Some(-1)));
        assert_eq!(exact, Reported::message((0, -1)));
        let open = of(Peer::Any, TagArg::Any);
        assert_eq!((open.source(), open.tag()), (None, None));
        assert_eq!(size_of::<Option<Reported>>(), 8);
        assert_eq!(size_of::<Completed>(), 16);
    }
}
