//! libfabric's `struct fid`, the first field of every object.

use std::ffi::{c_char, c_int, c_void};

use crate::patch::Table;

#[repr(C)]
pub struct Fid {
    pub class: usize,
    pub context: *mut c_void,
    pub ops: *mut Ops,
}

#[repr(C)]
pub struct Ops {
    /// Bytes of the table. Functions beyond this size are absent.
    pub size: usize,
    pub close: Option<unsafe extern "C" fn(*mut Fid) -> c_int>,
    pub bind: Option<unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int>,
    pub control: Option<unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int>,
    pub ops_open:
        Option<unsafe extern "C" fn(*mut Fid, *const c_char, u64, *mut *mut c_void, *mut c_void) -> c_int>,
}

// SAFETY: a size, then only function pointers.
unsafe impl Table for Ops {}

pub const CLASS_SRX_CTX: usize = 6;
pub const CLASS_AV: usize = 11;
pub const CLASS_CQ: usize = 14;

pub const ENABLE: c_int = 6;
