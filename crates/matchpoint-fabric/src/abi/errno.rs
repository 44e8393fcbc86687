//! Error codes of `rdma/fi_errno.h`. Functions return negative error codes.

use std::ffi::c_int;

/// The value of libfabric's `FI_SUCCESS`.
pub const SUCCESS: c_int = 0;
/// `FI_ENOENT`: result of `get_msg` and `get_tag` if no receive matches. The returned entry is for the
/// message.
pub const ENOENT: c_int = libc::ENOENT;
/// The value of libfabric's `FI_EAGAIN`.
pub const EAGAIN: c_int = libc::EAGAIN;
/// The value of libfabric's `FI_ENOMEM`.
pub const ENOMEM: c_int = libc::ENOMEM;
/// The value of libfabric's `FI_EINVAL`.
pub const EINVAL: c_int = libc::EINVAL;
/// The value of libfabric's `FI_ENOSYS`.
pub const ENOSYS: c_int = libc::ENOSYS;
/// `FI_ENOMSG`: a peek without a match.
pub const ENOMSG: c_int = libc::ENOMSG;
/// `FI_ENODATA`: a provider cannot satisfy the hints.
pub const ENODATA: c_int = libc::ENODATA;
/// `FI_ENOPROTOOPT`: an unknown option.
pub const ENOPROTOOPT: c_int = libc::ENOPROTOOPT;
/// The value of libfabric's `FI_ECANCELED`.
pub const ECANCELED: c_int = libc::ECANCELED;
/// `FI_EAVAIL`: `fi_cq_readerr` has an error.
pub const EAVAIL: c_int = 259;
/// `FI_ETRUNC`: the message was longer than its receive.
pub const ETRUNC: c_int = 265;
