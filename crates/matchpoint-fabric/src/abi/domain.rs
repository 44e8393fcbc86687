//! Domains, memory registrations and address vectors: `rdma/fi_domain.h`.

use std::ffi::{c_char, c_int, c_void};

use super::{Addr, CqAttr, Fid, FidCntr, FidCq, FidEp, Info, RxAttr};
use crate::patch::Table;

#[repr(C)]
pub struct FidDomain {
    pub fid: Fid,
    pub ops: *mut OpsDomain,
    pub mr: *mut OpsMr,
}

pub type OpenEndpoint =
    unsafe extern "C" fn(*mut FidDomain, *mut Info, *mut *mut FidEp, *mut c_void) -> c_int;

#[repr(C)]
pub struct OpsDomain {
    pub size: usize,
    pub av_open:
        Option<unsafe extern "C" fn(*mut FidDomain, *mut AvAttr, *mut *mut FidAv, *mut c_void) -> c_int>,
    pub cq_open:
        Option<unsafe extern "C" fn(*mut FidDomain, *mut CqAttr, *mut *mut FidCq, *mut c_void) -> c_int>,
    pub endpoint: Option<OpenEndpoint>,
    pub scalable_ep: Option<OpenEndpoint>,
    pub cntr_open:
        Option<unsafe extern "C" fn(*mut FidDomain, *mut c_void, *mut *mut FidCntr, *mut c_void) -> c_int>,
    pub poll_open: *mut c_void,
    pub stx_ctx: *mut c_void,
    pub srx_ctx:
        Option<unsafe extern "C" fn(*mut FidDomain, *mut RxAttr, *mut *mut FidEp, *mut c_void) -> c_int>,
    pub query_atomic: *mut c_void,
    pub query_collective: *mut c_void,
    pub endpoint2:
        Option<unsafe extern "C" fn(*mut FidDomain, *mut Info, *mut *mut FidEp, u64, *mut c_void) -> c_int>,
}

// SAFETY: a size, then only pointers.
unsafe impl Table for OpsDomain {}

/// The functions take the domain.
#[repr(C)]
#[allow(missing_docs, clippy::type_complexity)]
pub struct OpsMr {
    pub size: usize,
    pub reg: Option<
        unsafe extern "C" fn(
            *mut Fid,
            *const c_void,
            usize,
            u64,
            u64,
            u64,
            u64,
            *mut *mut FidMr,
            *mut c_void,
        ) -> c_int,
    >,
    pub regv: Option<
        unsafe extern "C" fn(
            *mut Fid,
            *const libc::iovec,
            usize,
            u64,
            u64,
            u64,
            u64,
            *mut *mut FidMr,
            *mut c_void,
        ) -> c_int,
    >,
    pub regattr: Option<unsafe extern "C" fn(*mut Fid, *const c_void, u64, *mut *mut FidMr) -> c_int>,
}

// SAFETY: a size, then only function pointers.
unsafe impl Table for OpsMr {}

#[repr(C)]
pub struct FidMr {
    pub fid: Fid,
    pub mem_desc: *mut c_void,
    pub key: u64,
}

pub const AV_MAP: c_int = 1;

#[repr(C)]
pub struct AvAttr {
    pub kind: c_int,
    pub rx_ctx_bits: c_int,
    pub count: usize,
    pub ep_per_node: usize,
    pub name: *const c_char,
    pub map_addr: *mut c_void,
    pub flags: u64,
}

#[repr(C)]
pub struct FidAv {
    pub fid: Fid,
    pub ops: *mut OpsAv,
}

table! {
    /// libfabric's `struct fi_ops_av`, without its last function.
    OpsAv in FidAv.ops {
        insert(
            addresses: *const c_void, count: usize, to: *mut Addr, flags: u64, context: *mut c_void,
        ) -> c_int;
        insertsvc(
            node: *const c_char, service: *const c_char, to: *mut Addr, flags: u64, context: *mut c_void,
        ) -> c_int;
        insertsym(
            node: *const c_char, nodes: usize, service: *const c_char, services: usize, to: *mut Addr,
            flags: u64, context: *mut c_void,
        ) -> c_int;
        remove(addresses: *mut Addr, count: usize, flags: u64) -> c_int;
        lookup(of: Addr, address: *mut c_void, length: *mut usize) -> c_int;
    }
}
