//! Receives and messages, their ids and queues, and the errors of an engine.

use crate::envelope::{ContextId, Envelope, Selector};

/// Id of a receive, chosen by the caller, unique among queued receives.
///
/// A caller that reuses slots adds a generation ([`RecvId::new`]), so that a stale
/// [`Engine::cancel`](crate::Engine::cancel) finds no receive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RecvId(pub u64);

/// Id of a message, chosen by the caller, unique among queued messages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MsgId(pub u64);

impl RecvId {
    /// Slot `index` of the caller's table, used for the `generation`th time.
    pub fn new(index: u32, generation: u32) -> Self {
        RecvId(u64::from(generation) << 32 | u64::from(index))
    }

    /// The slot of the caller's table.
    pub fn index(self) -> u32 {
        self.0 as u32
    }
}

impl MsgId {
    /// Slot `index` of the caller's table, used for the `generation`th time.
    pub fn new(index: u32, generation: u32) -> Self {
        MsgId(u64::from(generation) << 32 | u64::from(index))
    }

    /// The slot of the caller's table.
    pub fn index(self) -> u32 {
        self.0 as u32
    }
}

/// A receive and its id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Receive {
    /// The id.
    pub id: RecvId,
    /// Context, source and tag, with wildcards.
    pub selector: Selector,
}

impl Receive {
    /// The receive.
    #[inline]
    pub fn new(id: RecvId, selector: Selector) -> Self {
        Receive { id, selector }
    }
}

/// A message and its id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Message {
    /// The id.
    pub id: MsgId,
    /// The envelope.
    pub envelope: Envelope,
}

impl Message {
    /// The message.
    #[inline]
    pub fn new(id: MsgId, envelope: Envelope) -> Self {
        Message { id, envelope }
    }
}

/// Error of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The call breaks an assertion of [`Engine::set_hints`](crate::Engine::set_hints).
    Hint,
    /// A table of fixed size is full.
    Full,
    /// An allocation failed.
    Memory,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Refused::Hint => "the call breaks an assertion on its context",
            Refused::Full => "the engine's table is full",
            Refused::Memory => "out of memory",
        })
    }
}

impl std::error::Error for Refused {}

/// One of the two queues.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Queue {
    /// Posted receives without a message (PRQ).
    Posted,
    /// Unexpected messages (UMQ).
    Unexpected,
}

/// An entry of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A receive, in [`Queue::Posted`].
    Receive(Receive),
    /// A message, in [`Queue::Unexpected`].
    Message(Message),
}

impl Entry {
    /// The context.
    pub fn context(&self) -> ContextId {
        match self {
            Entry::Receive(receive) => receive.selector.context(),
            Entry::Message(message) => message.envelope.context,
        }
    }
}
