//! `rdma/fi_endpoint.h`, `rdma/fi_tagged.h`, `rdma/fi_rma.h`, `rdma/fi_cm.h`.

use std::ffi::{c_int, c_void};

use libc::iovec;

use super::{Addr, Fid};

/// `struct fid_ep`
#[repr(C)]
#[allow(missing_docs)]
pub struct FidEp {
    pub fid: Fid,
    pub ops: *mut OpsEp,
    pub cm: *mut OpsCm,
    pub msg: *mut OpsMsg,
    pub rma: *mut OpsRma,
    pub tagged: *mut OpsTagged,
    pub atomic: *mut c_void,
    pub collective: *mut c_void,
}

/// `struct fi_ops_ep`
#[repr(C)]
#[allow(missing_docs)]
pub struct OpsEp {
    pub size: usize,
    pub cancel: Option<unsafe extern "C" fn(*mut Fid, *mut c_void) -> isize>,
    pub getopt: Option<unsafe extern "C" fn(*mut Fid, c_int, c_int, *mut c_void, *mut usize) -> c_int>,
    pub setopt: Option<unsafe extern "C" fn(*mut Fid, c_int, c_int, *const c_void, usize) -> c_int>,
    pub tx_ctx: *mut c_void,
    pub rx_ctx: *mut c_void,
    pub rx_size_left: *mut c_void,
    pub tx_size_left: *mut c_void,
}

/// `FI_OPT_ENDPOINT`, a level of options
pub const OPT_ENDPOINT: c_int = 0;
/// `FI_OPT_MIN_MULTI_RECV`, a `size_t`
pub const OPT_MIN_MULTI_RECV: c_int = 0;

/// `struct fi_msg`
#[repr(C)]
#[allow(missing_docs)]
pub struct Msg {
    pub msg_iov: *const iovec,
    pub desc: *mut *mut c_void,
    pub iov_count: usize,
    pub addr: Addr,
    pub context: *mut c_void,
    pub data: u64,
}

/// `struct fi_ops_msg`
#[repr(C)]
#[allow(missing_docs)]
pub struct OpsMsg {
    pub size: usize,
    pub recv: Option<
        unsafe extern "C" fn(*mut FidEp, *mut c_void, usize, *mut c_void, Addr, *mut c_void) -> isize,
    >,
    pub recvv: Option<
        unsafe extern "C" fn(
            *mut FidEp,
            *const iovec,
            *mut *mut c_void,
            usize,
            Addr,
            *mut c_void,
        ) -> isize,
    >,
    pub recvmsg: Option<unsafe extern "C" fn(*mut FidEp, *const Msg, u64) -> isize>,
    pub send: Option<
        unsafe extern "C" fn(*mut FidEp, *const c_void, usize, *mut c_void, Addr, *mut c_void) -> isize,
    >,
    pub sendv: *mut c_void,
    pub sendmsg: *mut c_void,
    pub inject: Option<unsafe extern "C" fn(*mut FidEp, *const c_void, usize, Addr) -> isize>,
    pub senddata: *mut c_void,
    pub injectdata: *mut c_void,
}

/// `struct fi_msg_tagged`
#[repr(C)]
#[allow(missing_docs)]
pub struct MsgTagged {
    pub msg_iov: *const iovec,
    pub desc: *mut *mut c_void,
    pub iov_count: usize,
    pub addr: Addr,
    pub tag: u64,
    pub ignore: u64,
    pub context: *mut c_void,
    pub data: u64,
}

/// `struct fi_ops_tagged`
#[repr(C)]
#[allow(missing_docs, clippy::type_complexity)]
pub struct OpsTagged {
    pub size: usize,
    pub recv: Option<
        unsafe extern "C" fn(
            *mut FidEp,
            *mut c_void,
            usize,
            *mut c_void,
            Addr,
            u64,
            u64,
            *mut c_void,
        ) -> isize,
    >,
    pub recvv: Option<
        unsafe extern "C" fn(
            *mut FidEp,
            *const iovec,
            *mut *mut c_void,
            usize,
            Addr,
            u64,
            u64,
            *mut c_void,
        ) -> isize,
    >,
    pub recvmsg: Option<unsafe extern "C" fn(*mut FidEp, *const MsgTagged, u64) -> isize>,
    pub send: Option<
        unsafe extern "C" fn(
            *mut FidEp,
            *const c_void,
            usize,
            *mut c_void,
            Addr,
            u64,
            *mut c_void,
        ) -> isize,
    >,
    pub sendv: Option<
        unsafe extern "C" fn(
            *mut FidEp,
            *const iovec,
            *mut *mut c_void,
            usize,
            Addr,
            u64,
            *mut c_void,
        ) -> isize,
    >,
    pub sendmsg: Option<unsafe extern "C" fn(*mut FidEp, *const MsgTagged, u64) -> isize>,
    pub inject: Option<unsafe extern "C" fn(*mut FidEp, *const c_void, usize, Addr, u64) -> isize>,
    pub senddata: Option<
        unsafe extern "C" fn(
            *mut FidEp,
            *const c_void,
            usize,
            *mut c_void,
            u64,
            Addr,
            u64,
            *mut c_void,
        ) -> isize,
    >,
    pub injectdata:
        Option<unsafe extern "C" fn(*mut FidEp, *const c_void, usize, u64, Addr, u64) -> isize>,
}

/// `struct fi_rma_iov`
#[repr(C)]
#[allow(missing_docs)]
pub struct RmaIov {
    pub addr: u64,
    pub len: usize,
    pub key: u64,
}

/// `struct fi_msg_rma`
#[repr(C)]
#[allow(missing_docs)]
pub struct MsgRma {
    pub msg_iov: *const iovec,
    pub desc: *mut *mut c_void,
    pub iov_count: usize,
    pub addr: Addr,
    pub rma_iov: *const RmaIov,
    pub rma_iov_count: usize,
    pub context: *mut c_void,
    pub data: u64,
}

/// `struct fi_ops_rma`, its beginning
#[repr(C)]
#[allow(missing_docs)]
pub struct OpsRma {
    pub size: usize,
    pub read: *mut c_void,
    pub readv: *mut c_void,
    pub readmsg: Option<unsafe extern "C" fn(*mut FidEp, *const MsgRma, u64) -> isize>,
}

/// `struct fi_ops_cm`, its beginning
#[repr(C)]
#[allow(missing_docs)]
pub struct OpsCm {
    pub size: usize,
    pub setname: *mut c_void,
    pub getname: Option<unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int>,
}
