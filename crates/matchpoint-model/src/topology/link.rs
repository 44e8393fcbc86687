//! Links of a network.

/// In one direction. Each kind of network numbers its links differently.
pub type LinkId = (u64, u64);
