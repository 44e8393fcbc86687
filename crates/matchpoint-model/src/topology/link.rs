//! Links of a network.

/// A link in one direction. Each kind of network numbers its links differently.
pub type LinkId = (u64, u64);
