//! Memory for matching per node, if every process stores data for every peer (Dosanjh et al., "Fuzzy
//! Matching" (CCGrid 2019), §VI-B).

/// Two empty lists per peer and communicator.
pub const OPEN_MPI_BYTES_PER_PEER: f64 = 128.0;

/// nodes × ppn² × bytes per peer. Table II of that paper uses [`OPEN_MPI_BYTES_PER_PEER`].
pub fn node_bytes(nodes: u32, ppn: u32, bytes_per_peer: f64) -> f64 {
    f64::from(nodes) * f64::from(ppn) * f64::from(ppn) * bytes_per_peer
}
