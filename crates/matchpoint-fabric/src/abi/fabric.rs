//! Providers and fabrics: `struct fi_provider`, `struct fid_fabric`.

use std::ffi::{c_char, c_int, c_void};

use super::{FabricAttr, Fid, FidDomain, Info};
use crate::patch::Table;

pub type GetInfo = unsafe extern "C" fn(
    version: u32,
    node: *const c_char,
    service: *const c_char,
    flags: u64,
    hints: *const Info,
    info: *mut *mut Info,
) -> c_int;

pub type OpenFabric = unsafe extern "C" fn(*mut FabricAttr, *mut *mut FidFabric, *mut c_void) -> c_int;

#[repr(C)]
pub struct Provider {
    /// If two providers have the same name, libfabric uses the higher version.
    pub version: u32,
    pub fi_version: u32,
    pub context: [*mut c_void; 4],
    pub name: *const c_char,
    pub getinfo: Option<GetInfo>,
    pub fabric: Option<OpenFabric>,
    pub cleanup: Option<unsafe extern "C" fn()>,
}

#[repr(C)]
pub struct FidFabric {
    pub fid: Fid,
    pub ops: *mut OpsFabric,
    pub api_version: u32,
}

#[repr(C)]
pub struct OpsFabric {
    pub size: usize,
    pub domain:
        Option<unsafe extern "C" fn(*mut FidFabric, *mut Info, *mut *mut FidDomain, *mut c_void) -> c_int>,
    pub passive_ep: *mut c_void,
    pub eq_open: *mut c_void,
    pub wait_open: *mut c_void,
    pub trywait: Option<unsafe extern "C" fn(*mut FidFabric, *mut *mut Fid, c_int) -> c_int>,
    pub domain2: Option<
        unsafe extern "C" fn(*mut FidFabric, *mut Info, *mut *mut FidDomain, u64, *mut c_void) -> c_int,
    >,
}

// SAFETY: a size, then only pointers.
unsafe impl Table for OpsFabric {}
