//! Entries of the simulation's queues: its records of receives and messages, linked to each other where they lie.

use matchpoint::{MsgId, RecvId};
use matchpoint_trace::call::{CommId, RequestId};

use crate::label::Label;
use crate::reported::Reported;

/// No entry.
pub(crate) const NIL: u32 = u32::MAX;

/// What lies in a bin or a list: it knows the next.
pub(crate) trait Linked {
    fn label(&self) -> Label;
    fn next(&self) -> u32;
    fn set_next(&mut self, next: u32);
}

/// Whom the end of a send, a receive or a collective concerns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Owner {
    /// The thread that is blocked in the call: index of its lane.
    Lane(u16),
    /// A request.
    Request(RequestId),
    /// A request that was freed.
    Nobody,
}

/// A receive, from its post to the end of the call that completes it.
pub(crate) struct PostedReceive {
    pub asked: Label,
    /// Its number among all receives and messages.
    pub number: u64,
    /// Where it was posted, as [`Step::site`](crate::step::Step::site).
    pub site: u32,
    pub owner: Owner,
    pub comm: CommId,
    /// For the matcher: the next in its bin or list.
    pub next: u32,
    /// What the call reported, if it blocked.
    pub expected: Option<Reported>,
    /// Its message is made up: the sender has no stream.
    pub absent: bool,
    /// Messages made up for it since everybody waited.
    pub made_up: u8,
}

impl PostedReceive {
    /// A receive that is nobody's yet.
    pub fn of(asked: Label, number: u64) -> Self {
        PostedReceive {
            asked,
            number,
            site: 0,
            owner: Owner::Nobody,
            comm: CommId::WORLD,
            next: NIL,
            expected: None,
            absent: false,
            made_up: 0,
        }
    }

    /// What engines know it by, at that place.
    pub fn id(&self, place: u32) -> RecvId {
        RecvId::new(place, self.number as u32)
    }
}

impl Linked for PostedReceive {
    #[inline]
    fn label(&self) -> Label {
        self.asked
    }

    #[inline]
    fn next(&self) -> u32 {
        self.next
    }

    #[inline]
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// A message on its way, or unexpected: 56 bytes. Where very many are unexpected, most are kept in less
/// ([`Backlog`](crate::backlog::Backlog)).
pub(crate) struct Flight {
    pub label: Label,
    pub bytes: u64,
    /// The lower half of its number among all receives and messages.
    pub number: u32,
    /// World rank of the sender.
    pub from: u32,
    /// For the matcher: the next in its bin, and its neighbours in the list of arrivals.
    pub next: u32,
    pub older: u32,
    /// As long as it is under way, it has no neighbours, and this is how long it will have been when it arrives, in
    /// nanoseconds: at most so many as fit, or [`NIL`].
    pub newer: u32,
    pub protocol: Protocol,
    /// It waits for a receive.
    pub is_queued: bool,
    /// Who waits at the sending process for its end, unless it was eager.
    pub sender: Owner,
    /// The sender has no stream: this is what its receiver recorded.
    pub made_up: bool,
    /// The sender withdrew it before it arrived.
    pub withdrawn: bool,
}

impl Flight {
    /// An eager message of no bytes, from nobody.
    pub fn of(label: Label, number: u32) -> Self {
        Flight {
            label,
            bytes: 0,
            number,
            from: u32::MAX,
            next: NIL,
            older: NIL,
            newer: NIL,
            protocol: Protocol::Eager,
            is_queued: false,
            sender: Owner::Nobody,
            made_up: false,
            withdrawn: false,
        }
    }

    /// What engines know it by. Numbers begin again after four milliards, of which not all wait at once.
    #[inline]
    pub fn id(&self) -> MsgId {
        MsgId::new(self.number, 0)
    }

    /// Once it waits, nothing matters of it but its label and number.
    pub fn is_plain(&self) -> bool {
        let is_sent = self.protocol == Protocol::Eager && self.sender == Owner::Nobody;
        is_sent && !self.made_up && !self.withdrawn && self.label.is_exact()
    }
}

impl Linked for Flight {
    #[inline]
    fn label(&self) -> Label {
        self.label
    }

    #[inline]
    fn next(&self) -> u32 {
        self.next
    }

    #[inline]
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// How a message travels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Protocol {
    /// All at once; the sender does not wait.
    Eager,
    /// All at once; the sender waits for the match (`MPI_Ssend`).
    Synchronous,
    /// A request to send, and the rest after the match.
    Rendezvous,
}
