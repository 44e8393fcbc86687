//! Records of receives and messages in the simulation's queues, with their links.

use matchpoint::{MsgId, RecvId};
use matchpoint_trace::call::{CommId, RequestId};

use crate::label::Label;
use crate::status_envelope::StatusEnvelope;

pub(crate) const NIL: u32 = u32::MAX;

pub(crate) trait Linked {
    fn label(&self) -> Label;
    fn next(&self) -> u32;
    fn set_next(&mut self, next: u32);
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Owner {
    Lane(u16),
    Request(RequestId),
    None,
}

pub(crate) struct PostedReceive {
    pub selector: Label,
    /// Number of the receive, counted over all receives and messages.
    pub number: u64,
    pub site: u32,
    pub owner: Owner,
    pub comm: CommId,
    pub next: u32,
    /// Recorded status of a blocking call.
    pub expected: Option<StatusEnvelope>,
    pub is_sender_missing: bool,
    pub invented_count: u8,
}

impl PostedReceive {
    pub fn of(selector: Label, number: u64) -> Self {
        PostedReceive {
            selector,
            number,
            site: 0,
            owner: Owner::None,
            comm: CommId::WORLD,
            next: NIL,
            expected: None,
            is_sender_missing: false,
            invented_count: 0,
        }
    }

    pub fn id(&self, slot: u32) -> RecvId {
        RecvId::new(slot, self.number as u32)
    }
}

impl Linked for PostedReceive {
    #[inline]
    fn label(&self) -> Label {
        self.selector
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

/// A message in flight or in the unexpected queue: 56 bytes.
pub(crate) struct MessageRecord {
    pub label: Label,
    pub bytes: u64,
    pub number: u32,
    pub from: u32,
    /// The next message in the bin, and the neighbors in arrival order.
    pub next: u32,
    pub older: u32,
    /// In the queue, the next newer message; in flight, the flight time in nanoseconds, at most [`NIL`].
    pub newer: u32,
    pub protocol: Protocol,
    pub is_queued: bool,
    /// The sender's operation, which waits for the match unless the message is eager.
    pub sender: Owner,
    pub is_invented: bool,
    pub is_cancelled: bool,
}

impl MessageRecord {
    pub fn of(label: Label, number: u32) -> Self {
        MessageRecord {
            label,
            bytes: 0,
            number,
            from: u32::MAX,
            next: NIL,
            older: NIL,
            newer: NIL,
            protocol: Protocol::Eager,
            is_queued: false,
            sender: Owner::None,
            is_invented: false,
            is_cancelled: false,
        }
    }

    /// Numbers wrap after 2^32 messages, but far fewer are queued at a time.
    #[inline]
    pub fn id(&self) -> MsgId {
        MsgId::new(self.number, 0)
    }

    /// True if label and number suffice once the message is unexpected.
    pub fn is_plain(&self) -> bool {
        let is_sent = self.protocol == Protocol::Eager && self.sender == Owner::None;
        is_sent && !self.is_invented && !self.is_cancelled && self.label.is_exact()
    }
}

impl Linked for MessageRecord {
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

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Protocol {
    Eager,
    Synchronous,
    Rendezvous,
}
