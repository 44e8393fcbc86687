//! Error codes of `rdma/fi_errno.h`. Functions return negative error codes.

use std::ffi::c_int;

pub const SUCCESS: c_int = 0;
/// No receive matches; the returned entry is for the message.
pub const ENOENT: c_int = libc::ENOENT;
pub const EAGAIN: c_int = libc::EAGAIN;
pub const ENOMEM: c_int = libc::ENOMEM;
pub const EINVAL: c_int = libc::EINVAL;
pub const ENOSYS: c_int = libc::ENOSYS;
pub const ENOMSG: c_int = libc::ENOMSG;
pub const ENODATA: c_int = libc::ENODATA;
pub const ENOPROTOOPT: c_int = libc::ENOPROTOOPT;
pub const ECANCELED: c_int = libc::ECANCELED;
pub const EAVAIL: c_int = 259;
pub const ETRUNC: c_int = 265;
