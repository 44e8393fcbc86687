//! Error codes of `rdma/fi_errno.h`. Functions return negative error codes.

use std::ffi::c_int;

pub const SUCCESS: c_int = 0;
/// No receive matches; the returned entry is for the message.
pub const ENOENT: c_int = libc::ENOENT;
pub const EAGAIN: c_int = libc::EAGAIN;
pub const ENOMEM: c_int = libc::ENOMEM;
pub const EINVAL: c_int = libc::EINVAL;
pub const ENOSYS: c_int = libc::ENOSYS;
/// Error of a peek without a match.
pub const ENOMSG: c_int = libc::ENOMSG;
/// Error of a provider that cannot satisfy the hints.
pub const ENODATA: c_int = libc::ENODATA;
/// Error of an unknown option.
pub const ENOPROTOOPT: c_int = libc::ENOPROTOOPT;
pub const ECANCELED: c_int = libc::ECANCELED;
/// `fi_cq_readerr` has an error.
pub const EAVAIL: c_int = 259;
/// The message was longer than its receive.
pub const ETRUNC: c_int = 265;
