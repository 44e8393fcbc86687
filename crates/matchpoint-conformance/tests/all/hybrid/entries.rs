//! Entries of context 0, and their withdrawals.

use super::*;

pub(super) fn receive(id: u64, source: Wild<Rank>, tag: Wild<Tag>) -> Receive {
    Receive::new(RecvId(id), Selector::new(ContextId(0), source, tag))
}

pub(super) fn message(id: u64, source: u64, tag: u64) -> Message {
    Message::new(MsgId(id), Envelope::new(ContextId(0), Rank(source), Tag(tag)))
}

/// A cancel of the receive that has this id. [`Issued`] completes it, or the judge.
pub(super) fn cancel(id: u64) -> Event {
    Event::Cancel(receive(id, ANY_SOURCE, ANY_TAG))
}

/// The same of a message.
pub(super) fn retract(id: u64) -> Event {
    Event::Retract(message(id, 0, 0))
}

/// The same of a message that gets a source.
pub(super) fn readdress(id: u64, source: Rank) -> Event {
    Event::Readdress(message(id, 0, 0), source)
}
