//! Memory of an engine.

/// Allocated bytes of an engine, the engine value included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// Independent of entries and peers.
    pub fixed_bytes: u64,
    /// Per peer and communicator, summed.
    pub peers_bytes: u64,
    /// For entries: capacity, not length.
    pub entries_bytes: u64,
    /// Maximum of the sum so far.
    pub peak_bytes: u64,
}

impl Footprint {
    /// Sum of the three.
    pub fn now_bytes(&self) -> u64 {
        self.fixed_bytes + self.peers_bytes + self.entries_bytes
    }
}
