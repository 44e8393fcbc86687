//! Match criteria of receives and probes, and options of their endpoint.

use std::ffi::c_void;

use libc::iovec;

use crate::abi::{ADDR_UNSPEC, Addr, flags};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Criteria {
    pub addr: Addr,
    pub tag: u64,
    pub ignore: u64,
}

pub struct ReceiveCall {
    pub iov: *const iovec,
    pub count: usize,
    /// Memory descriptors of the buffers, or null.
    pub desc: *const *mut c_void,
    pub criteria: Criteria,
    pub context: *mut c_void,
    pub flags: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct EndpointOptions {
    /// The source of a tagged receive counts (`FI_TAGGED_DIRECTED_RECV`, `FI_DIRECTED_RECV`).
    pub is_directed: bool,
    /// The source of an untagged receive counts (`FI_DIRECTED_RECV`).
    pub is_untagged_directed: bool,
    /// Only operations with `FI_COMPLETION` write a completion (`FI_SELECTIVE_COMPLETION`).
    pub is_selective: bool,
    /// Default flags of receives (`rx_attr.op_flags`).
    pub receive_flags: u64,
}

impl EndpointOptions {
    pub fn new(caps: u64, receive_flags: u64) -> Self {
        let is_untagged_directed = caps & flags::DIRECTED_RECV != 0;
        let is_directed = is_untagged_directed || caps & flags::TAGGED_DIRECTED_RECV != 0;
        EndpointOptions { is_directed, is_untagged_directed, is_selective: false, receive_flags }
    }

    #[inline]
    pub fn completion_flag(&self, flags: u64) -> u64 {
        if self.is_selective { flags & flags::COMPLETION } else { flags::COMPLETION }
    }

    #[inline]
    pub fn source(&self, addr: Addr) -> Addr {
        if self.is_directed { addr } else { ADDR_UNSPEC }
    }

    pub fn untagged_source(&self, addr: Addr) -> Addr {
        if self.is_untagged_directed { addr } else { ADDR_UNSPEC }
    }
}
