//! Messages and receives as a kernel reads them: `kernels/batch.h` in Rust.

use matchpoint::{Envelope, Selector, Wild};

/// In place of a message: none.
pub const NONE: u32 = u32::MAX;

/// An envelope, 24 bytes.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Message {
    /// Who sent it.
    pub source: u64,
    /// Its tag.
    pub tag: u64,
    /// Its context.
    pub context: u32,
    padding: u32,
}

/// A selector, 32 bytes.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Receive {
    /// The source asked for; 0 if any will do.
    pub source: u64,
    /// The tag asked for, in the bits that count.
    pub tag: u64,
    /// Bits of the tag that do not count.
    pub ignore: u64,
    /// The context.
    pub context: u32,
    /// 1 if any source will do, else 0.
    pub any_source: u32,
}

/// What one block matches: messages and receives from, and up to but without, counted in their order.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    /// The first message.
    pub message: u32,
    /// The message after the last.
    pub message_end: u32,
    /// The first receive.
    pub receive: u32,
    /// The receive after the last.
    pub receive_end: u32,
}

impl From<&Envelope> for Message {
    fn from(envelope: &Envelope) -> Self {
        Message { source: envelope.source.0, tag: envelope.tag.0, context: envelope.context.0, padding: 0 }
    }
}

impl From<&Selector> for Receive {
    fn from(selector: &Selector) -> Self {
        let (source, any_source) = match selector.source() {
            Wild::Is(rank) => (rank.0, 0),
            Wild::Any => (0, 1),
            Wild::Masked(never) => match never {},
        };
        let (tag, ignore) = match selector.tag() {
            Wild::Is(tag) => (tag.0, 0),
            Wild::Any => (0, u64::MAX),
            Wild::Masked(mask) => (mask.value.0, mask.ignore),
        };
        Receive { source, tag, ignore, context: selector.context().0, any_source }
    }
}

const _: () = assert!(size_of::<Message>() == 24 && size_of::<Receive>() == 32 && size_of::<Segment>() == 16);
