//! What receives and probes ask for, and the terms of their endpoint.

use std::ffi::c_void;

use libc::iovec;

use crate::abi::{ADDR_UNSPEC, Addr, flags};

/// What a receive or a probe asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// From whom, or [`ADDR_UNSPEC`].
    pub addr: Addr,
    /// Which tag.
    pub tag: u64,
    /// Bits of it that do not count.
    pub ignore: u64,
}

/// A receive or a peek, as the application asks for it.
pub struct Call {
    /// Its buffers.
    pub iov: *const iovec,
    /// How many.
    pub count: usize,
    /// Their registrations, or null.
    pub desc: *const *mut c_void,
    /// What it asks for.
    pub asked: Asked,
    /// The operation's context.
    pub context: *mut c_void,
    /// Its flags.
    pub flags: u64,
}

/// What the application asked for when it opened and bound the endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Tagged receives may name their source: without this, what they say of it means nothing.
    pub directed: bool,
    /// So may untagged ones.
    pub untagged_directed: bool,
    /// Only operations with `FI_COMPLETION` complete in the queue (`FI_SELECTIVE_COMPLETION`).
    pub selective: bool,
    /// Flags of all receives without any of their own (`rx_attr.op_flags`).
    pub receive_flags: u64,
}

impl Terms {
    /// Those of an endpoint that is opened with these capabilities and this `rx_attr.op_flags`.
    pub fn new(caps: u64, receive_flags: u64) -> Self {
        let untagged_directed = caps & flags::DIRECTED_RECV != 0;
        let directed = untagged_directed || caps & flags::TAGGED_DIRECTED_RECV != 0;
        Terms { directed, untagged_directed, selective: false, receive_flags }
    }

    /// `FI_COMPLETION`, if an operation with these flags completes in the queue.
    #[inline]
    pub fn completion(&self, flags: u64) -> u64 {
        if self.selective { flags & flags::COMPLETION } else { flags::COMPLETION }
    }

    /// The source that counts of a tagged receive.
    #[inline]
    pub fn source(&self, addr: Addr) -> Addr {
        if self.directed { addr } else { ADDR_UNSPEC }
    }

    /// Of an untagged one.
    pub fn untagged_source(&self, addr: Addr) -> Addr {
        if self.untagged_directed { addr } else { ADDR_UNSPEC }
    }
}
