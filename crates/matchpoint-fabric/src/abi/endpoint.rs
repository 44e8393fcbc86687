//! Endpoints and their operations: `rdma/fi_endpoint.h`, `rdma/fi_tagged.h`, `rdma/fi_rma.h`, `rdma/fi_atomic.h`.

use std::ffi::{c_int, c_void};

use libc::iovec;

use super::{Addr, Fid};
use crate::patch::Table;

#[repr(C)]
pub struct FidEp {
    pub fid: Fid,
    pub ops: *mut OpsEp,
    pub cm: *mut c_void,
    pub msg: *mut OpsMsg,
    pub rma: *mut OpsRma,
    pub tagged: *mut OpsTagged,
    pub atomic: *mut OpsAtomic,
    pub collective: *mut c_void,
}

#[repr(C)]
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

// SAFETY: a size, then only pointers.
unsafe impl Table for OpsEp {}

pub const OPT_ENDPOINT: c_int = 0;
/// The value is a `size_t`.
pub const OPT_MIN_MULTI_RECV: c_int = 0;

#[repr(C)]
pub struct Msg {
    pub msg_iov: *const iovec,
    pub desc: *mut *mut c_void,
    pub iov_count: usize,
    pub addr: Addr,
    pub context: *mut c_void,
    pub data: u64,
}

table! {
    OpsMsg in FidEp.msg {
        recv(buf: *mut c_void, len: usize, desc: *mut c_void, from: Addr, context: *mut c_void) -> isize;
        recvv(
            iov: *const iovec, desc: *mut *mut c_void, count: usize, from: Addr, context: *mut c_void,
        ) -> isize;
        recvmsg(msg: *const Msg, flags: u64) -> isize;
        send(buf: *const c_void, len: usize, desc: *mut c_void, to: Addr, context: *mut c_void) -> isize;
        sendv(
            iov: *const iovec, desc: *mut *mut c_void, count: usize, to: Addr, context: *mut c_void,
        ) -> isize;
        sendmsg(msg: *const Msg, flags: u64) -> isize;
        inject(buf: *const c_void, len: usize, to: Addr) -> isize;
        senddata(
            buf: *const c_void, len: usize, desc: *mut c_void, data: u64, to: Addr, context: *mut c_void,
        ) -> isize;
        injectdata(buf: *const c_void, len: usize, data: u64, to: Addr) -> isize;
    }
}

#[repr(C)]
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

table! {
    OpsTagged in FidEp.tagged {
        recv(
            buf: *mut c_void, len: usize, desc: *mut c_void, from: Addr, tag: u64, ignore: u64,
            context: *mut c_void,
        ) -> isize;
        recvv(
            iov: *const iovec, desc: *mut *mut c_void, count: usize, from: Addr, tag: u64, ignore: u64,
            context: *mut c_void,
        ) -> isize;
        recvmsg(msg: *const MsgTagged, flags: u64) -> isize;
        send(
            buf: *const c_void, len: usize, desc: *mut c_void, to: Addr, tag: u64, context: *mut c_void,
        ) -> isize;
        sendv(
            iov: *const iovec, desc: *mut *mut c_void, count: usize, to: Addr, tag: u64, context: *mut c_void,
        ) -> isize;
        sendmsg(msg: *const MsgTagged, flags: u64) -> isize;
        inject(buf: *const c_void, len: usize, to: Addr, tag: u64) -> isize;
        senddata(
            buf: *const c_void, len: usize, desc: *mut c_void, data: u64, to: Addr, tag: u64,
            context: *mut c_void,
        ) -> isize;
        injectdata(buf: *const c_void, len: usize, data: u64, to: Addr, tag: u64) -> isize;
    }
}

table! {
    OpsRma in FidEp.rma {
        read(
            buf: *mut c_void, len: usize, desc: *mut c_void, from: Addr, addr: u64, key: u64, context: *mut c_void,
        ) -> isize;
        readv(
            iov: *const iovec, desc: *mut *mut c_void, count: usize, from: Addr, addr: u64, key: u64,
            context: *mut c_void,
        ) -> isize;
        readmsg(msg: *const c_void, flags: u64) -> isize;
        write(
            buf: *const c_void, len: usize, desc: *mut c_void, to: Addr, addr: u64, key: u64, context: *mut c_void,
        ) -> isize;
        writev(
            iov: *const iovec, desc: *mut *mut c_void, count: usize, to: Addr, addr: u64, key: u64,
            context: *mut c_void,
        ) -> isize;
        writemsg(msg: *const c_void, flags: u64) -> isize;
        inject(buf: *const c_void, len: usize, to: Addr, addr: u64, key: u64) -> isize;
        writedata(
            buf: *const c_void, len: usize, desc: *mut c_void, data: u64, to: Addr, addr: u64, key: u64,
            context: *mut c_void,
        ) -> isize;
        injectdata(buf: *const c_void, len: usize, data: u64, to: Addr, addr: u64, key: u64) -> isize;
    }
}

table! {
    /// `kind` is an `fi_datatype`, `op` an `fi_op`.
    OpsAtomic in FidEp.atomic {
        write(
            buf: *const c_void, count: usize, desc: *mut c_void, to: Addr, addr: u64, key: u64, kind: c_int,
            op: c_int, context: *mut c_void,
        ) -> isize;
        writev(
            iov: *const c_void, desc: *mut *mut c_void, count: usize, to: Addr, addr: u64, key: u64, kind: c_int,
            op: c_int, context: *mut c_void,
        ) -> isize;
        writemsg(msg: *const c_void, flags: u64) -> isize;
        inject(
            buf: *const c_void, count: usize, to: Addr, addr: u64, key: u64, kind: c_int, op: c_int,
        ) -> isize;
        readwrite(
            buf: *const c_void, count: usize, desc: *mut c_void, result: *mut c_void, result_desc: *mut c_void,
            to: Addr, addr: u64, key: u64, kind: c_int, op: c_int, context: *mut c_void,
        ) -> isize;
        readwritev(
            iov: *const c_void, desc: *mut *mut c_void, count: usize, result: *mut c_void,
            result_desc: *mut *mut c_void, result_count: usize, to: Addr, addr: u64, key: u64, kind: c_int,
            op: c_int, context: *mut c_void,
        ) -> isize;
        readwritemsg(
            msg: *const c_void, result: *mut c_void, result_desc: *mut *mut c_void, result_count: usize,
            flags: u64,
        ) -> isize;
        compwrite(
            buf: *const c_void, count: usize, desc: *mut c_void, compare: *const c_void,
            compare_desc: *mut c_void, result: *mut c_void, result_desc: *mut c_void, to: Addr, addr: u64,
            key: u64, kind: c_int, op: c_int, context: *mut c_void,
        ) -> isize;
        compwritev(
            iov: *const c_void, desc: *mut *mut c_void, count: usize, compare: *const c_void,
            compare_desc: *mut *mut c_void, compare_count: usize, result: *mut c_void,
            result_desc: *mut *mut c_void, result_count: usize, to: Addr, addr: u64, key: u64, kind: c_int,
            op: c_int, context: *mut c_void,
        ) -> isize;
        compwritemsg(
            msg: *const c_void, compare: *const c_void, compare_desc: *mut *mut c_void, compare_count: usize,
            result: *mut c_void, result_desc: *mut *mut c_void, result_count: usize, flags: u64,
        ) -> isize;
        writevalid(kind: c_int, op: c_int, count: *mut usize) -> c_int;
        readwritevalid(kind: c_int, op: c_int, count: *mut usize) -> c_int;
        compwritevalid(kind: c_int, op: c_int, count: *mut usize) -> c_int;
    }
}
