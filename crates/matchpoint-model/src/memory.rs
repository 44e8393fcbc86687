//! Memory that matching takes on every node, where every process keeps something for every other (Dosanjh et al., "Fuzzy
//! Matching" (CCGrid 2019), §VI-B).

/// Bytes of the two empty lists that Open MPI keeps for each peer of a communicator.
pub const OPEN_MPI_BYTES_PER_PEER: f64 = 128.0;

/// Bytes on each node, of all its processes: nodes × ppn² × what a process keeps for a peer. Table II of that paper is this
/// of [`OPEN_MPI_BYTES_PER_PEER`].
pub fn node_bytes(nodes: u32, ppn: u32, bytes_per_peer: f64) -> f64 {
    f64::from(nodes) * f64::from(ppn) * f64::from(ppn) * bytes_per_peer
}
