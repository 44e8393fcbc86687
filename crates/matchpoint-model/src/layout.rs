//! Placement of processes: in order, node by node, and within a node socket by socket.

use std::num::NonZeroU32;

use crate::machine::Locality;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    pub processes: NonZeroU32,
    /// Processes per node; the last node may have fewer.
    pub ppn: NonZeroU32,
    /// Sockets per node; processes fill the sockets one after the other, evenly.
    pub sockets: NonZeroU32,
}

impl Layout {
    pub fn nodes(&self) -> u32 {
        self.processes.get().div_ceil(self.ppn.get())
    }

    pub fn node(&self, process: u32) -> u32 {
        process / self.ppn
    }

    pub fn socket(&self, process: u32) -> u32 {
        let per_socket = self.ppn.get().div_ceil(self.sockets.get());
        process % self.ppn / per_socket
    }

    pub fn locality(&self, one: u32, other: u32) -> Locality {
        if self.node(one) != self.node(other) {
            Locality::OffNode
        } else if self.socket(one) != self.socket(other) {
            Locality::OnNode
        } else {
            Locality::OnSocket
        }
    }
}
