//! `rdma/fi_errno.h`. Functions return them negated.

use std::ffi::c_int;

/// `FI_SUCCESS`
pub const SUCCESS: c_int = 0;
/// `FI_ENOENT`: in a peer's `get_msg` and `get_tag`, no receive is posted, and the entry is for the message.
pub const ENOENT: c_int = libc::ENOENT;
/// `FI_EAGAIN`
pub const EAGAIN: c_int = libc::EAGAIN;
/// `FI_ENOMEM`
pub const ENOMEM: c_int = libc::ENOMEM;
/// `FI_EINVAL`
pub const EINVAL: c_int = libc::EINVAL;
/// `FI_ENOSYS`
pub const ENOSYS: c_int = libc::ENOSYS;
/// `FI_ENOMSG`: a peek found nothing.
pub const ENOMSG: c_int = libc::ENOMSG;
/// `FI_ENODATA`: a provider has nothing that fits.
pub const ENODATA: c_int = libc::ENODATA;
/// `FI_ENOPROTOOPT`: an option that is not known here.
pub const ENOPROTOOPT: c_int = libc::ENOPROTOOPT;
/// `FI_ECANCELED`
pub const ECANCELED: c_int = libc::ECANCELED;
/// `FI_EAVAIL`: an error is to be read by `fi_cq_readerr`.
pub const EAVAIL: c_int = 259;
/// `FI_ETRUNC`: the message was longer than its receive.
pub const ETRUNC: c_int = 265;
