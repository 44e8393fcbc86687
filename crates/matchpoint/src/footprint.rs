//! Memory of an engine.

/// Allocated bytes, including the engine value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// Bytes that do not depend on entries and peers.
    pub fixed_bytes: u64,
    /// Bytes for peers, summed over communicators.
    pub peers_bytes: u64,
    /// Bytes allocated for entries, used or not.
    pub entries_bytes: u64,
    /// Maximum so far of the sum of the three other fields.
    pub peak_bytes: u64,
}

impl Footprint {
    /// Sum of fixed, peer and entry bytes.
    pub fn now_bytes(&self) -> u64 {
        self.fixed_bytes + self.peers_bytes + self.entries_bytes
    }
}
