//! `struct fid`, the first field of every object.

use std::ffi::{c_char, c_int, c_void};

use crate::patch::Table;

/// `struct fid`
#[repr(C)]
pub struct Fid {
    /// The class of the object, such as [`CLASS_CQ`].
    pub class: usize,
    /// The context of the application.
    pub context: *mut c_void,
    /// The functions of every object.
    pub ops: *mut Ops,
}

/// `struct fi_ops`
#[repr(C)]
pub struct Ops {
    /// Bytes of the table. Functions beyond are absent.
    pub size: usize,
    /// `fi_close`
    pub close: Option<unsafe extern "C" fn(*mut Fid) -> c_int>,
    /// `fi_ep_bind` and other bindings
    pub bind: Option<unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int>,
    /// `fi_control`, `fi_enable`
    pub control: Option<unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int>,
    /// `fi_open_ops`
    pub ops_open:
        Option<unsafe extern "C" fn(*mut Fid, *const c_char, u64, *mut *mut c_void, *mut c_void) -> c_int>,
}

// SAFETY: declared with a size, then function pointers.
unsafe impl Table for Ops {}

/// `FI_CLASS_SRX_CTX`
pub const CLASS_SRX_CTX: usize = 6;
/// `FI_CLASS_AV`
pub const CLASS_AV: usize = 11;
/// `FI_CLASS_CQ`
pub const CLASS_CQ: usize = 14;

/// `FI_ENABLE`, of [`Ops::control`]
pub const ENABLE: c_int = 6;
