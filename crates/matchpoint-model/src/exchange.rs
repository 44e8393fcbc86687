//! Who sends how much to whom, in one operation.

/// Messages from one process to another: one, or several that are sent under one protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Sent {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// How many: 1 at least.
    pub messages: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl Sent {
    /// One message.
    pub fn one(from: u32, to: u32, bytes: u64) -> Self {
        Sent { from, to, messages: 1, bytes }
    }

    /// Their mean size, which tells the protocol.
    pub fn mean_bytes(&self) -> f64 {
        self.bytes as f64 / self.messages.max(1) as f64
    }
}

/// All messages of one operation: what every process sends at once, and waits for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exchange {
    /// The messages, in no particular order; none to its own sender.
    pub messages: Vec<Sent>,
}

impl Exchange {
    /// The number of messages.
    pub fn count(&self) -> u64 {
        self.messages.iter().map(|sent| sent.messages).sum()
    }

    /// Bytes of all messages.
    pub fn bytes(&self) -> u64 {
        self.messages.iter().map(|sent| sent.bytes).sum()
    }
}
