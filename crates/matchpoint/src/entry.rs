//! Receives and messages: what engines are given, what waits in their queues, and why an engine refuses one.

use crate::envelope::{ContextId, Envelope, Selector};

/// Names a receive. Chosen by the caller, who never lets two receives that are queued at once share an id.
///
/// A caller that keeps receives in a table and reuses its places puts a generation beside the place
/// ([`RecvId::new`]), so that a stale [`Engine::cancel`](crate::Engine::cancel) finds nothing instead of the place's next owner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RecvId(pub u64);

/// Names a message. Chosen by the caller, who never lets two messages that are queued at once share an id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MsgId(pub u64);

impl RecvId {
    /// The id of the `generation`th owner of place `index` in the caller's table.
    pub fn new(index: u32, generation: u32) -> Self {
        RecvId(u64::from(generation) << 32 | u64::from(index))
    }

    /// The place in the caller's table.
    pub fn index(self) -> u32 {
        self.0 as u32
    }
}

impl MsgId {
    /// The id of the `generation`th owner of place `index` in the caller's table.
    pub fn new(index: u32, generation: u32) -> Self {
        MsgId(u64::from(generation) << 32 | u64::from(index))
    }

    /// The place in the caller's table.
    pub fn index(self) -> u32 {
        self.0 as u32
    }
}

/// A receive, as it is posted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Receive {
    /// Its name.
    pub id: RecvId,
    /// What it asks for.
    pub selector: Selector,
}

impl Receive {
    /// A receive of that name that asks for `selector`.
    #[inline]
    pub fn new(id: RecvId, selector: Selector) -> Self {
        Receive { id, selector }
    }
}

/// A message, as it arrives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Message {
    /// Its name.
    pub id: MsgId,
    /// What it says of itself.
    pub envelope: Envelope,
}

impl Message {
    /// A message of that name with that envelope.
    #[inline]
    pub fn new(id: MsgId, envelope: Envelope) -> Self {
        Message { id, envelope }
    }
}

/// Why an engine would not take a receive, a message or a hint. The engine is as it was before the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// It breaks an assertion made by [`Engine::set_hints`](crate::Engine::set_hints).
    Hint,
    /// A table of fixed size is full: the caller falls back to another engine.
    Full,
    /// Memory cannot be had.
    Memory,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Refused::Hint => "it breaks an assertion made on this context",
            Refused::Full => "the engine's table is full",
            Refused::Memory => "out of memory",
        })
    }
}

impl std::error::Error for Refused {}

/// One of the two queues.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Queue {
    /// Receives that wait for a message (the PRQ).
    Posted,
    /// Messages that wait for a receive (the UMQ).
    Unexpected,
}

/// What waits in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// In [`Queue::Posted`].
    Receive(Receive),
    /// In [`Queue::Unexpected`].
    Message(Message),
}

impl Entry {
    /// The context that it is in.
    pub fn context(&self) -> ContextId {
        match self {
            Entry::Receive(receive) => receive.selector.context(),
            Entry::Message(message) => message.envelope.context,
        }
    }
}
