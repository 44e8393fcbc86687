//! Messages of one operation: senders, receivers and sizes.

/// Messages from one process to another under one protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Sent {
    pub from: u32,
    pub to: u32,
    /// At least 1.
    pub messages: u64,
    pub bytes: u64,
}

impl Sent {
    pub fn one(from: u32, to: u32, bytes: u64) -> Self {
        Sent { from, to, messages: 1, bytes }
    }

    /// The mean determines the protocol.
    pub fn mean_bytes(&self) -> f64 {
        self.bytes as f64 / self.messages.max(1) as f64
    }
}

/// Each process sends its messages concurrently and waits for all its messages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exchange {
    /// Messages in any order. No process sends to itself.
    pub messages: Vec<Sent>,
}

impl Exchange {
    pub fn count(&self) -> u64 {
        self.messages.iter().map(|sent| sent.messages).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.messages.iter().map(|sent| sent.bytes).sum()
    }
}
