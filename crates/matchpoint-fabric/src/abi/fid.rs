//! libfabric's `struct fid`, the first field of every object.

use std::ffi::{c_char, c_int, c_void};

use crate::patch::Table;

/// libfabric's `struct fid`.
#[repr(C)]
pub struct Fid {
    /// The class of the object, such as [`CLASS_CQ`].
    pub class: usize,
    /// The context of the application.
    pub context: *mut c_void,
    /// The functions of every object.
    pub ops: *mut Ops,
}

/// libfabric's `struct fi_ops`.
#[repr(C)]
pub struct Ops {
    /// Bytes of the table. Functions beyond this size are absent.
    pub size: usize,
    /// libfabric's `fi_close`.
    pub close: Option<unsafe extern "C" fn(*mut Fid) -> c_int>,
    /// `fi_ep_bind` and other bindings
    pub bind: Option<unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int>,
    /// `fi_control`, `fi_enable`
    pub control: Option<unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int>,
    /// libfabric's `fi_open_ops`.
    pub ops_open:
        Option<unsafe extern "C" fn(*mut Fid, *const c_char, u64, *mut *mut c_void, *mut c_void) -> c_int>,
}

// SAFETY: the structure begins with a size and has only function pointers after the size, as `Table`
// requires.
unsafe impl Table for Ops {}

/// The value of libfabric's `FI_CLASS_SRX_CTX`.
pub const CLASS_SRX_CTX: usize = 6;
/// The value of libfabric's `FI_CLASS_AV`.
pub const CLASS_AV: usize = 11;
/// The value of libfabric's `FI_CLASS_CQ`.
pub const CLASS_CQ: usize = 14;

/// The value of libfabric's `FI_ENABLE`, of [`Ops::control`].
pub const ENABLE: c_int = 6;
