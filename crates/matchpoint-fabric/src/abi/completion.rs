//! Completion queues and counters: `rdma/fi_eq.h`.

use std::ffi::{c_int, c_void};

use super::{Addr, Fid};
use crate::patch::Table;

pub const CQ_FORMAT_CONTEXT: c_int = 1;
pub const CQ_FORMAT_MSG: c_int = 2;
pub const CQ_FORMAT_DATA: c_int = 3;
pub const CQ_FORMAT_TAGGED: c_int = 4;

/// The entries of the other formats are prefixes of this structure.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CqTaggedEntry {
    pub op_context: *mut c_void,
    pub flags: u64,
    pub len: usize,
    pub buf: *mut c_void,
    pub data: u64,
    pub tag: u64,
}

#[repr(C)]
pub struct CqErrEntry {
    pub op_context: *mut c_void,
    pub flags: u64,
    pub len: usize,
    pub buf: *mut c_void,
    pub data: u64,
    pub tag: u64,
    pub olen: usize,
    pub err: c_int,
    pub prov_errno: c_int,
    pub err_data: *mut c_void,
    pub err_data_size: usize,
    /// A field since libfabric 1.20. The provider never writes the field, because older applications pass a
    /// shorter structure.
    pub src_addr: Addr,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CqAttr {
    pub size: usize,
    pub flags: u64,
    pub format: c_int,
    pub wait_obj: c_int,
    pub signaling_vector: c_int,
    pub wait_cond: c_int,
    pub wait_set: *mut c_void,
}

#[repr(C)]
pub struct FidCq {
    pub fid: Fid,
    pub ops: *mut OpsCq,
}

#[repr(C)]
pub struct OpsCq {
    pub size: usize,
    pub read: Option<unsafe extern "C" fn(*mut FidCq, *mut c_void, usize) -> isize>,
    pub readfrom: Option<unsafe extern "C" fn(*mut FidCq, *mut c_void, usize, *mut Addr) -> isize>,
    pub readerr: Option<unsafe extern "C" fn(*mut FidCq, *mut CqErrEntry, u64) -> isize>,
    pub sread: Option<unsafe extern "C" fn(*mut FidCq, *mut c_void, usize, *const c_void, c_int) -> isize>,
    pub sreadfrom: Option<
        unsafe extern "C" fn(*mut FidCq, *mut c_void, usize, *mut Addr, *const c_void, c_int) -> isize,
    >,
    pub signal: Option<unsafe extern "C" fn(*mut FidCq) -> c_int>,
    pub strerror: *mut c_void,
}

// SAFETY: a size, then only pointers.
unsafe impl Table for OpsCq {}

#[repr(C)]
pub struct FidCntr {
    pub fid: Fid,
    pub ops: *mut OpsCntr,
}

table! {
    OpsCntr in FidCntr.ops {
        read() -> u64;
        readerr() -> u64;
        add(value: u64) -> c_int;
        set(value: u64) -> c_int;
        wait(threshold: u64, timeout: c_int) -> c_int;
        adderr(value: u64) -> c_int;
        seterr(value: u64) -> c_int;
    }
}
