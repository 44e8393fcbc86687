//! Cost of network links shared by messages (§4.2).

use crate::estimate::End;
use crate::machine::{Machine, Missing};

/// Equation 7: bytes on a link that all messages use which can. The processes fill a cube of a
/// three-dimensional torus.
///
/// `hops` is the mean number of links of a byte's route, `bytes_per_process` the mean bytes sent.
/// `nodes_per_router` is 2 in the paper.
pub fn cube_link_bytes(hops: f64, bytes_per_process: f64, ppn: f64, nodes_per_router: f64) -> f64 {
    nodes_per_router * hops.powi(3) * bytes_per_process * ppn
}

/// Equation 5: δ ℓ.
pub fn contention_s(delta_s_per_byte: f64, link_bytes: f64) -> f64 {
    delta_s_per_byte * link_bytes
}

impl Machine {
    /// Time for `link_bytes` bytes on one link.
    pub fn contention_s(&self, link_bytes: f64, end: End) -> Result<f64, Missing> {
        let delta = self.contention.delta_s_per_byte;
        let delta = delta.ok_or_else(|| self.missing("contention.delta_s_per_byte"))?;
        Ok(contention_s(delta.time(end), link_bytes))
    }
}
