//! Providers and fabrics: `struct fi_provider`, `struct fid_fabric`.

use std::ffi::{c_char, c_int, c_void};

use super::{FabricAttr, Fid, FidDomain, Info};
use crate::patch::Table;

/// The signature of `fi_getinfo` and of a provider's function for it.
pub type GetInfo = unsafe extern "C" fn(
    version: u32,
    node: *const c_char,
    service: *const c_char,
    flags: u64,
    hints: *const Info,
    info: *mut *mut Info,
) -> c_int;

/// The signature of `fi_fabric` and of a provider's function for it.
pub type OpenFabric = unsafe extern "C" fn(*mut FabricAttr, *mut *mut FidFabric, *mut c_void) -> c_int;

/// libfabric's `struct fi_provider`.
#[repr(C)]
pub struct Provider {
    /// The version of the provider. If two providers have the same name, libfabric uses the provider with the
    /// higher version.
    pub version: u32,
    /// The version of libfabric's interface.
    pub fi_version: u32,
    /// libfabric's `struct fi_context`, used by libfabric.
    pub context: [*mut c_void; 4],
    /// The name of the provider.
    pub name: *const c_char,
    /// Lists the fabrics of the provider.
    pub getinfo: Option<GetInfo>,
    /// Opens a fabric.
    pub fabric: Option<OpenFabric>,
    /// Called when libfabric is unloaded.
    pub cleanup: Option<unsafe extern "C" fn()>,
}

/// libfabric's `struct fid_fabric`.
#[repr(C)]
pub struct FidFabric {
    /// The object.
    pub fid: Fid,
    /// The functions of the fabric.
    pub ops: *mut OpsFabric,
    /// The interface version that the application requested.
    pub api_version: u32,
}

/// libfabric's `struct fi_ops_fabric`.
#[repr(C)]
#[allow(missing_docs)]
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

// SAFETY: the structure begins with a size and has only pointers after the size, as `Table` requires.
unsafe impl Table for OpsFabric {}
