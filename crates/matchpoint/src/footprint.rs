//! How much memory an engine takes, and what for.

/// Bytes an engine holds, allocated and not merely used; the engine value itself included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// Held whether or not anything is queued.
    pub fixed_bytes: u64,
    /// Held per peer that was heard of (per communicator), all peers together.
    pub peers_bytes: u64,
    /// Held for what is queued, or was: capacity, not length.
    pub entries_bytes: u64,
    /// The largest sum of the three so far.
    pub peak_bytes: u64,
}

impl Footprint {
    /// Bytes held now.
    pub fn now_bytes(&self) -> u64 {
        self.fixed_bytes + self.peers_bytes + self.entries_bytes
    }
}
