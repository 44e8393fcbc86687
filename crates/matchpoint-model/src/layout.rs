//! Which process lies where: in order, node by node, and on a node socket by socket.

use std::num::NonZeroU32;

use crate::machine::Locality;

/// How processes are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// How many there are.
    pub processes: NonZeroU32,
    /// Processes per node; the last node may have fewer.
    pub ppn: NonZeroU32,
    /// Sockets of a node; processes fill one after the other, evenly.
    pub sockets: NonZeroU32,
}

impl Layout {
    /// The number of nodes.
    pub fn nodes(&self) -> u32 {
        self.processes.get().div_ceil(self.ppn.get())
    }

    /// The node of a process.
    pub fn node(&self, process: u32) -> u32 {
        process / self.ppn
    }

    /// The socket of a process, within its node.
    pub fn socket(&self, process: u32) -> u32 {
        let per_socket = self.ppn.get().div_ceil(self.sockets.get());
        process % self.ppn / per_socket
    }

    /// How two processes lie to each other.
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
